"""Figures of the best draw: data, weights or counts, inequalities, probabilities, log-likelihood."""

from typing import Any

from softpolytope.cli._figures.fits import Fit
from softpolytope.cli._figures.panels import draw_map, eight_panels, response_of
from softpolytope.inspection.displays import ExpertWeightsDisplay, LatentCountsDisplay, LogLikelihoodDisplay

_IN_WORDS = {
    "sum": "violated inequalities",
    "stack": "criteria met",
    "sum_stack": "satisfied inequalities",
}


def draw_best(title: str, fit: Fit, model: Any, rows: tuple[Any, Any]) -> Any:
    """Panels (a) to (h): the upper row for class A labelled 1, the lower for class B."""
    figure, axes = eight_panels(title)
    _draw_rows(axes[0, 0], rows)
    LogLikelihoodDisplay.from_estimator(model, rows[0], target="A", ax=axes[1, 0])
    axes[1, 0].set_title("(e) average log-likelihood")
    for labelling, letters in enumerate(("bcd", "fgh")):
        name = "AB"[labelling]
        panels = axes[labelling]
        if fit.kind == "sum":
            ExpertWeightsDisplay.from_estimator(model, target="A", labelling=labelling, ax=panels[1])
            panels[1].set_title(f"({letters[0]}) {name} is 1: weights r")
        else:
            LatentCountsDisplay.from_estimator(
                model, *rows, target="A", labelling=labelling, ax=panels[1], legend=False
            )
            panels[1].set_title(f"({letters[0]}) {name} is 1: mean latent counts")
        what = f"({letters[1]}) {name} is 1: {_IN_WORDS[fit.kind]}"
        best = {"labelling": labelling, "estimate": "best"}
        draw_map(panels[2], model, rows, what, response=response_of(fit), **best)
        draw_map(panels[3], model, rows, f"({letters[2]}) {name} is 1: P({name})", **best)
    return figure


def _draw_rows(ax: Any, rows: tuple[Any, Any]) -> None:
    X, y = rows
    for name, marker, colour in (("A", "^", "#D55E00"), ("B", "o", "#0072B2")):
        ax.scatter(*X[y == name].T, s=12, marker=marker, c=colour, label=f"class {name}")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, frameon=False)
    ax.set_title("(a) data")
