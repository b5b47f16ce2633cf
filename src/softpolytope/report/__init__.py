"""One self-contained HTML page about a fitted model, for a person who must decide whether to trust it; its scores."""

from softpolytope.report._evaluation import Evaluation, evaluate
from softpolytope.report._page import write_report
from softpolytope.report._scores import LEVEL, Score

__all__ = [
    "LEVEL",
    "Evaluation",
    "Score",
    "evaluate",
    "write_report",
]
