"""One self-contained HTML page about a fitted model, for readers who must decide whether to trust it.

`write_report` writes the page with the model's scores, rules, decision map, diagnostics and predictions. `evaluate`
computes scores alone, for any predicted probabilities.
"""

from softpolytope.report._page import write_report
from softpolytope.report._scores import LEVEL, Calibration, Evaluation, Score, evaluate

__all__ = [
    "LEVEL",
    "Calibration",
    "Evaluation",
    "Score",
    "evaluate",
    "write_report",
]
