"""One self-contained HTML page about a fitted model, for a person who must decide whether to trust it."""

from softpolytope.report.page import write_report

__all__ = ["write_report"]
