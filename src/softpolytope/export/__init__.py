"""A fitted model in other forms: model files, ONNX, SQL and Python source.

Every export computes the probabilities of `predict_proba`, to rounding. Model files hold arrays and JSON only, and
reading one runs no code. ONNX needs the extra `onnx`.
"""

from softpolytope.exceptions import ModelFileError
from softpolytope.export._archive import read_archive, write_archive
from softpolytope.export._checks import Arrays, Header
from softpolytope.export._contents import ExportContents
from softpolytope.export._model_file import (
    ModelRecord,
    pack_classes,
    pack_model,
    read_model,
    unpack_classes,
    unpack_model,
    write_model,
)
from softpolytope.export._onnx import InputType, to_onnx
from softpolytope.export._python_source import python_source
from softpolytope.export._skl2onnx import register_with_skl2onnx
from softpolytope.export._sql import column_name, quoted_name, sql_probability
from softpolytope.export._states import FittedRegression

__all__ = [
    "Arrays",
    "ExportContents",
    "FittedRegression",
    "Header",
    "InputType",
    "ModelFileError",
    "ModelRecord",
    "column_name",
    "pack_classes",
    "pack_model",
    "python_source",
    "quoted_name",
    "read_archive",
    "read_model",
    "register_with_skl2onnx",
    "sql_probability",
    "to_onnx",
    "unpack_classes",
    "unpack_model",
    "write_archive",
    "write_model",
]
