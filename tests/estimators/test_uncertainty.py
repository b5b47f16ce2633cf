"""What fitted classifiers say of their uncertainty, and which labels they ask for."""

import doctest
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError

from softpolytope import SoftplusClassifier, SumStackSoftplusClassifier, load_model
from softpolytope.estimators import _uncertainty
from softpolytope.inspection import Uncertainty, select_bald, select_epig, uncertainty_from_draws

SHORT = {"inference": "gibbs", "n_chains": 2, "n_sweeps": 60, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 60 rows."""
    return make_moons(60, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    """Chains on 20 of them; whether they agree does not matter here."""
    X, y = moons
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SumStackSoftplusClassifier(**SHORT, max_experts=3).fit(X[:20], y[:20])


def test_uncertainty_is_that_of_the_draws(fitted, moons):
    """Its total is the entropy of what `predict_proba` says."""
    X, _ = moons
    parts = fitted.predict_uncertainty(X)
    expected = uncertainty_from_draws(fitted.predict_proba_draws(X))
    assert isinstance(parts, Uncertainty)
    for name in ("total", "aleatoric", "epistemic"):
        assert np.array_equal(getattr(parts, name), getattr(expected, name))
    probabilities = fitted.predict_proba(X)
    assert parts.total == pytest.approx(-(probabilities * np.log(probabilities)).sum(axis=1), abs=1e-12)


def test_query_is_by_the_draws(fitted, moons):
    """About labels, or about parameters, of which one row is that of the largest epistemic uncertainty."""
    X, _ = moons
    probabilities = fitted.predict_proba_draws(X)
    rows = fitted.query(X, 5)
    assert rows.tolist() == select_epig(probabilities, 5).tolist()
    assert rows[0] == fitted.query(X)[0]
    assert rows.dtype == np.intp
    others = fitted.query(X, 5, criterion="bald")
    assert others.tolist() == select_bald(probabilities, 5).tolist()
    assert others[0] == np.argmax(fitted.predict_uncertainty(X).epistemic)


def test_queries_lie_where_labels_are_unknown():
    """Between the rows of both labels, not among them."""
    X, y = [[-2.0], [-1.5], [1.5], [2.0]] * 3, [0, 0, 1, 1] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of chains that need more sweeps than it takes to see this
        model = SoftplusClassifier(**{**SHORT, "n_sweeps": 1000}).fit(X, y)
    assert_queried(model)
    assert_queried(SoftplusClassifier(random_state=0).fit(X, y))


def assert_queried(model):
    """Assert that the row between those of both labels is chosen."""
    for criterion in ("epig", "bald"):
        assert model.query([[-2.0], [0.1], [2.0], [-1.8]], criterion=criterion).tolist() == [1]


def test_several_classes():
    """Draws (n_draws, n_samples, 3) have the same parts and are asked in the same way."""
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SumStackSoftplusClassifier(**SHORT, max_experts=2).fit(X[::10], y[::10])
    probabilities = model.predict_proba_draws(X)
    assert probabilities.shape[1:] == (150, 3)
    assert np.array_equal(model.predict_uncertainty(X).epistemic, uncertainty_from_draws(probabilities).epistemic)
    assert model.query(X, 4).tolist() == select_epig(probabilities, 4).tolist()
    assert model.query(X, 4, criterion="bald").tolist() == select_bald(probabilities, 4).tolist()


def test_rows_may_be_of_any_kind(fitted, moons, tmp_path):
    """Sparse, a data frame, or asked by a model from a file: the same rows."""
    X, _ = moons
    fitted.save(tmp_path / "model.softpolytope")
    expected = fitted.query(X, 3).tolist()
    assert load_model(tmp_path / "model.softpolytope").query(X, 3).tolist() == expected
    assert fitted.query(sparse.csr_array(X), 3).tolist() == expected
    with pytest.warns(UserWarning, match="feature names"):
        assert fitted.query(pd.DataFrame(X, columns=["a", "b"]), 3).tolist() == expected


def test_modes_are_warned_of(moons):
    """Where the user called, by both methods; of bootstrapped modes nobody is."""
    X, y = moons
    modes = SumStackSoftplusClassifier(inference="map", max_experts=3, n_restarts=2, random_state=0).fit(X, y)
    for call, what in ((modes.predict_uncertainty, "epistemic uncertainties"), (modes.query, "queries")):
        with pytest.warns(UserWarning, match=f"these {what} are based on the spread of modes") as caught:
            call(X)
        assert caught[0].filename == __file__
    bootstrapped = clone(modes).set_params(inference="bootstrap", n_restarts=5, n_members=4).fit(X, y)
    assert bootstrapped.query(X, 2).shape == (2,)
    assert bootstrapped.predict_uncertainty(X).epistemic.max() > 0.0


def test_many_rows_are_the_same_at_every_call(fitted, moons, monkeypatch):
    """An integer seed gives the same rows, though labels are sampled; the generator is not one that `fit` used."""
    X, _ = moons
    rows = fitted.query(X, 40, criterion="bald")
    assert len(set(rows.tolist())) == 40
    assert np.array_equal(fitted.query(X, 40, criterion="bald"), rows)
    generators = []
    monkeypatch.setattr(_uncertainty, "select_bald", lambda _probabilities, _n, rng: generators.append(rng))
    for _ in range(2):
        fitted.query(X, 40, criterion="bald")
    assert generators[0].random() == generators[1].random() != np.random.default_rng(0).random()


def test_few_rows_use_no_random_numbers(moons):
    """A RandomState stays as it was, and changes only for twelve rows about parameters."""
    X, y = moons
    state = np.random.RandomState(0)  # scikit-learn takes these
    # One chain: two so short would warn that they disagree.
    model = SoftplusClassifier(**{**SHORT, "random_state": state, "n_sweeps": 10, "n_chains": 1}).fit(X, y)
    before = state.get_state()[2]
    model.query(X, 60)
    model.query(X, 11, criterion="bald")
    assert state.get_state()[2] == before
    model.query(X, 12, criterion="bald")
    assert state.get_state()[2] != before


@pytest.mark.parametrize("n", [0, 61, -3, 2.0, True, "5", None])
def test_bad_numbers_are_named(fitted, moons, n):
    """With what was seen and what may be."""
    for criterion in ("epig", "bald"):
        with pytest.raises(ValueError, match=r"n must be an integer from 1 to 60, the number of rows given; got"):
            fitted.query(moons[0], n, criterion=criterion)


def test_old_keyword_is_accepted(fitted, moons):
    """`about="parameters"` is now `criterion="bald"`."""
    with pytest.warns(FutureWarning, match="'about' is now 'criterion'"):
        rows = fitted.query(moons[0], 5, about="parameters")
    assert np.array_equal(rows, fitted.query(moons[0], 5, criterion="bald"))


@pytest.mark.parametrize("criterion", ["rows", "", None, 1])
def test_bad_criteria_are_named(fitted, moons, criterion):
    """With what may be."""
    with pytest.raises(ValueError, match="criterion must be one of 'epig', 'bald'; got"):
        fitted.query(moons[0], criterion=criterion)


def test_one_draw_disagrees_with_nobody(moons):
    """There is nothing to ask by."""
    settings = {"inference": "gibbs", "n_chains": 1, "n_sweeps": 4, "n_draws": 1, "symmetric": False}
    model = SoftplusClassifier(**settings, random_state=0).fit(*moons)
    assert model.predict_uncertainty(moons[0]).epistemic.max() == 0.0
    with pytest.raises(ValueError, match="query requires draws or members that can disagree"):
        model.query(moons[0])


def test_unfitted_models_say_so(moons):
    """As everywhere in scikit-learn."""
    for method in ("query", "predict_uncertainty"):
        with pytest.raises(NotFittedError):
            getattr(SoftplusClassifier(), method)(moons[0])


def test_examples_run():
    """Those in the docstrings of the two methods."""
    result = doctest.testmod(_uncertainty)
    assert result.attempted >= 4
    assert result.failed == 0
