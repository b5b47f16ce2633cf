"""Rows and labels as scikit-learn passes them: data frames by the names of their columns, arrays by position."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import check_array

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.estimators import validate_labels
from softpolytope.tabular._table import Table, TableSource
from softpolytope.tabular._target import Target
from softpolytope.tabular.readers import FrameTable, open_table


def open_rows(X: TableSource | ArrayLike) -> tuple[Table, bool]:
    """Return rows to fit to, and whether their columns have names; those of an array are called x0, x1, ..."""
    if _is_array(X):
        return _array_table(X), False
    table = open_table(X)  # type: ignore[arg-type]  # not an array
    return table, not isinstance(table, FrameTable) or table.has_names


def open_known_rows(X: TableSource | ArrayLike, names: Sequence[str], *, is_named: bool) -> Table:
    """Return rows to predict; columns are found by name unless the rows, or those of the fit, have none."""
    if not _is_array(X):
        table = open_table(X)  # type: ignore[arg-type]  # not an array
        if is_named or set(names) <= set(table.columns):
            return table
        warnings.warn("X has feature names, but TableClassifier was fitted without feature names", stacklevel=4)
        X = np.column_stack([np.asarray(X[name], dtype=object) for name in table.columns])  # type: ignore[index,call-overload]
    elif is_named:
        warnings.warn("X does not have valid feature names, but TableClassifier was fitted with them", stacklevel=4)
    return _array_table(X, names)


def _is_array(X: object) -> bool:
    # Of its type: the columns of a data frame may have any names.
    is_table = any(hasattr(type(X), name) for name in ("chunks", "columns", "__arrow_c_stream__"))
    # A sparse matrix may be a dict of its entries.
    return issparse(X) or not (is_table or isinstance(X, str | PathLike | Mapping))


def _array_table(X: object, names: Sequence[str] | None = None) -> Table:
    """Return the columns of an array; raise as scikit-learn does if it is none of two dimensions."""
    array = check_array(X, dtype=None, ensure_all_finite=False, estimator="TableClassifier", input_name="X")
    if names is None:
        names = [f"x{number}" for number in range(array.shape[1])]
    if array.shape[1] != len(names):
        raise ValueError(
            f"X has {array.shape[1]} features, but TableClassifier is expecting {len(names)} features as input."
        )
    return FrameTable(dict(zip(names, array.T, strict=True)))


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels that are not in the table."""

    target: Target
    codes: IndexArray  # (rows,)

    @classmethod
    def from_array(cls, y: ArrayLike | None) -> "Labels":
        """Return labels as scikit-learn passes them; raise if there are none."""
        if y is None:
            raise ValueError(
                "TableClassifier requires y to be passed, but the target y is None. Pass the labels, or the name of "
                "their column in X."
            )
        classes, codes = np.unique(validate_labels(y), return_inverse=True)
        name = getattr(y, "name", None)
        return cls(Target(name if isinstance(name, str) and name else "y", tuple(classes.tolist())), codes)


def validate_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray | None:
    """Return weights as an array; the classifier checks their values."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}!")
    return weights
