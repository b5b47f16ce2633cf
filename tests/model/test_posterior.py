"""Logarithms of probabilities far from the rows."""

import mpmath
import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from softpolytope import SoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.model._posterior import Draws, LabelingPosterior, RegressionPosterior


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


def test_log_odds_do_not_stop():
    """Rows further out are decided with more confidence, however far out they are."""
    X, y = make_moons(100, noise=0.1, random_state=0)
    model = SoftplusClassifier(symmetric=False, fit_weight=False, random_state=0, n_restarts=2).fit(X, y)
    direction = model.posterior_.regressions[0].labelings[0].best.coefficients[0, 0, 1:]
    far = np.outer([1e3, 1e4, 1e5], direction / np.linalg.norm(direction))
    odds = model.decision_function(far)
    assert (np.diff(odds) > 0.0).all()
    assert odds[2] / odds[1] == pytest.approx(10.0, rel=0.01)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logs_are_those_of_the_probabilities(n_classes):
    """Where both are numbers."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model = SumStackSoftplusClassifier(max_experts=3, n_restarts=2, random_state=0).fit(X, y)
    assert model.predict_log_proba(X) == pytest.approx(np.log(model.predict_proba(X)), rel=1e-12, abs=1e-12)
