"""Counts of the numbers that agree with the paper's, and a list of those that do not."""

from collections.abc import Sequence
from typing import get_args

from softpolytope.paper.tables._plan import BY_KEY, LARGE, SMALL
from softpolytope.paper.tables._printed import Quantity, printed
from softpolytope.paper.tables._reasons import Difference, explain, fold
from softpolytope.paper.tables._summary import EXPERTS_TOLERANCE, Summary

QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
ABOUT_REASONS = "The reasons, and the numbers in them, refer to the run in docs/results/reproduction.jsonl.\n\n"


def overview(summary: Summary) -> str:
    """Return a list with the counts."""
    lines = [
        fold(line)
        for title, cells in _groups().items()
        for quantity in QUANTITIES
        if (line := _count(summary, title, cells, quantity))
    ]
    return "\n".join(lines)


def differences(summary: Summary) -> str:
    """Return the section with the numbers that do not agree, and the reasons."""
    title = "## What does not agree, and why\n\n"
    found = []
    for quantity in QUANTITIES:
        for cells in _groups().values():
            for name, key in cells:
                comparison = summary.comparison(name, key, quantity)
                if comparison and not (comparison.agrees if quantity == "error" else comparison.is_near):
                    found.append(Difference(name, key, quantity, comparison))
    if not found:
        return f"{title}Every number computed agrees.\n"
    return title + ABOUT_REASONS + "\n".join(explain(found)) + "\n"


def _groups() -> dict[str, list[tuple[str, str]]]:
    """Return sets and methods in four groups."""
    methods = {
        "Softplus regressions": [key for key, method in BY_KEY.items() if method.kind == "softplus"],
        "Baselines": [key for key, method in BY_KEY.items() if method.kind == "baseline"],
    }
    return {
        f"{family}, {where}": [(name, key) for name in sets for key in keys]
        for where, sets in (("six sets", SMALL), ("large sets", LARGE))
        for family, keys in methods.items()
    }


def _count(summary: Summary, title: str, cells: Sequence[tuple[str, str]], quantity: Quantity) -> str:
    """Return a line with the number of errors, or numbers of experts, that agree; "" if none has been computed."""
    known = [cell for cell in cells if printed(*cell, quantity) is not None]
    done = [comparison for cell in known if (comparison := summary.comparison(*cell, quantity))]
    if not done:
        return ""
    missing = f" ({len(known) - len(done)} more are printed, but not computed)" if len(done) < len(known) else ""
    if quantity == "n_experts":
        n_near = sum(comparison.is_near for comparison in done)
        return f"- {title}: {n_near} of {len(done)} numbers of experts are within {EXPERTS_TOLERANCE:.0%}{missing}."
    n_agreeing = sum(comparison.agrees for comparison in done)
    n_deviation = sum(comparison.is_within_deviation for comparison in done)
    n_errors = sum(comparison.is_within_errors for comparison in done)
    return (
        f"- {title}: {n_agreeing} of {len(done)} errors agree{missing}; {n_deviation} are within one standard "
        f"deviation of the paper, {n_errors} within two standard errors."
    )
