"""Checks of rows and labels."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from softpolytope._typing import FloatArray
from softpolytope.model import Design


def is_dask_collection(item: object) -> bool:
    """Return whether an object is a Dask array, data frame or series, without importing Dask."""
    if "dask" not in sys.modules or isinstance(item, np.ndarray | str | Path | Sequence):
        return False
    return bool(sys.modules["dask"].is_dask_collection(item))


def validate_rows(estimator: BaseEstimator, X: object) -> Design:
    """Return rows as a fitted estimator predicts them: doubles in C order, or CSR, with the columns of the fit.

    Examples
    --------
    >>> from softpolytope import SoftplusClassifier
    >>> from softpolytope.data import validate_rows
    >>> model = SoftplusClassifier(inference="map", random_state=0).fit([[0.0], [1.0], [2.0]] * 5, [0, 0, 1] * 5)
    >>> validate_rows(model, [[1], [2]]).tolist()
    [[1.0], [2.0]]
    """
    check_is_fitted(estimator)
    if is_dask_collection(X):
        raise ValueError("X is a Dask collection, but this method needs rows in memory. Pass X.compute().")
    names = getattr(estimator, "feature_names_in_", None)
    try:
        rows: Design = validate_data(
            estimator, X, accept_sparse="csr", dtype=np.float64, order="C", ensure_all_finite=False, reset=False
        )
    except (TypeError, ValueError) as error:
        check_for_text(X, error, table_advice(estimator), names)
        raise
    check_finite(rows, names, table_advice(estimator))
    return rows


def table_advice(estimator: BaseEstimator) -> str:
    """Return how to fit a classifier of numbers to rows with text or missing values, for an error."""
    return (
        "TableClassifier takes text and missing values as they are:\n\n"
        f"    from softpolytope import TableClassifier, {type(estimator).__name__}\n"
        f"    model = TableClassifier({type(estimator).__name__}()).fit(X, y)"
    )


def check_columns(estimator: BaseEstimator, n_features: int, names: Sequence[object] | None) -> None:
    """Raise ValueError unless columns have the number, names and order of those of the fit."""
    known = getattr(estimator, "feature_names_in_", None)
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    if names is not None and known is not None and list(names) != list(known):
        wrong = [str(name) for name in names if name not in set(known)] or ["the same names in another order"]
        raise ValueError(f"The columns of X differ from those of the fit: X has {', '.join(wrong[:10])}.")


class Table(Protocol):
    """Data frame of pandas, Polars or a similar library."""

    columns: Sequence[str]

    def __getitem__(self, name: object) -> object:
        """Return a column."""
        ...


def is_table(X: object) -> TypeGuard[Table]:
    """Return whether rows are a data frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def check_for_text(X: object, error: Exception, advice: str, known: Sequence[object] | None = None) -> None:
    """Raise an error that names the first column that is not numeric, if that is why rows could not be converted.

    `error` is the error of the conversion, and `advice` says what to do. Unknown column names of a table are reported
    elsewhere.
    """
    if is_table(X):
        if known is not None and list(X.columns) != list(known):
            return
        names: Sequence[object] = X.columns
    else:
        rows = np.asarray(X, dtype=object) if "could not convert string" in str(error) else np.empty(0)
        if rows.ndim != 2:
            return
        names = range(rows.shape[1])
    for number, name in enumerate(names):
        # By position where possible, because names may be repeated.
        column = (X.iloc[:, number] if hasattr(X, "iloc") else X[name]) if is_table(X) else rows[:, number]
        wrong = _find_text(np.asarray(column))
        if wrong:
            raise ValueError(f"Column {name!r} of X holds {wrong[0]!r}, which is not a number. {advice}") from error


def _find_text(column: NDArray[Any]) -> list[object]:
    """Return the first value of a column that cannot be converted to a number; an empty list if all can."""
    for value in column.tolist():
        try:
            float(value)
        except (TypeError, ValueError):
            return [value]
    return [column[0]] if column.dtype.kind in "mM" else []


def check_finite(X: Design, names: Sequence[object] | None, advice: str | None = None) -> None:
    """Raise ValueError at the first entry that is not a finite number, naming its column and row.

    `advice` says what to do about missing values.
    """
    n_columns = X.shape[1]
    if isinstance(X, np.ndarray):
        values = X
    else:
        values = X.data
        if len(X.indices) and (X.indices.min() < 0 or X.indices.max() >= n_columns):
            raise ValueError(f"Sparse X has an index outside its {n_columns} columns and is damaged. Build it again.")
    # A sum is finite only if all its terms are, and costs half as much.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()) or np.isfinite(values).all():
            return
    bad = tuple(np.argwhere(~np.isfinite(values))[0])
    if isinstance(X, np.ndarray):
        row, column = bad
    else:
        row, column = np.searchsorted(X.indptr, bad[0], side="right") - 1, X.indices[bad[0]]
    label = f"Column {names[column]!r}" if names is not None else f"Column {column}"
    is_missing = bool(np.isnan(values[bad]))
    kind = "NaN" if is_missing else f"{values[bad]} (infinity)"
    raise ValueError(
        f"{label} of input X holds {kind} at row {row}; softpolytope needs finite numbers, no NaN and no inf. "
        f"{advice if is_missing and advice else 'Impute or drop such rows first.'}"
    )


def check_labels_agree(labels: Sequence[object], name: str) -> None:
    """Raise ValueError if only some labels are strings: they have no common order, and 1 would become "1"."""
    is_text = [isinstance(label, str | bytes) for label in labels]
    if any(is_text) and not all(is_text):
        text, other = labels[is_text.index(True)], labels[is_text.index(False)]
        raise ValueError(
            f"labels must be all text or all numbers; {name} holds both {text!r} and {other!r}. Make all of them text "
            "(str), or none."
        )


def check_classes(classes: NDArray[Any], weights: FloatArray) -> None:
    """Raise ValueError unless there are two classes or more, each of positive weight."""
    if len(classes) < 2:
        raise ValueError(f"y holds only one class, {classes.tolist()[0]!r}; at least two classes are needed.")
    if not (weights > 0.0).all():
        missing = classes.tolist()[int(np.argmin(weights))]
        raise ValueError(f"class {missing!r} has no row of positive weight; leave its rows out or weight them.")
