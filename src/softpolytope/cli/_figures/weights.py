"""Figures of the experts' weights on the benchmark sets."""

from typing import Any

from softpolytope.cli._figures.panels import eight_panels, how_fitted
from softpolytope.inspection.displays import ExpertWeightsDisplay


def draw_weights(title: str, models: dict[str, Any]) -> Any:
    """A panel per set: weights of both labelings, in falling order, and how the chain was run."""
    figure, axes = eight_panels(title)
    for ax, letter, (name, model) in zip(axes.flat, "abcdefgh", models.items(), strict=False):
        ExpertWeightsDisplay.from_estimator(model, target="A", ax=ax)
        ax.set_title(f"({letter}) {name.replace('_', ' ')}\n{how_fitted(model)}", fontsize="medium")
    for ax in axes.flat[len(models) :]:
        ax.set_axis_off()
    return figure
