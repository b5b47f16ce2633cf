"""Pictures of error and number of experts against depth."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softpolytope._files import atomic_write
from softpolytope.paper.tables._plan import DEPTHS, SETS, STACK, SUM_STACK
from softpolytope.paper.tables._printed import Quantity, printed
from softpolytope.paper.tables._summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Keys by depth, color and marker: lines differ in more than their color.
LINES = {"sum-stack": (SUM_STACK, "C0", "o"), "stack": (STACK, "C1", "s")}
# Shift of the lines found to the left and of the printed ones to the right, in depths.
SHIFT = 0.06


def draw_by_depth(summary: Summary, page: Path) -> list[Path]:
    """Write both pictures beside the page; return their paths."""
    paths = [page.with_name(f"{page.stem}-{name}.png") for name in ("error", "experts")]
    _draw(summary, "error", "test error, %", paths[0])
    _draw(summary, "n_experts", "experts, both labelings", paths[1])
    return paths


def _draw(summary: Summary, quantity: Quantity, label: str, path: Path) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415  # an extra

    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplots(2, 4)
    for ax, set_name in zip(axes.flat, SETS, strict=True):
        for name in LINES if quantity == "error" else ("sum-stack",):
            _draw_line(ax, summary, set_name, quantity, name)
        ax.set_title(set_name.replace("_", " "))
        ax.set_xticks(range(len(DEPTHS)), [str(depth) for depth in DEPTHS])
    for ax in axes[-1]:
        ax.set_xlabel("layers T")
    for ax in axes[:, 0]:
        ax.set_ylabel(label)
    # From all panels, because a set may have nothing found yet.
    found = {label: handle for ax in axes.flat for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=len(found))
    with atomic_write(path) as file:
        figure.savefig(file, dpi=100, format="png")


def _draw_line(ax: "Axes", summary: Summary, set_name: str, quantity: Quantity, name: str) -> None:
    """Draw means and standard deviations of a family by depth: found solid, the paper's dashed."""
    keys, color, marker = LINES[name]
    moments = [summary.moments(set_name, key, quantity) for key in keys.values()]
    found = [(depth, item.mean, item.deviation or 0.0) for depth, item in enumerate(moments) if item]
    beside = [printed(set_name, key, quantity) for key in keys.values()]
    paper = [(depth, item[0], item[1] or 0.0) for depth, item in enumerate(beside) if item]
    lines = ((found, "found", -SHIFT, "-", None), (paper, "paper", SHIFT, "--", 0.6))
    for points, source, shift, linestyle, alpha in lines:
        if not points:
            continue
        depths, means, deviations = np.transpose(points)
        ax.errorbar(
            depths + shift,
            means,
            deviations,
            capsize=3,
            linestyle=linestyle,
            alpha=alpha,
            color=color,
            marker=marker,
            label=f"{name}, {source}",
        )
