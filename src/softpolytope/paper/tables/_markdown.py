"""The paper's tables in Markdown, each number found beside the one printed."""

from collections.abc import Callable, Sequence

from softpolytope.paper.tables._plan import BY_KEY, LARGE, SMALL, STACK, SUM_STACK
from softpolytope.paper.tables._printed import Quantity, printed, printed_normalized
from softpolytope.paper.tables._summary import Comparison, Moments, Summary

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


def all_tables(summary: Summary) -> list[str]:
    """Return tables 1, 2 and 4 to 10 of the paper."""
    return [_table(summary, *table) for table in _TABLES]


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _table(
    summary: Summary, number: int, title: str, quantity: Quantity, sets: Sequence[str], methods: Sequence[str]
) -> str:
    rows = [_row(summary, name, methods, quantity) for name in sets]
    if sets == SMALL:
        rows.extend(_normalized_rows(summary, methods, quantity))
    titles = [BY_KEY[key].title for key in methods]
    if quantity == "n_experts":
        # As in the paper, an expert of T layers counts once and has T hyperplanes.
        depths = [BY_KEY[key].n_layers for key in methods]
        titles = [name + (f" (x {depth})" if depth > 1 else "") for name, depth in zip(titles, depths, strict=True)]
    return f"## Table {number}: {title}\n\n" + grid(["set", *titles, BY_KEY["default"].title], rows)


def _row(summary: Summary, set_name: str, methods: Sequence[str], quantity: Quantity) -> list[str]:
    compared: Callable[[Comparison], str] = _compared_error if quantity == "error" else _compared_count
    cells = []
    for method in methods:
        comparison = summary.comparison(set_name, method, quantity)
        is_printed = printed(set_name, method, quantity) is not None
        cells.append(compared(comparison) if comparison else "not run" if is_printed else "")
    own = summary.moments(set_name, "default", quantity)
    formatted = _error if quantity == "error" else _count
    return [set_name.replace("_", " "), *cells, formatted(own) if own else "not run"]


def _compared_error(comparison: Comparison) -> str:
    text = f"{_error(comparison.found)} ({comparison.paper:.2f}{_distance(comparison)}){_trials(comparison)}"
    return text if comparison.agrees else f"**{text}**"


def _compared_count(comparison: Comparison) -> str:
    beside = f"({comparison.paper:g}{_distance(comparison)}, {comparison.share:+.0%})"
    text = f"{_count(comparison.found)} {beside}{_trials(comparison)}"
    return text if comparison.is_near else f"**{text}**"


def _error(found: Moments) -> str:
    return f"{found.mean:.2f}" + ("" if found.deviation is None else f" ± {found.deviation:.2f}")


def _count(found: Moments) -> str:
    mean = f"{found.mean:.1f}" if found.mean % 1.0 else f"{found.mean:.0f}"
    return mean + (f" ± {found.deviation:.1f}" if found.deviation else "")


def _distance(comparison: Comparison) -> str:
    """Return the difference in the paper's standard deviations, "" if it has none."""
    distance = comparison.in_deviations
    return "" if distance is None else f", {distance:+.1f}"


def _trials(comparison: Comparison) -> str:
    """Return the number of trials where the paper has several and another number."""
    n_trials = comparison.found.n_trials
    if comparison.paper_deviation is None or n_trials == comparison.n_paper_trials:
        return ""
    return f", {n_trials} trial" + ("s" if n_trials > 1 else "")


def _normalized_rows(summary: Summary, methods: Sequence[str], quantity: Quantity) -> list[list[str]]:
    """Return rows of means over the sets of a number divided by the SVM's: the paper's, and ours."""
    rows = []
    for by_paper in (True, False):
        cells = []
        for method in (*methods, "default"):
            found = summary.normalized(method, quantity, by_paper=by_paper)
            beside = printed_normalized(method, quantity) if by_paper else None
            text = f" ({beside:.3f})" if beside is not None else ""
            cells.append(f"{found:.3f}{text}" if found is not None else "")
        rows.append(["mean over the paper's SVM" if by_paper else "mean over our SVM", *cells])
    return rows
