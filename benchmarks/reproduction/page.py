"""docs/reproduction.md: each number the paper prints beside the one found, and where they differ."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np

from reproduction import paper
from reproduction.cells import Result
from reproduction.pictures import draw_by_depth
from reproduction.plan import BY_KEY, LARGE, SMALL
from reproduction.softplus import SoftplusProtocol
from reproduction.summary import EXPERTS_TOLERANCE, Comparison, Summary

BASE = ("lr", "svm", "rvm", "amm", "cpm", "softplus", "sum", "stack5", "ss5")
STACK = ("softplus", "stack2", "stack3", "stack5", "stack10")
SUM_STACK = ("sum", "ss2", "ss3", "ss5", "ss10")
REMARKS = Path(__file__).with_name("remarks.md")

INTRODUCTION = """# The paper's tables, computed anew

Written by `softpolytope tables --data-home DIR --page docs/reproduction.md`; do not edit. All numbers are
in [reproduction.csv](reproduction.csv), one line a fit.

Every softplus model is one chain of {n_sweeps:,} sweeps for each labelling, with the paper's scan, prior and start, at
most 20 experts, experts without counts deleted after sweeps 525, 575, ...; the draw of highest training likelihood in
the second half predicts. LR, SVM, RVM, AMM and CPM are tuned by cross-validation over the paper's grids, but for what
is said below. *library* is `SumStackSoftplusClassifier()` with its defaults, fitted to the same rows.

In each cell: found (mean ± standard deviation over {n_partitions} partitions of a small set, or over the trials on the
one split of a large set), then the paper's mean and the difference in the paper's standard deviations, where it has
one. **Bold** is a difference beyond one of them and beyond two standard errors of the difference; where the paper has
one trial and no deviation, beyond its two decimals. Of numbers of experts the difference in percent is given too, and
bold is more than 25 %; they are of both labelings together, support vectors of an SVM, relevance vectors of an RVM,
hyperplanes of an AMM and of both sides of a CPM. The library's are those of its best restart; its predictions average
all restarts.
"""

PREDICTION = """
Medians over trials of the fastest of several calls with all test rows, while another fit had the other core. A call has
a price of its own, which is what counts where test rows are few (77 of breast cancer, 300 of german). LR, SVM, RVM,
AMM, CPM and the library check their rows first, as scikit-learn's estimators do; the chains' draws are called without.
"""


def write_page(results: Sequence[Result], protocol: SoftplusProtocol, path: Path) -> None:
    """The page, its pictures and the numbers, side by side."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_numbers(results, path.with_suffix(".csv"))
    summary = Summary(results)
    n_partitions = max((len(summary.results(name, key)) for name in SMALL for key in BY_KEY), default=0)
    parts = [
        INTRODUCTION.format(n_sweeps=protocol.n_sweeps, n_partitions=n_partitions),
        _overview(summary),
        REMARKS.read_text(encoding="utf-8") if protocol == SoftplusProtocol() else "",
        *_tables(summary),
        _prediction(summary),
        _times(summary),
    ]
    pictures = draw_by_depth(summary, path)
    parts.extend(f"![{picture.stem}]({picture.name})\n" for picture in pictures)
    path.write_text("\n".join(part for part in parts if part), encoding="utf-8")


def _write_numbers(results: Sequence[Result], path: Path) -> None:
    names = [field.name for field in fields(Result)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(result) for result in results)


def _tables(summary: Summary) -> list[str]:
    """Tables 1, 2 and 4 to 10 of the paper."""
    return [
        _errors(summary, "Table 1: errors, %", SMALL, BASE),
        _experts(summary, "Table 2: experts", SMALL, BASE),
        _errors(summary, "Table 4: errors of stack-softplus regression by depth, %", SMALL, STACK),
        _errors(summary, "Table 5: errors of sum-stack-softplus regression by depth, %", SMALL, SUM_STACK),
        _experts(summary, "Table 6: experts of sum-stack-softplus regression by depth", SMALL, SUM_STACK),
        _errors(summary, "Table 7: errors on the large sets, %", LARGE, BASE),
        _experts(summary, "Table 8: experts on the large sets", LARGE, BASE),
        _errors(summary, "Table 9: errors of stack-softplus regression by depth on the large sets, %", LARGE, STACK),
        _errors(
            summary, "Table 10: errors of sum-stack-softplus regression by depth on the large sets, %", LARGE, SUM_STACK
        ),
    ]


def _errors(summary: Summary, title: str, sets: Sequence[str], methods: Sequence[str]) -> str:
    rows = [_row(summary, name, methods, "error", _compared) for name in sets]
    if sets == SMALL:
        rows.extend(_normalised(summary, methods, "error"))
    return _markdown(title, [BY_KEY[key].title for key in methods], rows)


def _experts(summary: Summary, title: str, sets: Sequence[str], methods: Sequence[str]) -> str:
    rows = [_row(summary, name, methods, "n_experts", _counted) for name in sets]
    if sets == SMALL:
        rows.extend(_normalised(summary, methods, "n_experts"))
    # As in the paper, an expert of T layers counts once and has T hyperplanes.
    titles = [BY_KEY[key].title + (f" (x {depth})" if (depth := BY_KEY[key].n_layers) > 1 else "") for key in methods]
    return _markdown(title, titles, rows)


def _row(
    summary: Summary, set_name: str, methods: Sequence[str], quantity: str, told: Callable[[Comparison], str]
) -> list[str]:
    cells = []
    for method in methods:
        comparison = summary.comparison(set_name, method, quantity)
        is_printed = paper.printed(set_name, method, quantity) is not None
        cells.append(told(comparison) if comparison else "not run" if is_printed else "")
    own = summary.moments(set_name, "default", quantity)
    return [set_name.replace("_", " "), *cells, str(own) if own else "not run"]


def _compared(comparison: Comparison) -> str:
    told = f"{comparison.found} ({comparison.paper:.2f}{_distance(comparison)}){_trials(comparison)}"
    return told if comparison.agrees else f"**{told}**"


def _counted(comparison: Comparison) -> str:
    found, share = comparison.found, comparison.share
    mean = f"{found.mean:.1f}" if found.mean % 1.0 else f"{found.mean:.0f}"
    spread = f" ± {found.deviation:.1f}" if found.deviation else ""
    told = f"{mean}{spread} ({comparison.paper:g}{_distance(comparison)}, {share:+.0%}){_trials(comparison)}"
    return told if abs(share) <= EXPERTS_TOLERANCE else f"**{told}**"


def _distance(comparison: Comparison) -> str:
    """In the paper's standard deviations, if it has any."""
    distance = comparison.in_deviations
    return "" if distance is None else f", {distance:+.1f}"


def _trials(comparison: Comparison) -> str:
    """How many, where the paper has more than one and another number."""
    n_trials = comparison.found.n_trials
    if comparison.paper_deviation is None or n_trials == comparison.n_paper_trials:
        return ""
    return f", {n_trials} trial" + ("s" if n_trials > 1 else "")


def _normalised(summary: Summary, methods: Sequence[str], quantity: str) -> list[list[str]]:
    """Means over the sets of a number divided by the SVM's: the paper's, and ours."""
    rows = []
    for by_paper in (True, False):
        cells = []
        for method in (*methods, "default"):
            found = summary.normalised(method, quantity, by_paper=by_paper)
            printed = paper.normalised(method, quantity) if by_paper else None
            beside = f" ({printed:.3f})" if printed is not None else ""
            cells.append(f"{found:.3f}{beside}" if found is not None else "")
        rows.append(["mean over the paper's SVM" if by_paper else "mean over our SVM", *cells])
    return rows


def _markdown(title: str, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"## {title}\n\n" + _grid(["set", *titles, BY_KEY["default"].title], rows)


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _overview(summary: Summary) -> str:
    """How many cells agree, and which do not."""
    family = [key for key, method in BY_KEY.items() if method.kind == "softplus"]
    baselines = [key for key, method in BY_KEY.items() if method.kind == "baseline"]
    lines = ["## What agrees", ""]
    for what, sets, methods in (
        ("softplus regressions, six sets", SMALL, family),
        ("baselines, six sets", SMALL, baselines),
        ("softplus regressions, large sets", LARGE, family),
        ("baselines, large sets", LARGE, baselines),
    ):
        cells = [(name, key) for name in sets for key in methods]
        lines.extend(_count_of(summary, what, cells, "error"))
        lines.extend(_count_of(summary, what, cells, "n_experts"))
    return "\n".join(lines) + "\n"


def _count_of(summary: Summary, what: str, cells: Sequence[tuple[str, str]], quantity: str) -> list[str]:
    """How many errors, or numbers of experts, agree; no line where none is known."""
    printed = [cell for cell in cells if paper.printed(*cell, quantity) is not None]
    done = [(*cell, comparison) for cell in printed if (comparison := summary.comparison(*cell, quantity))]
    is_error = quantity == "error"
    off = [
        f"{name.replace('_', ' ')} {BY_KEY[key].title} ({comparison.found.mean:.{2 if is_error else 1}f}, "
        f"paper {comparison.paper:.{2 if is_error else 1}f})"
        for name, key, comparison in done
        if not (comparison.agrees if is_error else abs(comparison.share) <= EXPERTS_TOLERANCE)
    ]
    if not done:
        return []
    kind = "errors agree" if is_error else f"numbers of experts are within {EXPERTS_TOLERANCE:.0%}"
    return [
        f"- {what}: {len(done) - len(off)} of {len(done)} {kind} ({len(printed)} are printed)"
        + (f"; not {', '.join(off)}" if off else "")
        + "."
    ]


def _prediction(summary: Summary) -> str:
    """What a prediction costs, measured."""
    return (
        _quantities(summary, "Prediction: nanoseconds a row, measured on one core", "predict_nanoseconds", "{:,.0f}")
        + PREDICTION
    )


def _times(summary: Summary) -> str:
    table = _quantities(summary, "Fit: seconds of processor time, tuning included", "fit_seconds", "{:,.1f}")
    of_small = [result for name in SMALL for key in BY_KEY for result in summary.results(name, key)]
    hours = sum(result.fit_seconds for result in of_small) / 3600.0
    return table + f"\nThe {len(of_small):,} fits of the six sets took {hours:.1f} hours of one core together.\n"


def _quantities(summary: Summary, title: str, quantity: str, form: str) -> str:
    keys = [key for key in BY_KEY if any(summary.results(name, key) for name in (*SMALL, *LARGE))]
    rows = []
    for name in (*SMALL, *LARGE):
        found = [[getattr(result, quantity) for result in summary.results(name, key)] for key in keys]
        rows.append([name.replace("_", " "), *(form.format(np.median(values)) if values else "" for values in found)])
    return f"## {title}\n\n" + _grid(["set", *(BY_KEY[key].title for key in keys)], rows)
