"""Weights of the experts."""

import numpy as np

from softpolytope.inspection.displays import ExpertWeightsDisplay


def test_expert_weights(summed):
    """Each labeling has a bar per expert in decreasing order, including those without weight."""
    display = ExpertWeightsDisplay.from_estimator(summed, with_empty=True)
    assert list(display.weights) == ["out", "in"]
    bars = [[bar.get_height() for bar in group] for group in display.ax_.containers]
    for heights, weights in zip(bars, summed.expert_weights_, strict=True):
        np.testing.assert_allclose(heights[: len(weights)], np.sort(weights)[::-1])
        assert len(heights) == 6
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["experts for out", "experts for in"]
    assert display.plot(log=True).ax_.get_yscale() == "log"
    best = summed.posterior_.regressions[0].labelings[1].best
    active = ExpertWeightsDisplay.from_estimator(summed, labeling=1).weights
    assert list(active) == ["in"]
    assert (active["in"] > 0.0).sum() == best.is_active.sum()
    np.testing.assert_allclose(active["in"].sum(), best.expert_weights[best.is_active].sum())
