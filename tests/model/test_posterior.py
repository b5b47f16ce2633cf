"""The mixture of both labelings' draws, and logarithms of probabilities far from the rows."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from softpolytope import SoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.model import central_interval
from softpolytope.model._posterior import Draws, LabelingPosterior, Posterior, RegressionPosterior


def posterior(*slopes_of_labelings):
    """Draws of one expert and one layer, weight one; a row x has psi = slope x."""
    labelings = []
    for slopes in slopes_of_labelings:
        parts = [(np.array([[[0.0, slope]]]), np.ones(1), np.ones(1, dtype=bool), 0.0) for slope in slopes]
        draws = Draws.from_parts(parts)
        labelings.append(LabelingPosterior(draws, draws[0], 1, *[np.zeros((1, 1))] * 3))
    return RegressionPosterior(tuple(labelings))


@pytest.mark.parametrize("slopes", [([1.0, 3.0],), ([1.0, 3.0], [-2.0, -1.0]), ([2.0], [-3.0])])
@pytest.mark.parametrize("x", [-3000.0, -690.0, -3.0, 0.5, 30.0, 800.0])
def test_logs_of_any_size(slopes, x):
    """To 1e-12, by arithmetic of very many digits: no chance is too small, and log P(y = 0) is -lambda."""
    with mpmath.workdps(6000):
        events, survivals = [], []
        for side in slopes:
            rates = [mpmath.log1p(mpmath.exp(slope * mpmath.mpf(x))) for slope in side]
            events.append(sum(-mpmath.expm1(-rate) for rate in rates) / len(rates))
            survivals.append(sum(mpmath.exp(-rate) for rate in rates) / len(rates))
        if len(slopes) == 2:
            probabilities = (events[0] + survivals[1]) / 2, (survivals[0] + events[1]) / 2
        else:
            probabilities = events[0], survivals[0]
        expected = [float(mpmath.log(chance)) for chance in probabilities]
    found = posterior(*slopes).log_probabilities(np.array([[x]]), "mean")
    for log_chance, exact in zip(found, expected, strict=True):
        assert log_chance[0] == pytest.approx(exact, rel=1e-12, abs=1e-12)


def test_draws_of_both_labelings_are_one_mixture(rng):
    """Those of the labels come first, then those of the flipped labels; their mean is the prediction."""
    own, opposite = rng.normal(size=(2, 7))
    regression, X = posterior(own, opposite), rng.normal(size=(5, 1))
    draws, complement = regression.both_probability_draws(X)
    rates = [np.logaddexp(0.0, np.outer(slopes, X[:, 0])) for slopes in (own, opposite)]
    np.testing.assert_allclose(draws, np.concatenate([-np.expm1(-rates[0]), np.exp(-rates[1])]), rtol=1e-12)
    np.testing.assert_allclose(draws + complement, 1.0, rtol=1e-12)
    np.testing.assert_allclose(draws.mean(axis=0), regression.probabilities(X, "mean")[0], rtol=1e-12)
    assert np.array_equal(regression.probability_draws(X), draws)
    assert regression.n_draws == 14
    assert regression.probability_draws(X, "best").shape == (2, 5)


def test_labelings_that_disagree_have_wide_intervals():
    """If each labeling is certain of another class, the interval has both, not the average."""
    regression = posterior(*np.full((2, 20), 5.0))
    low, high = central_interval(regression.probability_draws(np.array([[1.0]])), 0.89)
    assert low[0] < 0.01
    assert high[0] > 0.99


def test_regressions_of_classes_are_combined_draw_by_draw(rng):
    """Draw d of a class is combined with draw d of the others, first those of the labels, then of the flipped ones."""
    regressions = [posterior(*rng.normal(size=(2, 4))) for _ in range(3)]
    X = rng.normal(size=(6, 1))
    found = Posterior(tuple(regressions)).class_probability_draws(X)
    pairs = [regression.both_probability_draws(X) for regression in regressions]
    odds = np.stack([positive / negative for positive, negative in pairs], axis=2)
    np.testing.assert_allclose(found, odds / odds.sum(axis=2, keepdims=True), rtol=1e-10)
    assert found.shape == (8, 6, 3)


def test_log_odds_do_not_stop():
    """Rows further out are decided with more confidence, however far out they are."""
    X, y = make_moons(100, noise=0.1, random_state=0)
    model = SoftplusClassifier(symmetric=False, fit_weight=False, inference="map", n_restarts=2, random_state=0).fit(
        X, y
    )
    direction = model.posterior_.regressions[0].labelings[0].best.coefficients[0, 0, 1:]
    far = np.outer([1e3, 1e4, 1e5], direction / np.linalg.norm(direction))
    odds = model.decision_function(far)
    assert (np.diff(odds) > 0.0).all()
    assert odds[2] / odds[1] == pytest.approx(10.0, rel=0.01)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logs_are_those_of_the_probabilities(n_classes):
    """Where both are numbers, of pools of probabilities and of log odds."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    for own in ({"inference": "map", "n_restarts": 2}, {"n_members": 4}):
        model = SumStackSoftplusClassifier(max_experts=3, random_state=0, **own).fit(X, y)
        assert model.predict_log_proba(X) == pytest.approx(np.log(model.predict_proba(X)), rel=1e-12, abs=1e-12)


def test_log_odds_are_pooled(rng):
    """The log odds of a logarithmic pool are the mean of those of the draws, each within twelve; not the linear one."""
    regression = posterior(*rng.normal(size=(2, 4)))
    X = np.linspace(-40.0, 40.0, 9)[:, None]
    draws = regression.both_probability_draws(X)
    expected = np.clip(np.log(draws[0]) - np.log(draws[1]), -12.0, 12.0).mean(axis=0)
    for pool, is_pooled in (("logarithmic", True), ("linear", False)):
        positive, negative = replace(regression, pool=pool).log_probabilities(X, "mean")
        assert np.allclose(positive - negative, expected, rtol=1e-9) == is_pooled
