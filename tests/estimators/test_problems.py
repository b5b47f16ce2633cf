"""Fits of one class against the rest: lost, interrupted, stopped, and where their chains start."""

import warnings

import numpy as np
import pytest
from interrupts import interrupted
from sklearn.datasets import load_iris, make_moons

from softpolytope import Prior, SoftplusClassifier, SumStackSoftplusClassifier, load_model
from softpolytope.estimators import _base, _problems
from softpolytope.exceptions import BlocksLostError
from softpolytope.optimize._mode import LogPosterior

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 60, "max_experts": 4, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


def test_a_lost_cluster_tells_the_seed(moons, monkeypatch):
    """What was saved can be gone on from only with the seed, which may have been drawn."""
    given = []

    def lost(task, *_):
        given.append(task.seed[0])
        raise BlocksLostError("The chains are saved somewhere.")

    monkeypatch.setattr(_problems, "_fit_modes", lost)
    with pytest.raises(BlocksLostError) as raised:
        SumStackSoftplusClassifier().fit(*moons)
    assert str(raised.value) == f"The chains are saved somewhere. Use random_state={given[0]}, the seed of this fit."


def test_an_interrupt_of_the_start_ends_the_fit(moons, monkeypatch, tmp_path):
    """Chains from half-way up would be others than the seed's, and be taken for them when the fit is resumed."""
    X, y = moons
    settings = SHORT | {"start": "map", "checkpoint": tmp_path}
    with monkeypatch.context() as patch:
        patch.setattr(LogPosterior, "maximize", interrupted(LogPosterior.maximize))
        with pytest.raises(KeyboardInterrupt):
            SumStackSoftplusClassifier(**settings).fit(X, y)
    resumed = SumStackSoftplusClassifier(**settings).fit(X, y)
    plain = SumStackSoftplusClassifier(**settings | {"checkpoint": None}).fit(X, y)
    assert np.array_equal(resumed.predict_proba(X), plain.predict_proba(X))


def test_stopped_fits(moons, monkeypatch):
    """A stop leaves a model of two classes with a warning; with classes still to fit it is an error that says so."""

    def stopped(model, n_classes):
        monkeypatch.setattr(_base, "make_callback", lambda *_: lambda progress: progress.n_done == 40)
        X, y = moons if n_classes == 2 else load_iris(return_X_y=True)
        return model.fit(X, y)

    long = {**SHORT, "n_sweeps": 5000, "n_burn_in": 10, "verbose": 1}
    with pytest.warns(UserWarning, match="stopped early"):
        model = stopped(SumStackSoftplusClassifier(**long), 2)
    assert model.log_likelihood_[0].shape[1] < 5000
    assert model.predict_proba_draws(moons[0]).shape[0] > 0
    with pytest.raises(RuntimeError, match="2 classes still to fit"):
        stopped(SumStackSoftplusClassifier(**long), 3)


def test_chains_have_the_prior_that_the_search_chose(moons):
    """By default its scale is that of the best modes on held-out rows; a prior that is given stays as it is."""
    X, y = moons
    short = SHORT | {"start": "map"}
    found = SumStackSoftplusClassifier(**short).fit(X, y)
    modes = SumStackSoftplusClassifier(
        inference="map", n_restarts=2, max_experts=4, random_state=0, warm_start=True
    ).fit(X, y)
    losses = modes._fits[0].state.result.held_out_loss
    best = min(losses, key=losses.get)
    assert found.prior_ == [Prior(precision_rate=best / modes.prior_[0].precision_shape)]
    assert found.prior_ != [Prior()]
    given = SumStackSoftplusClassifier(**short, prior=found.prior_[0]).fit(X, y)
    assert np.array_equal(given.predict_proba(X), found.predict_proba(X))
    paper = Prior.of_the_paper()
    assert SumStackSoftplusClassifier(**short, prior=paper).fit(X, y).prior_ == [paper]
    # Without a search.
    assert SumStackSoftplusClassifier(**SHORT).fit(X, y).prior_ == [Prior()]
    assert SoftplusClassifier(inference="gibbs", n_sweeps=4, fit_weight=False).fit(X, y).prior_ == [Prior()]


def test_chains_continue_with_their_prior(tmp_path):
    """Each class has its own; chains continue from memory and from a file to the same bits, but not with another."""
    X, y = load_iris(return_X_y=True)
    model = SumStackSoftplusClassifier(**SHORT | {"start": "map", "n_sweeps": 20}, warm_start=True).fit(X, y)
    priors = model.prior_
    assert len({prior.precision_rate for prior in priors}) > 1
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.prior_ == priors
    for again in (model, loaded):
        again.set_params(n_sweeps=30).fit(X, y)
        assert again.prior_ == priors
    assert np.array_equal(model.predict_proba(X), loaded.predict_proba(X))
    with pytest.raises(ValueError, match="warm_start continues the chains"):
        model.set_params(n_sweeps=40, prior=Prior(precision_rate=7.0)).fit(X, y)


def test_chains_may_begin_at_modes(moons):
    """Each at its own; they are where chains from random places get to later."""
    X, y = moons
    first = {}
    for start in ("random", "map"):
        model = SumStackSoftplusClassifier(
            inference="gibbs", start=start, n_sweeps=10, n_chains=3, max_experts=6, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        first[start] = model.log_likelihood_[0][:, 0]
    assert len(set(first["map"].tolist())) == 3
    assert first["map"].min() > first["random"].max()
    with pytest.raises(ValueError, match="start must be one of 'map', 'random'; got 'mode'"):
        model.set_params(start="mode").fit(X, y)
