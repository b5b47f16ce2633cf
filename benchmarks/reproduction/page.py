"""docs/reproduction.md: each number the paper prints beside the one found, and where they differ."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np

from reproduction.agreement import differences, overview
from reproduction.archive import write_archive
from reproduction.cells import Kept, Result
from reproduction.pictures import draw_by_depth
from reproduction.plan import BY_KEY, LARGE, SMALL
from reproduction.softplus import SoftplusProtocol
from reproduction.summary import Summary
from reproduction.tables import grid, tables
from softpolytope.cli._output import text_output

REMARKS = Path(__file__).with_name("remarks.md")

INTRODUCTION = """# The paper's tables, computed anew

Written by `softpolytope tables --data-home DIR --page docs/reproduction.md`; do not edit. All numbers are
in [reproduction.csv](reproduction.csv), one line a fit, and with configuration, versions, seeds and times in
[reproduction.jsonl](reproduction.jsonl). With `--check docs/reproduction.jsonl` the command compares a run with these.

Every softplus model is one chain of {n_sweeps:,} sweeps for each labelling, with the paper's scan, prior and start; sum
and sum-stack begin with 20 experts, and those without counts are deleted after sweeps 525, 575, ...; the draw of
highest training likelihood in the second half predicts. LR, SVM, RVM, AMM and CPM are tuned by cross-validation over
the paper's grids, but for what is said below. *library* is `SumStackSoftplusClassifier()` with its defaults, fitted to
the same rows, whatever the table is about; the defaults were chosen without these test rows
([defaults.md](defaults.md)), and [accuracy.md](accuracy.md) has the same with other seeds.

In each cell: found (mean ± standard deviation over {n_partitions} partitions of a small set, or over the trials on the
one split of a large set), then the paper's mean and the difference in the paper's standard deviations, where it has
one. **Bold** is a difference beyond one of them and beyond two standard errors of the difference; where the paper has
one trial and no deviation, beyond its two decimals. Standard errors are those of independent trials, and of a single
trial the paper's deviation stands for ours; on the small sets both have the same partitions, so they are generous. Of
numbers of experts the difference in percent is given too, and bold is more than 25 %; they are of both labelings
together, support vectors of an SVM, relevance vectors of an RVM, hyperplanes of an AMM and of both sides of a CPM. The
library's are those of its best restart; its predictions average all restarts.
"""

PREDICTION = """
Nanoseconds of one core a row, and the error they buy. Medians over trials of the fastest of the calls with all test
rows that took 0.2 seconds together (one call, if that takes longer), measured after each fit while others ran. A call
has a price of its own, which is what counts where test rows are few (77 of breast cancer, 300 of german). LR, SVM, RVM,
AMM, CPM and the library check their rows first, as scikit-learn's estimators do; the chains' draws are called without.
"""


TIMES = """
Medians over trials. Fits took, of one core and together: {told}. What a killed fit had done
since its last checkpoint counts twice, and the first AMM and CPM after an installation compile their code.
"""

BUILDS = """Fits by build of the package (a hash of its files; the file of a fit has the versions of all packages):
{told}.
"""


def write_page(found: Sequence[Kept], protocol: SoftplusProtocol, path: Path) -> None:
    """The page, its pictures and the numbers, side by side."""
    path.parent.mkdir(parents=True, exist_ok=True)
    results = [item.result for item in found]
    _write_numbers(results, path.with_suffix(".csv"))
    write_archive(found, path.with_suffix(".jsonl"))
    summary = Summary(results)
    is_papers = protocol == SoftplusProtocol()
    n_partitions = max((len(summary.results(name, key)) for name in SMALL for key in BY_KEY), default=0)
    parts = [
        INTRODUCTION.format(n_sweeps=protocol.n_sweeps, n_partitions=n_partitions),
        overview(summary),
        REMARKS.read_text(encoding="utf-8") if is_papers else "",
        differences(summary) if is_papers else "",
        *tables(summary),
        _prediction(summary),
        _times(summary),
        _builds(found),
    ]
    pictures = draw_by_depth(summary, path)
    parts.extend(f"![{picture.stem}]({picture.name})\n" for picture in pictures)
    with text_output(path) as file:
        file.write("\n".join(part for part in parts if part))


def _write_numbers(results: Sequence[Result], path: Path) -> None:
    names = [field.name for field in fields(Result)]
    with text_output(path) as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**asdict(result), "chosen": json.dumps(result.chosen)} for result in results)


def _prediction(summary: Summary) -> str:
    """What a prediction costs, measured, and what it is worth."""

    def told(set_name: str, key: str) -> str:
        results = summary.results(set_name, key)
        cost = np.median([result.predict_nanoseconds for result in results])
        return f"{cost:,.0f} ns, {np.mean([result.error for result in results]):.1f} %"

    return _by_set(summary, "Prediction: its cost and its error", told) + PREDICTION


def _times(summary: Summary) -> str:
    def told(set_name: str, key: str) -> str:
        return f"{np.median([result.fit_seconds for result in summary.results(set_name, key)]):,.1f}"

    hours = []
    for what, sets in (("six sets", SMALL), ("large sets", LARGE)):
        seconds = [result.fit_seconds for name in sets for key in BY_KEY for result in summary.results(name, key)]
        hours.append(f"{len(seconds):,} of the {what} {sum(seconds) / 3600.0:.1f} hours")
    table = _by_set(summary, "Fit: seconds of processor time, tuning included", told)
    return table + TIMES.format(told=", ".join(hours))


def _by_set(summary: Summary, title: str, told: Callable[[str, str], str]) -> str:
    """A table of what there is of every set and method."""
    keys = [key for key in BY_KEY if any(summary.results(name, key) for name in (*SMALL, *LARGE))]
    rows = [
        [name.replace("_", " "), *(told(name, key) if summary.results(name, key) else "" for key in keys)]
        for name in (*SMALL, *LARGE)
    ]
    return f"## {title}\n\n" + grid(["set", *(BY_KEY[key].title for key in keys)], rows)


def _builds(found: Sequence[Kept]) -> str:
    """Who made the numbers."""
    counts = Counter(item.build for item in found)
    told = ", ".join(f"{count:,} by {build}" for build, count in counts.most_common())
    return BUILDS.format(told=told)
