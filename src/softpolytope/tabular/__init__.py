"""Tables with names, categories and missing values: readers, an encoder, and a classifier of raw rows."""

from softpolytope.tabular.model import TableClassifier
from softpolytope.tabular.readers import open_table
from softpolytope.tabular.table import TableError

__all__ = ["TableClassifier", "TableError", "open_table"]
