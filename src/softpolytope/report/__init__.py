"""One self-contained HTML page about a fitted model, for a person who must decide whether to trust it; its scores."""

from softpolytope.report.evaluation import Evaluation, evaluate
from softpolytope.report.page import write_report

__all__ = ["Evaluation", "evaluate", "write_report"]
