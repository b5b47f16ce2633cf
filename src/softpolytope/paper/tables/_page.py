"""The page docs/results/reproduction.md: tables, agreement with the paper, differences, costs."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from string import Template

import numpy as np

from softpolytope._files import atomic_write_text
from softpolytope.paper._protocol import TableProtocol
from softpolytope.paper.tables._agreement import differences, overview
from softpolytope.paper.tables._markdown import all_tables, grid
from softpolytope.paper.tables._pictures import draw_by_depth
from softpolytope.paper.tables._plan import BY_KEY, LARGE, SETS, SMALL
from softpolytope.paper.tables._results import Result, StoredFit, write_archive
from softpolytope.paper.tables._summary import Summary

TEMPLATE = Template(Path(__file__).with_name("page.md").read_text(encoding="utf-8"))
REMARKS = Path(__file__).with_name("remarks.md")


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
        tables="\n".join(all_tables(summary)),
        predictions=_by_set(summary, _prediction),
        times=_by_set(summary, _median_seconds),
        totals=_totals(summary),
        builds=_builds(found),
        pictures="\n\n".join(f"![{item.stem}]({item.name})" for item in draw_by_depth(summary, path)),
    )
    with atomic_write_text(path) as file:
        file.write(re.sub("\n{3,}", "\n\n", text))


def _write_numbers(results: Sequence[Result], path: Path) -> None:
    names = [field.name for field in fields(Result)]
    with atomic_write_text(path) as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**asdict(result), "chosen": json.dumps(result.chosen)} for result in results)


def _by_set(summary: Summary, cell: Callable[[Sequence[Result]], str]) -> str:
    """Return a table with a cell for the results of every set and method."""
    keys = [key for key in BY_KEY if any(summary.results(name, key) for name in SETS)]
    rows = [
        [name.replace("_", " "), *(cell(found) if (found := summary.results(name, key)) else "" for key in keys)]
        for name in SETS
    ]
    return grid(["set", *(BY_KEY[key].title for key in keys)], rows)


def _prediction(results: Sequence[Result]) -> str:
    cost = np.median([result.predict_nanoseconds for result in results])
    return f"{cost:,.0f} ns, {np.mean([result.error for result in results]):.1f} %"


def _median_seconds(results: Sequence[Result]) -> str:
    return f"{np.median([result.fit_seconds for result in results]):,.1f}"


def _totals(summary: Summary) -> str:
    totals = []
    for title, sets in (("the six sets", SMALL), ("the large sets", LARGE)):
        seconds = [result.fit_seconds for name in sets for key in BY_KEY for result in summary.results(name, key)]
        totals.append(f"{sum(seconds) / 3600.0:.1f} hours for {len(seconds):,} fits of {title}")
    return ", ".join(totals)


def _builds(found: Sequence[StoredFit]) -> str:
    counts = Counter(item.build for item in found)
    return ", ".join(f"{count:,} by {build}" for build, count in counts.most_common())
