"""Error and number of experts against depth."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from reproduction.paper import printed
from reproduction.plan import DEPTHS, LARGE, SMALL, STACK, SUM_STACK
from reproduction.summary import Summary
from softpolytope.cli._output import replaced

# Told apart without colour too: by marker, and by line.
LINES = {"sum-stack": (SUM_STACK, "C0", "o"), "stack": (STACK, "C1", "s")}


def draw_by_depth(summary: Summary, page: Path) -> list[Path]:
    """Both pictures, beside the page."""
    return [
        _drawn(summary, "error", "test error, %", page.with_name(f"{page.stem}-error.png")),
        _drawn(summary, "n_experts", "experts, both labelings", page.with_name(f"{page.stem}-experts.png")),
    ]


def _drawn(summary: Summary, quantity: str, label: str, path: Path) -> Path:
    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplots(2, 4)
    for ax, set_name in zip(axes.flat, (*SMALL, *LARGE), strict=True):
        for name, (keys, colour, marker) in LINES.items():
            if quantity == "error" or name == "sum-stack":
                _draw_line(ax, summary, (set_name, quantity, name), keys, {"color": colour, "marker": marker})
        ax.set_title(set_name.replace("_", " "))
        ax.set_xticks(range(len(DEPTHS)), [str(depth) for depth in DEPTHS])
    for ax in axes[-1]:
        ax.set_xlabel("layers T")
    for ax in axes[:, 0]:
        ax.set_ylabel(label)
    # Of all panels: a set may have nothing found yet.
    found = {label: handle for ax in axes.flat for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=len(found))
    with replaced(path) as temporary:
        figure.savefig(temporary, dpi=100, format="png")
    return path


def _draw_line(ax: Any, summary: Summary, what: tuple[str, str, str], keys: dict[int, str], style: Any) -> None:
    """Found, with its standard deviation, and the paper's, dashed."""
    set_name, quantity, name = what
    found = {i: summary.moments(set_name, key, quantity) for i, key in enumerate(keys.values())}
    there = {i: moments for i, moments in found.items() if moments}
    if there:
        deviations = [moments.deviation or 0.0 for moments in there.values()]
        means = [moments.mean for moments in there.values()]
        ax.errorbar(np.array(list(there)) - 0.06, means, deviations, capsize=3, label=f"{name}, found", **style)
    beside = {i: printed(set_name, key, quantity) for i, key in enumerate(keys.values())}
    paper = {i: item for i, item in beside.items() if item}
    places = np.array(list(paper)) + 0.06
    deviations = [item[1] or 0.0 for item in paper.values()]
    ax.errorbar(
        places,
        [item[0] for item in paper.values()],
        deviations,
        capsize=3,
        linestyle="--",
        alpha=0.6,
        label=f"{name}, paper",
        **style,
    )
