"""Tables with names, categories and missing values.

`TableClassifier` fits and predicts files and data frames as they are. Its parts are readers in chunks, a schema that is
inferred from the cells, an encoder and a target. Explanations and exports of a model are in terms of the raw columns.
"""

from softpolytope.exceptions import ColumnError, TableError
from softpolytope.tabular._cells import join_names
from softpolytope.tabular._classifier import TableClassifier
from softpolytope.tabular._encoder import CategoryColumn, TableEncoder, UnknownCategories
from softpolytope.tabular._evaluation import OWN, ClassWeight, HeldOutScores, Scores, score_probabilities
from softpolytope.tabular._explain import NearestChange, explain_rows, named_polytopes, nearest_change
from softpolytope.tabular._export import sql_query, table_python_source, table_sql_probability
from softpolytope.tabular._load import load_model, skops_trusted_types
from softpolytope.tabular._schema import MAX_CATEGORIES, ColumnSelection, Schema, infer_schema, read_labeled, read_rows
from softpolytope.tabular._table import Chunk, Table, rows_at
from softpolytope.tabular._target import Label, Target, Threshold, predict_codes
from softpolytope.tabular.readers import Format, default_target, open_table

__all__ = [
    "MAX_CATEGORIES",
    "OWN",
    "CategoryColumn",
    "Chunk",
    "ClassWeight",
    "ColumnError",
    "ColumnSelection",
    "Format",
    "HeldOutScores",
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
    "UnknownCategories",
    "default_target",
    "explain_rows",
    "infer_schema",
    "join_names",
    "load_model",
    "named_polytopes",
    "nearest_change",
    "open_table",
    "predict_codes",
    "read_labeled",
    "read_rows",
    "rows_at",
    "score_probabilities",
    "skops_trusted_types",
    "sql_query",
    "table_python_source",
    "table_sql_probability",
]
