"""Reproduction of the paper: its protocol, its figures and its tables with their baselines.

The commands `softpolytope figures` and `softpolytope tables` call the names exported here. No classifier depends on
this room. Figures need the extra `plots`, tables the extra `paper`.
"""

from softpolytope.exceptions import ReproductionError
from softpolytope.paper._protocol import TableProtocol, paper_settings
from softpolytope.paper.figures import FigureProtocol, reproduce_figures
from softpolytope.paper.tables import ArchiveComparison, TableOutcome, TableRequest, reproduce_tables

__all__ = [
    "ArchiveComparison",
    "FigureProtocol",
    "ReproductionError",
    "TableOutcome",
    "TableProtocol",
    "TableRequest",
    "paper_settings",
    "reproduce_figures",
    "reproduce_tables",
]
