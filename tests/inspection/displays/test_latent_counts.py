"""Average latent counts."""

import numpy as np
import pytest

from softpolytope import StackSoftplusClassifier
from softpolytope.geometry import linear_predictors
from softpolytope.inspection.displays import LatentCountsDisplay
from softpolytope.model import expected_counts


def test_latent_counts(circle, chain):
    """Each expert with counts has a line of T + 1 levels that never increases, the largest expert first."""
    X, y = circle
    model = StackSoftplusClassifier(n_layers=4, n_chains=1, **chain).fit(X, y)
    display = LatentCountsDisplay.from_estimator(model, X, y, labeling=1)
    assert display.counts.shape == (1, 5)
    assert (np.diff(display.counts) <= 0.0).all()
    assert display.counts[0, -1] >= 1.0
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), display.counts[0])
    assert display.ax_.get_ylabel() == "mean count per row of in"
    with pytest.raises(ValueError, match="no row of out"):
        LatentCountsDisplay.from_estimator(model, X[y == "in"], y[y == "in"])


def test_latent_counts_of_a_class(several):
    """One of several classes is shown, with experts numbered as in `polytopes`."""
    model, X, y = several
    display = LatentCountsDisplay.from_estimator(model, X, y, target="cat", labeling=1)
    assert display.name == "not cat"
    polytopes = next(item for item in model.polytopes() if item.target == "not cat")
    predictors = linear_predictors(polytopes.draw.coefficients, X[y != "cat"].to_numpy())
    counts = expected_counts(predictors, polytopes.draw.expert_weights)
    assert display.experts == sorted(display.experts)
    for expert, first in zip(display.experts, display.counts[:, 0], strict=True):
        assert first == pytest.approx(counts[expert - 1, 0].mean(), rel=0.1)
    labels = [line.get_label() for line in display.ax_.lines]
    assert labels == [f"expert {expert}" for expert in display.experts]
