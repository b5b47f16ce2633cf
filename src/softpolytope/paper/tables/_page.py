"""The page docs/results/reproduction.md: tables, agreement with the paper, differences, costs, and its pictures."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from softpolytope._files import atomic_write, atomic_write_text
from softpolytope.paper._protocol import TableProtocol
from softpolytope.paper.tables._agreement import differences, overview
from softpolytope.paper.tables._plan import (
    BY_KEY,
    DEPTHS,
    LARGE,
    SETS,
    SMALL,
    STACK,
    SUM_STACK,
    Quantity,
    paper_moments,
    paper_normalized_mean,
)
from softpolytope.paper.tables._results import Result, StoredFit, write_archive
from softpolytope.paper.tables._summary import Comparison, Moments, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TEMPLATE = Template(Path(__file__).with_name("page.md").read_text(encoding="utf-8"))
REMARKS = Path(__file__).with_name("remarks.md")
_BASE = ("lr", "svm", "rvm", "amm", "cpm", "softplus", "sum", "stack5", "ss5")
_STACK, _SUM_STACK = tuple(STACK.values()), tuple(SUM_STACK.values())
# Number in the paper, title, quantity, sets and methods.
_TABLES: tuple[tuple[int, str, Quantity, Sequence[str], Sequence[str]], ...] = (
    (1, "errors, %", "error", SMALL, _BASE),
    (2, "experts", "n_experts", SMALL, _BASE),
    (4, "errors of stack-softplus regression by depth, %", "error", SMALL, _STACK),
    (5, "errors of sum-stack-softplus regression by depth, %", "error", SMALL, _SUM_STACK),
    (6, "experts of sum-stack-softplus regression by depth", "n_experts", SMALL, _SUM_STACK),
    (7, "errors on the large sets, %", "error", LARGE, _BASE),
    (8, "experts on the large sets", "n_experts", LARGE, _BASE),
    (9, "errors of stack-softplus regression by depth on the large sets, %", "error", LARGE, _STACK),
    (10, "errors of sum-stack-softplus regression by depth on the large sets, %", "error", LARGE, _SUM_STACK),
)
# Keys by depth, color and marker: lines differ in more than their color.
_LINES = {"sum-stack": (SUM_STACK, "C0", "o"), "stack": (STACK, "C1", "s")}
# Shift of the lines found to the left and of the printed ones to the right, in depths.
_SHIFT = 0.06


def write_page(found: Sequence[StoredFit], protocol: TableProtocol, path: Path) -> None:
    """Write the page with its pictures, its numbers (.csv) and the archive of its fits (.jsonl) beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    results = [item.result for item in found]
    _write_numbers(results, path.with_suffix(".csv"))
    write_archive(found, path.with_suffix(".jsonl"))
    summary = Summary(results)
    is_papers = protocol == TableProtocol()
    text = TEMPLATE.substitute(
        n_sweeps=f"{protocol.n_sweeps:,}",
        n_partitions=max((len(summary.results(name, key)) for name in SMALL for key in BY_KEY), default=0),
        overview=overview(summary),
        remarks=REMARKS.read_text(encoding="utf-8") if is_papers else "",
        differences=differences(summary) if is_papers else "",
        tables="\n".join(_table(summary, *table) for table in _TABLES),
        predictions=_by_set(summary, _prediction),
        times=_by_set(summary, lambda results: f"{np.median([result.fit_seconds for result in results]):,.1f}"),
        totals=_totals(summary),
        builds=", ".join(f"{n:,} by {build}" for build, n in Counter(item.build for item in found).most_common()),
        pictures="\n\n".join(f"![{item.stem}]({item.name})" for item in _draw_by_depth(summary, path)),
    )
    with atomic_write_text(path) as file:
        file.write(re.sub("\n{3,}", "\n\n", text))


def _write_numbers(results: Sequence[Result], path: Path) -> None:
    with atomic_write_text(path) as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Result)], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**asdict(result), "chosen": json.dumps(result.chosen)} for result in results)


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _by_set(summary: Summary, cell: Callable[[Sequence[Result]], str]) -> str:
    """Return a table with a cell for the results of every set and method."""
    keys = [key for key in BY_KEY if any(summary.results(name, key) for name in SETS)]
    rows = [
        [name.replace("_", " "), *(cell(found) if (found := summary.results(name, key)) else "" for key in keys)]
        for name in SETS
    ]
    return _grid(["set", *(BY_KEY[key].title for key in keys)], rows)


def _prediction(results: Sequence[Result]) -> str:
    cost = np.median([result.predict_nanoseconds for result in results])
    return f"{cost:,.0f} ns, {np.mean([result.error for result in results]):.1f} %"


def _totals(summary: Summary) -> str:
    totals = []
    for title, sets in (("the six sets", SMALL), ("the large sets", LARGE)):
        seconds = [result.fit_seconds for name in sets for key in BY_KEY for result in summary.results(name, key)]
        totals.append(f"{sum(seconds) / 3600.0:.1f} hours for {len(seconds):,} fits of {title}")
    return ", ".join(totals)


def _table(
    summary: Summary, number: int, title: str, quantity: Quantity, sets: Sequence[str], methods: Sequence[str]
) -> str:
    """Return a table of the paper, each number found beside the one printed."""
    rows = [_row(summary, name, methods, quantity) for name in sets]
    if sets == SMALL:
        rows.extend(_normalized_row(summary, methods, quantity, by_paper=by_paper) for by_paper in (True, False))
    titles = [BY_KEY[key].title for key in methods]
    if quantity == "n_experts":
        # As in the paper, an expert of T layers counts once and has T hyperplanes.
        depths = [BY_KEY[key].n_layers for key in methods]
        titles = [name + (f" (x {depth})" if depth > 1 else "") for name, depth in zip(titles, depths, strict=True)]
    return f"## Table {number}: {title}\n\n" + _grid(["set", *titles, BY_KEY["default"].title], rows)


def _row(summary: Summary, set_name: str, methods: Sequence[str], quantity: Quantity) -> list[str]:
    cells = []
    for method in methods:
        comparison = summary.comparison(set_name, method, quantity)
        is_printed = paper_moments(set_name, method, quantity) is not None
        cells.append(_compared(comparison, quantity) if comparison else "not run" if is_printed else "")
    own = summary.moments(set_name, "default", quantity)
    return [set_name.replace("_", " "), *cells, _moments(own, quantity) if own else "not run"]


def _compared(comparison: Comparison, quantity: Quantity) -> str:
    """Return a number found and the one printed, in bold if they do not agree."""
    is_error = quantity == "error"
    paper = f"{comparison.paper:.2f}" if is_error else f"{comparison.paper:g}"
    distance = "" if comparison.in_deviations is None else f", {comparison.in_deviations:+.1f}"
    share = "" if is_error else f", {comparison.share:+.0%}"
    n_trials = comparison.found.n_trials
    trials = ""
    if comparison.paper_deviation is not None and n_trials != comparison.n_paper_trials:
        trials = f", {n_trials} trial" + ("s" if n_trials > 1 else "")
    text = f"{_moments(comparison.found, quantity)} ({paper}{distance}{share}){trials}"
    return text if (comparison.agrees if is_error else comparison.is_near) else f"**{text}**"


def _moments(found: Moments, quantity: Quantity) -> str:
    if quantity == "error":
        return f"{found.mean:.2f}" + ("" if found.deviation is None else f" ± {found.deviation:.2f}")
    mean = f"{found.mean:.1f}" if found.mean % 1.0 else f"{found.mean:.0f}"
    return mean + (f" ± {found.deviation:.1f}" if found.deviation else "")


def _normalized_row(summary: Summary, methods: Sequence[str], quantity: Quantity, *, by_paper: bool) -> list[str]:
    """Return means over the sets of a number divided by the SVM's, the paper's or ours."""
    cells = []
    for method in (*methods, "default"):
        found = summary.normalized(method, quantity, by_paper=by_paper)
        beside = paper_normalized_mean(method, quantity) if by_paper else None
        text = f" ({beside:.3f})" if beside is not None else ""
        cells.append(f"{found:.3f}{text}" if found is not None else "")
    return ["mean over the paper's SVM" if by_paper else "mean over our SVM", *cells]


def _draw_by_depth(summary: Summary, page: Path) -> list[Path]:
    """Draw error and number of experts against depth beside the page; return the paths."""
    paths = [page.with_name(f"{page.stem}-{name}.png") for name in ("error", "experts")]
    _draw(summary, "error", "test error, %", paths[0])
    _draw(summary, "n_experts", "experts, both labelings", paths[1])
    return paths


def _draw(summary: Summary, quantity: Quantity, label: str, path: Path) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415  # an extra

    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplots(2, 4)
    for ax, set_name in zip(axes.flat, SETS, strict=True):
        for name in _LINES if quantity == "error" else ("sum-stack",):
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
    keys, color, marker = _LINES[name]
    moments = [summary.moments(set_name, key, quantity) for key in keys.values()]
    found = [(depth, item.mean, item.deviation or 0.0) for depth, item in enumerate(moments) if item]
    beside = [paper_moments(set_name, key, quantity) for key in keys.values()]
    paper = [(depth, item[0], item[1] or 0.0) for depth, item in enumerate(beside) if item]
    lines = ((found, "found", -_SHIFT, "-", None), (paper, "paper", _SHIFT, "--", 0.6))
    for points, source, shift, linestyle, alpha in lines:
        if points:
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
