"""Gradients of the gap between classes."""

import numpy as np

from softpolytope.geometry._decision_boundary import Decision


def test_gap_gradients_are_derivatives(circle, rng):
    """The gradients equal differences of the log odds, averaged over modes."""
    model, _ = circle
    decision = Decision(model.posterior_, "mean")
    rows = rng.uniform(-2.0, 2.0, (20, 2))
    is_wanted = np.repeat([[False], [True]], 20, axis=1)
    gradients = decision.gap_gradients(rows, is_wanted)
    for column in range(2):
        step = np.zeros(2)
        step[column] = 1e-6
        difference = (decision.gap(rows + step, is_wanted) - decision.gap(rows - step, is_wanted)) / 2e-6
        np.testing.assert_allclose(gradients[:, column], difference, rtol=1e-5, atol=1e-6)
