"""Calibration curves."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from softpolytope.inspection.displays import ReliabilityDisplay


def test_reliability(rng):
    """Bins have means, frequencies and Beta intervals; the histogram has all rows."""
    probabilities = rng.uniform(size=2000)
    hits = rng.uniform(size=2000) < probabilities
    display = ReliabilityDisplay.from_predictions(hits, probabilities, n_bins=5, level=0.8)
    inside = (probabilities >= 0.2) & (probabilities < 0.4)
    n, k = inside.sum(), hits[inside].sum()
    assert display.predicted[1] == pytest.approx(probabilities[inside].mean())
    assert display.observed[1] == pytest.approx(k / n)
    np.testing.assert_allclose(display.intervals[1], stats.beta(k + 0.5, n - k + 0.5).ppf([0.1, 0.9]))
    assert sum(bar.get_height() for bar in display.histogram_ax_.patches) == 2000
    quantiles = ReliabilityDisplay.from_predictions(hits, probabilities, n_bins=5, strategy="quantile")
    np.testing.assert_array_equal(quantiles.counts, 400.0)


def test_reliability_of_extreme_predictions():
    """Bins without rows are left out, and intervals may exclude the observed frequency."""
    display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(display.observed, [0.0, 1.0])
    same = ReliabilityDisplay.from_predictions([0, 1], [0.5, 0.5], strategy="quantile")
    np.testing.assert_array_equal(same.counts, [2.0])


def test_reliability_of_an_estimator(several):
    """A class can be chosen; any classifier with probabilities is accepted."""
    model, X, y = several
    display = ReliabilityDisplay.from_estimator(model, X, y, target="ant")
    np.testing.assert_allclose(display.probabilities, model.predict_proba(X)[:, 0])
    assert display.ax_.get_xlabel() == "predicted P(ant)"
    other = make_pipeline(LogisticRegression()).fit(X, y)
    assert ReliabilityDisplay.from_estimator(other, X, y, target="bee").name == "bee"


def test_bad_predictions():
    """The message names what is wrong."""
    for hits, probabilities in (([True], [1.5]), ([True, False], [0.5]), ([], [])):
        with pytest.raises(ValueError, match="probabilit"):
            ReliabilityDisplay.from_predictions(hits, probabilities)
    for how in ({"n_bins": 0}, {"level": 1.0}, {"strategy": "other"}):
        with pytest.raises(ValueError, match="n_bins must be at least 1"):
            ReliabilityDisplay.from_predictions([True], [0.5], **how)
