"""Figures of the posterior: means and standard deviations over draws."""

from typing import Any

from softpolytope.cli._figures.fits import Fit
from softpolytope.cli._figures.panels import draw_map, eight_panels, response_of

_COUNTED = {"sum": "violated", "stack": "criteria met", "sum_stack": "satisfied"}


def draw_posterior(title: str, fit: Fit, model: Any, rows: tuple[Any, Any]) -> Any:
    """Panels (a) to (h): the upper row for class A labelled 1, the lower for class B."""
    figure, axes = eight_panels(title)
    count = response_of(fit)
    for labelling, letters in enumerate(("abcd", "efgh")):
        name, counted = "AB"[labelling], _COUNTED[fit.kind]
        panels = (
            (f"mean of {counted}", count),
            (f"sd of {counted}", f"{count}_deviation"),
            (f"mean of P({name})", "probability"),
            (f"sd of P({name})", "deviation"),
        )
        for ax, letter, (what, response) in zip(axes[labelling], letters, panels, strict=True):
            how = {"response": response, "labelling": labelling, "estimate": "mean"}
            draw_map(ax, model, rows, f"({letter}) {name} is 1: {what}", **how)
    return figure
