"""The paper's tables, each number found beside the one printed."""

from collections.abc import Callable, Sequence

from reproduction import paper
from reproduction.plan import BY_KEY, LARGE, SMALL, STACK, SUM_STACK
from reproduction.summary import Comparison, Moments, Summary

BASE = ("lr", "svm", "rvm", "amm", "cpm", "softplus", "sum", "stack5", "ss5")


def tables(summary: Summary) -> list[str]:
    """Tables 1, 2 and 4 to 10 of the paper."""
    return [
        _errors(summary, "Table 1: errors, %", SMALL, BASE),
        _experts(summary, "Table 2: experts", SMALL, BASE),
        _errors(summary, "Table 4: errors of stack-softplus regression by depth, %", SMALL, tuple(STACK.values())),
        _errors(
            summary, "Table 5: errors of sum-stack-softplus regression by depth, %", SMALL, tuple(SUM_STACK.values())
        ),
        _experts(
            summary, "Table 6: experts of sum-stack-softplus regression by depth", SMALL, tuple(SUM_STACK.values())
        ),
        _errors(summary, "Table 7: errors on the large sets, %", LARGE, BASE),
        _experts(summary, "Table 8: experts on the large sets", LARGE, BASE),
        _errors(
            summary,
            "Table 9: errors of stack-softplus regression by depth on the large sets, %",
            LARGE,
            tuple(STACK.values()),
        ),
        _errors(
            summary,
            "Table 10: errors of sum-stack-softplus regression by depth on the large sets, %",
            LARGE,
            tuple(SUM_STACK.values()),
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
    spoken = _plain_error if quantity == "error" else _plain_count
    return [set_name.replace("_", " "), *cells, spoken(own) if own else "not run"]


def _compared(comparison: Comparison) -> str:
    told = f"{_plain_error(comparison.found)} ({comparison.paper:.2f}{_distance(comparison)}){_trials(comparison)}"
    return told if comparison.agrees else f"**{told}**"


def _plain_error(found: Moments) -> str:
    return f"{found.mean:.2f}" + ("" if found.deviation is None else f" ± {found.deviation:.2f}")


def _counted(comparison: Comparison) -> str:
    beside = f"({comparison.paper:g}{_distance(comparison)}, {comparison.share:+.0%})"
    told = f"{_plain_count(comparison.found)} {beside}{_trials(comparison)}"
    return told if comparison.is_near else f"**{told}**"


def _plain_count(found: Moments) -> str:
    mean = f"{found.mean:.1f}" if found.mean % 1.0 else f"{found.mean:.0f}"
    return mean + (f" ± {found.deviation:.1f}" if found.deviation else "")


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
    return f"## {title}\n\n" + grid(["set", *titles, BY_KEY["default"].title], rows)


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
