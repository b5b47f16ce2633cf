"""The tables of the paper: every printed number beside the one found here.

A run fits every method on every partition, stores each fit as a file, and writes a page (docs/results/reproduction.md)
with the tables, the differences and their reasons. It continues from stored fits or from an archive of them, and can be
compared with one.
"""

from softpolytope.paper.tables._results import ArchiveComparison
from softpolytope.paper.tables._run import TableOutcome, TableRequest, reproduce_tables

__all__ = ["ArchiveComparison", "TableOutcome", "TableRequest", "reproduce_tables"]
