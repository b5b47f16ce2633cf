"""Counts of the numbers that agree with the paper's, and a list of those that do not, with the reasons known."""

import textwrap
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from softpolytope.paper.tables._plan import BY_KEY, LARGE, METHODS, SMALL, Quantity, paper_moments
from softpolytope.paper.tables._summary import EXPERTS_TOLERANCE, Comparison, Summary

QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
REASONS = tomllib.loads(Path(__file__).with_name("reasons.toml").read_text(encoding="utf-8"))["reason"]
ABOUT_REASONS = "The reasons, and the numbers in them, refer to the run in docs/results/reproduction.jsonl.\n\n"
LINE_LENGTH = 120


class Difference(NamedTuple):
    """A number that does not agree with the one printed."""

    set_name: str
    method: str
    quantity: Quantity
    comparison: Comparison

    def explained_by(self, reason: dict[str, str | list[str]]) -> bool:
        """Whether a reason applies to it."""
        is_cell = (self.quantity, self.method) == (reason["quantity"], reason["method"])
        return is_cell and self.set_name in reason["sets"]

    def __str__(self) -> str:
        digits = 2 if self.quantity == "error" else 1
        found, paper = self.comparison.found.mean, self.comparison.paper
        return f"{self.set_name.replace('_', ' ')} ({found:.{digits}f}, paper {paper:.{digits}f})"


def overview(summary: Summary) -> str:
    """Return a list with the counts of the numbers that agree."""
    lines = [_count(summary, title, cells, quantity) for title, cells in _groups().items() for quantity in QUANTITIES]
    return "\n".join(_fold(line) for line in lines if line)


def differences(summary: Summary) -> str:
    """Return the section with the numbers that do not agree, grouped by reason."""
    title = "## What does not agree, and why\n\n"
    left = [
        Difference(*cell, quantity, comparison)
        for quantity in QUANTITIES
        for cells in _groups().values()
        for cell in cells
        if (comparison := summary.comparison(*cell, quantity)) and not _is_close(comparison, quantity)
    ]
    if not left:
        return f"{title}Every number computed agrees.\n"
    items = []
    for reason in REASONS:
        explained = [item for item in left if item.explained_by(reason)]
        left = [item for item in left if item not in explained]
        if explained:
            items.append(_item(explained, reason["text"]))
    items.extend(_item([item], "no reason is known.") for item in left)
    return title + ABOUT_REASONS + "\n".join(items) + "\n"


def _groups() -> dict[str, list[tuple[str, str]]]:
    """Return sets and methods in four groups."""
    return {
        f"{family}, {where}": [(name, method.key) for name in sets for method in METHODS if method.kind == kind]
        for where, sets in (("six sets", SMALL), ("large sets", LARGE))
        for family, kind in (("Softplus regressions", "softplus"), ("Baselines", "baseline"))
    }


def _is_close(comparison: Comparison, quantity: Quantity) -> bool:
    return comparison.agrees if quantity == "error" else comparison.is_near


def _count(summary: Summary, title: str, cells: Sequence[tuple[str, str]], quantity: Quantity) -> str:
    """Return a line with the number of errors, or numbers of experts, that agree; "" if none has been computed."""
    known = [cell for cell in cells if paper_moments(*cell, quantity) is not None]
    done = [comparison for cell in known if (comparison := summary.comparison(*cell, quantity))]
    if not done:
        return ""
    missing = f" ({len(known) - len(done)} more are printed, but not computed)" if len(done) < len(known) else ""
    n_close = sum(_is_close(comparison, quantity) for comparison in done)
    if quantity == "n_experts":
        return f"- {title}: {n_close} of {len(done)} numbers of experts are within {EXPERTS_TOLERANCE:.0%}{missing}."
    n_deviation = sum(comparison.is_within_deviation for comparison in done)
    n_errors = sum(comparison.is_within_errors for comparison in done)
    return (
        f"- {title}: {n_close} of {len(done)} errors agree{missing}; {n_deviation} are within one standard "
        f"deviation of the paper, {n_errors} within two standard errors."
    )


def _item(found: Sequence[Difference], reason: str) -> str:
    quantity = "Errors" if found[0].quantity == "error" else "Numbers of experts"
    title = f"{quantity} of {BY_KEY[found[0].method].title}"
    return _fold(f"- **{title}**, {', '.join(map(str, found))}: {' '.join(reason.split())}")


def _fold(item: str) -> str:
    """Return an item of a list in lines of limited length."""
    return textwrap.fill(item, LINE_LENGTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
