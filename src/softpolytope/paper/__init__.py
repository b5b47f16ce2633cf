"""Reproduction of the paper: its protocol, its figures and its tables with their baselines.

The commands `softpolytope figures` and `softpolytope tables` call the names exported here. No classifier depends on
this room. Tables and figures need the extra `paper`.
"""

from softpolytope.paper._errors import ReproductionError
from softpolytope.paper._protocol import paper_settings
from softpolytope.paper.figures import FigureProtocol, reproduce_figures

__all__ = ["FigureProtocol", "ReproductionError", "paper_settings", "reproduce_figures"]
