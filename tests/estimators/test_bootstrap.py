"""Fits by default: members of a bootstrap, and what classifiers tell with them."""

import signal
import threading
import warnings
from itertools import count

import numpy as np
import pytest
from partitioned import sha
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons

from softpolytope import SumStackSoftplusClassifier, load_model
from softpolytope.model import central_interval
from softpolytope.optimize._mode import LogPosterior

SMALL = {"max_experts": 3, "n_layers": 2, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """A hundred rows of two half circles."""
    return make_moons(100, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    """A model with the default number of members."""
    return SumStackSoftplusClassifier(**SMALL).fit(*moons)


def test_a_default_fit_has_intervals(fitted, moons):
    """Twenty members, enough for quantiles of 89 % without a warning, around what they predict together."""
    X, _ = moons
    assert (fitted.inference_, fitted.bootstrap_) == ("bootstrap", True)
    draws = fitted.predict_proba_draws(X)
    assert draws.shape == (20, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        intervals = fitted.predict_interval(X)
        parts = fitted.predict_uncertainty(X)
        assert len(set(fitted.query(X, 3).tolist())) == 3
    assert np.array_equal(intervals.T, central_interval(draws, 0.89))
    assert (parts.epistemic > 0.0).all()
    assert fitted.predict_proba(X)[:, 1] == pytest.approx(draws.mean(axis=0), abs=1e-12)


@pytest.mark.parametrize(("n_rows", "pool"), [(149, "linear"), (150, "logarithmic")])
def test_few_rows_pool_probabilities(n_rows, pool):
    """From 150 rows on, by weight, log odds are pooled; what the pool predicts is their mean."""
    X, y = make_moons(200, noise=0.2, random_state=0)
    model = SumStackSoftplusClassifier(**SMALL).fit(X[:n_rows], y[:n_rows])
    assert model.posterior_.regressions[0].pool == pool
    draws = model.predict_proba_draws(X)
    log_odds = np.clip(np.log(draws) - np.log1p(-draws), -12.0, 12.0).mean(axis=0)
    is_mean = np.abs(model.decision_function(X) - log_odds).max() < 1e-5
    assert is_mean == (pool == "logarithmic")


def test_explanations_have_the_spread_of_members(fitted, moons):
    """Of the members of each labeling; the experts are those of its representative."""
    X, _ = moons
    rows = fitted.explain(X[:4]).rows
    labeling = fitted.posterior_.labelings[1]
    rates = labeling.draws.rates(X[:4])
    is_own = rows["labeling"] == 1
    np.testing.assert_array_equal(rows["rate_low"][is_own], central_interval(rates, 0.89)[0])
    np.testing.assert_allclose(rows["rate"][is_own], labeling.best.rates(X[:4])[0])


def test_several_classes():
    """Every class has members of its own, and intervals."""
    X, y = load_iris(return_X_y=True)
    model = SumStackSoftplusClassifier(n_members=4, **SMALL).fit(X, y)
    assert len({regression.agreement for regression in model.posterior_.regressions} - {None}) >= 1
    assert model.predict_interval(X, level=0.5).shape == (150, 3, 2)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert model.score(X, y) > 0.9


def test_warm_start_adds_members(moons, tmp_path):
    """Those there were move on; a model from a file continues to the same bits."""
    X, y = moons
    model = SumStackSoftplusClassifier(n_members=4, warm_start=True, **SMALL).fit(X, y)
    model.save(tmp_path / "model")
    before = model.predict_proba_draws(X)
    rates = model.precision_rates_[0]
    model.set_params(n_members=8).fit(X, y)
    after = model.predict_proba_draws(X)
    assert after.shape == (8, 100)
    assert np.array_equal(model.precision_rates_[0][:, :2], rates)
    kept = after.reshape(2, 4, -1)[:, :2].reshape(4, -1)
    assert not np.array_equal(kept, before)
    assert abs(kept - before).mean() < 0.1
    whole = SumStackSoftplusClassifier(n_members=8, **SMALL).fit(X, y).predict_proba_draws(X)
    assert np.array_equal(after.reshape(2, 4, -1)[:, 2:], whole.reshape(2, 4, -1)[:, 2:])
    loaded = load_model(tmp_path / "model").set_params(n_members=8).fit(X, y)
    assert sha(loaded) == sha(model)


@pytest.mark.parametrize("n_more", [0, 150])
def test_threads_order_and_repeats_change_nothing(moons, n_more):
    """The same bits for rows in any order, given twice or with weight two, on any number of threads."""
    X, y = moons
    copies = np.random.default_rng(0).integers(1, 3, len(y))
    order = np.random.default_rng(1).permutation(copies.sum())
    model = SumStackSoftplusClassifier(n_members=4, **SMALL)
    weighted = clone(model).fit(X, y, sample_weight=copies)
    repeated = clone(model).set_params(n_jobs=2 + n_more // 15)
    repeated.fit(np.repeat(X, copies, axis=0)[order], np.repeat(y, copies)[order])
    assert sha(repeated) == sha(weighted)
    assert repeated.posterior_.regressions[0].agreement == weighted.posterior_.regressions[0].agreement
    assert sha(clone(model).fit(X, y)) != sha(weighted)


def test_batches_move_members_apart(moons):
    """A default model learns batches, has intervals, and is no worse than its first batch."""
    X, y = make_moons(900, noise=0.2, random_state=1)
    model = SumStackSoftplusClassifier(n_members=20, **SMALL).partial_fit(X[:300], y[:300], classes=[0, 1])
    first = model.predict_proba_draws(X)
    for start in (300, 600):
        model.partial_fit(X[start : start + 300], y[start : start + 300])
    assert not np.array_equal(model.predict_proba_draws(X), first)
    assert model.score(*moons) > 0.9
    assert (np.diff(model.predict_interval(X)) > 0.0).all()


def test_ctrl_c_keeps_complete_members(moons, monkeypatch):
    """They predict, and warm_start goes on to the number that was asked for."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    calls, maximize = count(), LogPosterior.maximize

    def press(*given):
        if next(calls) == 30:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return maximize(*given)

    monkeypatch.setattr(LogPosterior, "maximize", press)
    model = SumStackSoftplusClassifier(n_members=20, warm_start=True, **SMALL)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(*moons)
    finally:
        signal.signal(signal.SIGINT, before)
    n_members = [len(labeling.draws) for labeling in model.posterior_.labelings]
    assert 1 <= n_members[0] == n_members[1] < 10
    assert model.score(*moons) > 0.8
    assert len(model.fit(*moons).predict_proba_draws(moons[0])) == 20
