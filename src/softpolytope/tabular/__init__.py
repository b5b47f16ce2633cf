"""Tables with names, categories and missing values: readers, an encoder, and a classifier of raw rows."""

from softpolytope.exceptions import TableError
from softpolytope.tabular._classifier import Scores, TableClassifier, load_model
from softpolytope.tabular._encoder import CategoryColumn, TableEncoder
from softpolytope.tabular._explain import NearestChange, explained, named_polytopes, nearest_change
from softpolytope.tabular._export import sql_query, table_python_source, table_sql_probability
from softpolytope.tabular._plan import (
    MAX_CATEGORIES,
    ColumnSelection,
    Schema,
    infer_schema,
    read_labeled,
    read_rows,
    split_names,
)
from softpolytope.tabular._readers import default_target, open_table
from softpolytope.tabular._table import Chunk, Table, listed, rows_at
from softpolytope.tabular._target import Label, Target, fit_to_labels
from softpolytope.tabular._threshold import Threshold, decided
from softpolytope.tabular._trusted import skops_trusted_types

__all__ = [
    "MAX_CATEGORIES",
    "CategoryColumn",
    "Chunk",
    "ColumnSelection",
    "Label",
    "NearestChange",
    "Schema",
    "Scores",
    "Table",
    "TableClassifier",
    "TableEncoder",
    "TableError",
    "Target",
    "Threshold",
    "decided",
    "default_target",
    "explained",
    "fit_to_labels",
    "infer_schema",
    "listed",
    "load_model",
    "named_polytopes",
    "nearest_change",
    "open_table",
    "read_labeled",
    "read_rows",
    "rows_at",
    "skops_trusted_types",
    "split_names",
    "sql_query",
    "table_python_source",
    "table_sql_probability",
]
