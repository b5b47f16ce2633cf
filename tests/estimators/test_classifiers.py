"""What the classifiers promise beyond scikit-learn's checks."""

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.linear_model import LogisticRegression

from softpolytope import (
    Prior,
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)
from softpolytope.model._softplus import positive_probability

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 60, "max_experts": 4, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    """A short fit of them."""
    return SumStackSoftplusClassifier(**SHORT).fit(*moons)


@pytest.mark.slow
def test_geometry_of_the_four():
    """Ring around a disc: a sum separates one labeling, a stack the other; one hyperplane neither."""
    X, y = make_circles(200, factor=0.35, noise=0.08, random_state=0)
    common = {"inference": "gibbs", "start": "random", "n_sweeps": 400, "random_state": 0}
    assert SoftplusClassifier(**common).fit(X, y).score(X, y) < 0.75
    for model in (
        SumSoftplusClassifier(**common, max_experts=10),
        StackSoftplusClassifier(**common, n_layers=4),
        SumStackSoftplusClassifier(**common, max_experts=10),
    ):
        assert model.fit(X, y).score(X, y) > 0.95, model


def test_probabilities_are_those_of_the_definition(moons):
    """Coefficients and weights in the user's units give the probabilities, by the precise functions."""
    X, y = moons
    X = X * [1000.0, 0.01] + [5e4, -3.0]
    model = SumStackSoftplusClassifier(**SHORT, estimate="best").fit(X, y)
    design = np.column_stack([np.ones(len(X)), X])
    own, other = (
        positive_probability(coefficients @ design.T, weights)
        for coefficients, weights in zip(model.coefficients_, model.expert_weights_, strict=True)
    )
    assert model.predict_proba(X)[:, 1] == pytest.approx((own + 1 - other) / 2, rel=1e-9, abs=1e-12)
    assert np.array_equal(model.predict(X), (own + 1 - other > 1).astype(int))


@pytest.mark.parametrize("scan", ["paper", "collapsed"])
def test_whole_numbers_in_a_prior_are_floats(moons, scan):
    """A prior of integers gives the same bits as that of equal floats, in chains and in the modes they start from."""
    X, y = moons
    shared = {"inference": "gibbs", "scan": scan, "start": "map", "n_sweeps": 6, "max_experts": 2, "random_state": 0}
    found = [
        SumStackSoftplusClassifier(**shared, prior=Prior(*numbers)).fit(X, y).predict_proba(X)
        for numbers in ((1, 1, 1, 1, 6, 3), (1.0, 1.0, 1.0, 1.0, 6.0, 3.0))
    ]
    assert np.array_equal(*found)


def test_same_seed_same_model_whatever_threads_and_order(moons):
    """Bit for bit; another seed differs."""
    X, y = moons
    order = np.random.default_rng(1).permutation(len(y))
    first = SumStackSoftplusClassifier(**SHORT).fit(X, y).predict_proba(X)
    assert np.array_equal(SumStackSoftplusClassifier(**SHORT, n_jobs=2).fit(X, y).predict_proba(X), first)
    assert np.array_equal(SumStackSoftplusClassifier(**SHORT).fit(X[order], y[order]).predict_proba(X), first)
    other = SumStackSoftplusClassifier(**{**SHORT, "random_state": 1}).fit(X, y).predict_proba(X)
    assert not np.array_equal(other, first)


def test_weights_are_repeats_exactly(moons):
    """Rows of weight two, and rows given twice, are the same data."""
    X, y = moons
    weights = np.random.default_rng(2).integers(0, 3, len(y))
    weighted = SumStackSoftplusClassifier(**SHORT).fit(X, y, sample_weight=weights)
    repeated = SumStackSoftplusClassifier(**SHORT).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_names_change_names_only(moons):
    """Labels and columns under other names give the same probabilities, with those names."""
    pandas = pytest.importorskip("pandas")
    X, y = moons
    plain = SumStackSoftplusClassifier(**SHORT).fit(X, y)
    frame = pandas.DataFrame(X, columns=["width", "height"])
    named = SumStackSoftplusClassifier(**SHORT).fit(frame, np.where(y == 1, "yes", "no"))
    assert named.feature_names_in_.tolist() == ["width", "height"]
    assert named.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(named.predict_proba(frame), plain.predict_proba(X))
    assert set(named.predict(frame)) == {"no", "yes"}


def test_polars_frames(moons):
    """Names come from polars too."""
    polars = pytest.importorskip("polars")
    X, y = moons
    frame = polars.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    model = SumStackSoftplusClassifier(**SHORT).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["width", "height"]
    assert np.array_equal(model.predict_proba(frame), SumStackSoftplusClassifier(**SHORT).fit(X, y).predict_proba(X))


def test_more_classes():
    """One regression per class; probabilities sum to one, draws and intervals have a class axis."""
    X, y = load_iris(return_X_y=True)
    model = SumStackSoftplusClassifier(
        inference="gibbs", start="random", n_sweeps=100, max_experts=5, random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.93
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert model.predict_proba_draws(X[:4]).shape == (200, 4, 3)
    assert model.predict_interval(X[:4]).shape == (4, 3, 2)
    assert model.decision_function(X).shape == (150, 3)
    assert len(model.posterior_.regressions) == 3
    assert len(model.coefficients_) == 6


def test_constant_columns_change_nothing(moons):
    """A column of one number, however large, leaves the fit as good as a column of zeros does."""
    X, y = moons
    scores = []
    for value in (0.0, 1.0, 2024.0, -1e9):
        rows = np.column_stack([X, np.full(len(y), value)])
        scores.append(SumStackSoftplusClassifier(**SHORT).fit(rows, y).score(rows, y))
    assert scores == pytest.approx([scores[0]] * 4, abs=0.05)


def test_weights_in_any_order_merge_alike():
    """Copies of a row with fractional weights, in any order, or one with their sum, are the same data."""
    X, y = np.array([[0.0], [0.0], [0.0], [1.0], [2.0]]), np.array([1, 1, 1, 0, 1])
    fits = [
        SumStackSoftplusClassifier(**SHORT).fit(X, y, sample_weight=weights).predict_proba(X)
        for weights in ([0.1, 0.2, 0.3, 1.0, 1.0], [0.3, 0.2, 0.1, 1.0, 1.0])
    ]
    assert np.array_equal(*fits)


@pytest.mark.slow
def test_without_weights_it_is_logistic_regression(moons):
    """fit_weight=False has posterior means near the maximum of a logistic regression with as wide a prior."""
    X, y = moons
    prior = Prior(precision_shape=1e6, precision_rate=1e6)  # a normal law of variance one
    model = SoftplusClassifier(
        fit_weight=False,
        standardize=False,
        symmetric=False,
        inference="gibbs",
        start="random",
        n_sweeps=1500,
        n_draws=750,
        prior=prior,
        random_state=0,
    ).fit(X, y)
    # scikit-learn does not penalise the intercept; as a column of ones it is penalised here too.
    rows = np.column_stack([np.ones(len(X)), X])
    theirs = LogisticRegression(fit_intercept=False).fit(rows, y)
    draws = np.array(
        [d.coefficients[0, 0] for d in map(model.posterior_.regressions[0].labelings[0].draws.__getitem__, range(1500))]
    )
    error = draws.std(axis=0)
    assert (abs(draws.mean(axis=0) - theirs.coef_[0]) < 0.3 * error).all()
    tighter = LogisticRegression(fit_intercept=False, C=0.05).fit(rows, y)
    assert (abs(draws.mean(axis=0) - tighter.coef_[0]) > 0.3 * error).any()
    assert all(w.tolist() == [1.0] for w in model.expert_weights_)


def test_pickles_are_small_and_stable(fitted, moons, tmp_path):
    """A pickle holds draws, not rows: ten times the rows make it no larger by more than the traces' share."""
    X, _ = moons
    joblib.dump(fitted, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    big_X, big_y = make_moons(20_000, noise=0.2, random_state=1)
    big = SumStackSoftplusClassifier(**{**SHORT, "n_sweeps": 4}).fit(big_X, big_y)
    joblib.dump(big, tmp_path / "big.joblib")
    assert (tmp_path / "big.joblib").stat().st_size < 100_000
