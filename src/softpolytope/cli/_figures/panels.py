"""What the figures share: panels in two rows of four, and files that are complete or not there."""

import io
import secrets
from pathlib import Path
from typing import Any

from softpolytope.cli._figures.fits import Fit
from softpolytope.inspection.displays import DecisionDisplay

# Cells of a map each way: enough for panels of this size.
N_CELLS = 70
DOTS_PER_INCH = 100
N_COLOURS = 200


def eight_panels(title: str) -> tuple[Any, Any]:
    """A figure and its axes, (2, 4)."""
    return _panels(title, 4)


def six_panels(title: str) -> tuple[Any, Any]:
    """A figure and its axes, (2, 3)."""
    return _panels(title, 3)


def _panels(title: str, n_columns: int) -> tuple[Any, Any]:
    # Without pyplot: no window is opened, whatever the user's backend is.
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  # an extra
    from matplotlib.figure import Figure  # noqa: PLC0415  # an extra

    figure = Figure(figsize=(3.75 * n_columns, 7.0), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    return figure, figure.subplots(2, n_columns)


def how_fitted(model: Any) -> str:
    """What was done, in a few words: not all chains are run as the paper's."""
    sampler = "paper" if model.scan == "paper" else "library"
    start = " from a mode" if model.start == "map" else ""
    return f"{model.n_sweeps:,} sweeps{start}, {sampler}'s sampler"


def response_of(fit: Fit) -> str:
    """Which inequalities a model's panels count: those of a stack are its criteria."""
    return "criteria" if fit.kind == "stack" else "count"


def draw_map(ax: Any, model: Any, rows: tuple[Any, Any], title: str, **kw: Any) -> None:
    """A map of one labelling."""
    display = DecisionDisplay.from_estimator(
        model, *rows, target="A", experts=None, n_cells=N_CELLS, ax=ax, legend=False, **kw
    )
    if display.colorbar_ is not None:
        display.colorbar_.set_label("")  # the title says it
    ax.set(title=title, xlabel="", ylabel="")


def save(figure: Any, path: Path) -> None:
    """Write a picture; the file appears when it is complete."""
    from PIL import Image  # noqa: PLC0415  # comes with matplotlib

    drawn, packed = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH)
    # A palette makes the file a third as large.
    Image.open(drawn).convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE).save(packed, "png", optimize=True)
    write_whole(path, packed.getvalue())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name, then give it its own."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what a run that was killed in the middle of writing has left."""
    for suffix in ("png", "npz", "softpolytope"):
        for path in folder.glob(f".*.{suffix}.????????????????"):
            path.unlink(missing_ok=True)
