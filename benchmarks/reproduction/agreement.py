"""How many numbers agree with the paper's, and which do not."""

from collections.abc import Sequence

from reproduction import paper
from reproduction.plan import BY_KEY, LARGE, SMALL
from reproduction.reasons import Difference, explained
from reproduction.summary import EXPERTS_TOLERANCE, Summary

ABOUT_REASONS = "Reasons, and the numbers in them, are of the run in the repository's docs/reproduction.jsonl.\n\n"


def _groups() -> dict[str, list[tuple[str, str]]]:
    """Sets and methods, in four parts."""
    family = [key for key, method in BY_KEY.items() if method.kind == "softplus"]
    baselines = [key for key, method in BY_KEY.items() if method.kind == "baseline"]
    return {
        "softplus regressions, six sets": [(name, key) for name in SMALL for key in family],
        "baselines, six sets": [(name, key) for name in SMALL for key in baselines],
        "softplus regressions, large sets": [(name, key) for name in LARGE for key in family],
        "baselines, large sets": [(name, key) for name in LARGE for key in baselines],
    }


def overview(summary: Summary) -> str:
    """How many cells agree."""
    lines = ["## What agrees", ""]
    for what, cells in _groups().items():
        for quantity in ("error", "n_experts"):
            lines.extend(_count_of(summary, what, cells, quantity))
    return "\n".join(lines) + "\n"


def _count_of(summary: Summary, what: str, cells: Sequence[tuple[str, str]], quantity: str) -> list[str]:
    """How many errors, or numbers of experts, agree; no line where none is known."""
    printed = [cell for cell in cells if paper.printed(*cell, quantity) is not None]
    done = [comparison for cell in printed if (comparison := summary.comparison(*cell, quantity))]
    if not done:
        return []
    n_all = f"{len(done)}" if len(done) == len(printed) else f"{len(done)} computed so far, of {len(printed)} printed,"
    if quantity == "n_experts":
        n_near = sum(comparison.is_near for comparison in done)
        return [f"- {what}: of {n_all} numbers of experts {n_near} are within {EXPERTS_TOLERANCE:.0%}."]
    n_agreeing, n_deviation, n_errors = (
        sum(getattr(comparison, name) for comparison in done)
        for name in ("agrees", "is_within_deviation", "is_within_errors")
    )
    line = f"- {what}: of {n_all} errors {n_agreeing} agree; "
    return [
        f"{line}{n_deviation} are within one standard deviation of the paper, {n_errors} within two standard errors."
    ]


def differences(summary: Summary) -> str:
    """What does not agree."""
    title = "## What does not agree, and why\n\n"
    found = []
    for quantity in ("error", "n_experts"):
        for cells in _groups().values():
            for name, key in cells:
                comparison = summary.comparison(name, key, quantity)
                if comparison is None:
                    continue
                if not (comparison.agrees if quantity == "error" else comparison.is_near):
                    found.append(Difference(name, key, quantity, comparison))
    if not found:
        return f"{title}Nothing of what was computed.\n"
    return title + ABOUT_REASONS + "\n".join(explained(found)) + "\n"
