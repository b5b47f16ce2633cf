"""docs/reproduction.md: each number the paper prints beside the one found, and where they differ."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from reproduction import paper
from reproduction.cells import Result
from reproduction.pictures import draw_by_depth
from reproduction.plan import BY_KEY, LARGE, N_PARTITIONS, SMALL
from reproduction.softplus import SoftplusProtocol
from reproduction.summary import EXPERTS_TOLERANCE, Comparison, Moments, Summary

BASE = ("lr", "svm", "rvm", "amm", "cpm", "softplus", "sum", "stack5", "ss5")
STACK = ("softplus", "stack2", "stack3", "stack5", "stack10")
SUM_STACK = ("sum", "ss2", "ss3", "ss5", "ss10")
REMARKS = Path(__file__).with_name("remarks.md")

INTRODUCTION = """# The paper's tables, computed anew

Written by `softpolytope tables --data-home DIR --out tables --page docs/reproduction.md`; do not edit. All numbers are
in [reproduction.csv](reproduction.csv), one line a fit.

Every softplus model is one chain of {n_sweeps:,} sweeps for each labelling, with the paper's scan, prior and start, at
most 20 experts, experts without counts deleted after sweeps 525, 575, ...; the draw of highest training likelihood in
the second half predicts. LR, SVM, RVM, AMM and CPM are tuned by cross-validation as the paper says. *library* is
`SumStackSoftplusClassifier()` with its defaults, fitted to the same rows.

In each cell: found (mean ± standard deviation over {n_partitions} partitions), then the paper's mean and the difference
in the paper's standard deviations. **Bold** is a difference beyond one of them and beyond two standard errors; for
numbers of experts, beyond 25 %.
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
        rows.append(_normalised(summary, methods, "error"))
    return _markdown(title, methods, rows)


def _experts(summary: Summary, title: str, sets: Sequence[str], methods: Sequence[str]) -> str:
    rows = [_row(summary, name, methods, "n_experts", _counted) for name in sets]
    if sets == SMALL:
        rows.append(_normalised(summary, methods, "n_experts"))
    return _markdown(title, methods, rows)


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
    distance = comparison.in_deviations
    told = f"{comparison.found} ({comparison.paper:.2f}" + ("" if distance is None else f", {distance:+.1f}") + ")"
    n_trials = comparison.found.n_trials
    if n_trials != N_PARTITIONS and comparison.paper_deviation is not None:
        told += f", {n_trials} trial" + ("s" if n_trials > 1 else "")
    return told if comparison.agrees else f"**{told}**"


def _counted(comparison: Comparison) -> str:
    share = comparison.found.mean / comparison.paper - 1.0
    mean = f"{comparison.found.mean:.1f}" if comparison.found.mean % 1.0 else f"{comparison.found.mean:.0f}"
    told = f"{mean} ({comparison.paper:g}, {share:+.0%})"
    return told if abs(share) <= EXPERTS_TOLERANCE else f"**{told}**"


def _normalised(summary: Summary, methods: Sequence[str], quantity: str) -> list[str]:
    """Mean over the sets of a number divided by the paper's SVM."""
    cells = []
    for method in (*methods, "default"):
        found, printed = summary.normalised(method, quantity), paper.normalised(method, quantity)
        beside = f" ({printed:.3f})" if printed is not None else ""
        cells.append(f"{found:.3f}{beside}" if found is not None else "")
    return ["mean over the paper's SVM", *cells]


def _markdown(title: str, methods: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = ["set", *(BY_KEY[key].title for key in methods), BY_KEY["default"].title]
    return f"## {title}\n\n" + _grid(head, rows)


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
        pairs = [(name, key, summary.comparison(name, key, "error")) for name in sets for key in methods]
        done = [(name, key, comparison) for name, key, comparison in pairs if comparison]
        off = [
            f"{name.replace('_', ' ')} {BY_KEY[key].title} ({comparison.found.mean:.2f}, paper {comparison.paper:.2f})"
            for name, key, comparison in done
            if not comparison.agrees
        ]
        if done:
            lines.append(
                f"- {what}: {len(done) - len(off)} of {len(done)} errors agree ({len(pairs)} are printed)"
                + (f"; not {', '.join(off)}" if off else "")
                + "."
            )
    return "\n".join(lines) + "\n"


def _prediction(summary: Summary) -> str:
    """What a prediction costs, measured."""
    return _quantities(summary, "Prediction: nanoseconds a row, measured on one core", "predict_nanoseconds", "{:,.0f}")


def _times(summary: Summary) -> str:
    table = _quantities(summary, "Fit: seconds of processor time, tuning included", "fit_seconds", "{:,.1f}")
    of_small = [result for name in SMALL for key in BY_KEY for result in summary.results(name, key)]
    hours = sum(result.fit_seconds for result in of_small) / 3600.0
    return table + f"\nThe {len(of_small):,} fits of the six sets took {hours:.1f} hours of one core together.\n"


def _quantities(summary: Summary, title: str, quantity: str, form: str) -> str:
    keys = [key for key in BY_KEY if any(summary.results(name, key) for name in (*SMALL, *LARGE))]
    rows = []
    for name in (*SMALL, *LARGE):
        found: list[Moments | None] = [summary.moments(name, key, quantity) for key in keys]
        rows.append([name.replace("_", " "), *(form.format(item.mean) if item else "" for item in found)])
    return f"## {title}\n\n" + _grid(["set", *(BY_KEY[key].title for key in keys)], rows)
