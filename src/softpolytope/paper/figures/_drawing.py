"""Drawing of the figures: the best draw, the posterior, and the experts' weights, in two rows of panels."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from softpolytope._files import atomic_write
from softpolytope.inspection.displays import (
    DecisionDisplay,
    ExpertWeightsDisplay,
    LatentCountsDisplay,
    LogLikelihoodDisplay,
)
from softpolytope.model import Estimate
from softpolytope.paper.figures._models import Classifier, Family, FigureModel, LabeledRows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Cells of a map along each axis, enough for panels of this size.
N_CELLS = 70
DOTS_PER_INCH = 100
N_COLORS = 200
Response = Literal["probability", "deviation", "count", "count_deviation", "criteria", "criteria_deviation"]
# Each family's inequalities in the titles of the best draw and of the posterior, and the display's names for their
# number and its deviation.
_COUNTED: Mapping[Family, tuple[str, str, Response, Response]] = {
    "sum": ("violated inequalities", "violated", "count", "count_deviation"),
    "stack": ("criteria met", "criteria met", "criteria", "criteria_deviation"),
    "sum_stack": ("satisfied inequalities", "satisfied", "count", "count_deviation"),
}


def draw_best(title: str, model: FigureModel, fitted: Classifier, rows: LabeledRows) -> "Figure":
    """Draw panels (a) to (h) of the best draw: the upper row with class A labeled 1, the lower with class B."""
    figure, axes = make_panels(title, 4)
    _draw_rows(axes[0][0], rows)
    LogLikelihoodDisplay.from_estimator(fitted, rows[0], target="A", ax=axes[1][0])
    axes[1][0].set_title("(e) average log-likelihood")
    for labeling, letters in enumerate(("bcd", "fgh")):
        name, panels = "AB"[labeling], axes[labeling]
        if model.family == "sum":
            ExpertWeightsDisplay.from_estimator(fitted, target="A", labeling=labeling, ax=panels[1])
            panels[1].set_title(f"({letters[0]}) {name} is 1: weights r")
        else:
            LatentCountsDisplay.from_estimator(fitted, *rows, target="A", labeling=labeling, ax=panels[1], legend=False)
            panels[1].set_title(f"({letters[0]}) {name} is 1: mean latent counts")
        counted, _, count, _ = _COUNTED[model.family]
        maps: tuple[tuple[str, Response], ...] = ((counted, count), (f"P({name})", "probability"))
        for ax, letter, (quantity, response) in zip(panels[2:], letters[1:], maps, strict=True):
            _draw_map(ax, fitted, rows, f"({letter}) {name} is 1: {quantity}", labeling, "best", response)
    return figure


def draw_posterior(title: str, model: FigureModel, fitted: Classifier, rows: LabeledRows) -> "Figure":
    """Draw panels (a) to (h) of posterior means and standard deviations, one row for each labeling."""
    figure, axes = make_panels(title, 4)
    _, counted, count, count_deviation = _COUNTED[model.family]
    for labeling, letters in enumerate(("abcd", "efgh")):
        name = "AB"[labeling]
        panels: tuple[tuple[str, Response], ...] = (
            (f"mean of {counted}", count),
            (f"sd of {counted}", count_deviation),
            (f"mean of P({name})", "probability"),
            (f"sd of P({name})", "deviation"),
        )
        for ax, letter, (quantity, shown) in zip(axes[labeling], letters, panels, strict=True):
            _draw_map(ax, fitted, rows, f"({letter}) {name} is 1: {quantity}", labeling, "mean", shown)
    return figure


def draw_weights(title: str, fitted: Mapping[str, Classifier]) -> "Figure":
    """Draw one panel for each data set: weights of both labelings in decreasing order."""
    figure, axes = make_panels(title, 4)
    panels = [ax for row in axes for ax in row]
    for ax, letter, (name, classifier) in zip(panels, "abcdefgh", fitted.items(), strict=False):
        ExpertWeightsDisplay.from_estimator(classifier, target="A", ax=ax)
        ax.set_title(f"({letter}) {name.replace('_', ' ')}\n{describe_chain(classifier)}", fontsize="medium")
    for ax in panels[len(fitted) :]:
        ax.set_axis_off()
    return figure


def describe_chain(fitted: Classifier) -> str:
    """Describe how a model was sampled, because not every chain follows the paper."""
    sampler = "paper" if fitted.scan == "paper" else "library"
    start = " from a mode" if fitted.start == "map" else ""
    return f"{fitted.n_sweeps:,} sweeps{start}, {sampler}'s sampler"


def make_panels(title: str, n_columns: int) -> "tuple[Figure, list[list[Axes]]]":
    """Return a figure and its axes, two rows of `n_columns`."""
    try:
        # Without pyplot no window is opened, whatever the user's backend is.
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  # an extra
        from matplotlib.figure import Figure  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("The figures need the package matplotlib: pip install softpolytope[plots].") from error
    figure = Figure(figsize=(3.75 * n_columns, 7.0), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    return figure, [list(row) for row in figure.subplots(2, n_columns, squeeze=False)]


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure as PNG with a palette, which makes the file a third as large."""
    from PIL import Image  # noqa: PLC0415  # comes with matplotlib

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH)
    picture = Image.open(drawn).convert("RGB").quantize(N_COLORS, dither=Image.Dither.NONE)
    with atomic_write(path) as file:
        picture.save(file, "png", optimize=True)


def _draw_rows(ax: "Axes", rows: LabeledRows) -> None:
    X, y = rows
    for name, marker, color in (("A", "^", "#D55E00"), ("B", "o", "#0072B2")):
        is_class = y == name
        ax.scatter(X[is_class, 0], X[is_class, 1], s=12, marker=marker, c=color, label=f"class {name}")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, frameon=False)
    ax.set_title("(a) data")


def _draw_map(
    ax: "Axes", fitted: Classifier, rows: LabeledRows, title: str, labeling: int, estimate: Estimate, response: Response
) -> None:
    """Draw a map of one labeling."""
    display = DecisionDisplay.from_estimator(
        fitted, *rows, target="A", experts=None, n_cells=N_CELLS, ax=ax, legend=False,
        labeling=labeling, estimate=estimate, response=response,
    )  # fmt: skip
    if display.colorbar_ is not None:
        display.colorbar_.set_label("")  # the title has it
    ax.set(title=title, xlabel="", ylabel="")
