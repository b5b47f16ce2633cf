"""The fifteen figures of the paper, drawn from models fitted here.

Figures are drawn from model files in the output folder, so an interrupted run resumes, and a picture can be drawn again
without fitting. `docs/results/figures.md` compares the pictures with the paper's text.
"""

from softpolytope.paper.figures._models import FigureProtocol
from softpolytope.paper.figures._run import reproduce_figures

__all__ = ["FigureProtocol", "reproduce_figures"]
