"""Checks of rows and labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from softpolytope._typing import FloatArray
from softpolytope.model import Design
from softpolytope.parallel.dask import is_dask_collection


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
        check_for_text(X, error, names)
        raise
    check_finite(rows, names)
    return rows


def check_columns(estimator: BaseEstimator, n_features: int, names: Sequence[object] | None) -> None:
    """Raise unless columns are those of the fit, by their number and, where both have names, by name and order."""
    known = getattr(estimator, "feature_names_in_", None)
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    if names is not None and known is not None and list(names) != list(known):
        wrong = [str(name) for name in names if name not in set(known)] or ["the same names in another order"]
        raise ValueError(f"the columns of X differ from those of the fit: X has {', '.join(wrong[:10])}.")


def check_for_text(X: Any, error: Exception, known: Sequence[object] | None = None) -> None:
    """Raise an error that names the first column without numbers, if that is why rows could not be converted.

    `error` is what the conversion raised. If columns are `known`, wrong names of a table are the better message.
    """
    is_table = hasattr(X, "columns") and hasattr(X, "dtypes")
    if not is_table and "could not convert string" not in str(error):
        return
    if is_table and known is not None and list(X.columns) != list(known):
        return
    found = _column_without_numbers(X, is_table=is_table)
    if found is not None:
        name, value = found
        raise ValueError(
            f"column {name!r} of X holds {value!r}, which is not a number; encode such columns first "
            "(sklearn.preprocessing.OneHotEncoder, OrdinalEncoder), or leave them out."
        ) from error


def _column_without_numbers(X: Any, *, is_table: bool) -> tuple[object, object] | None:
    """Return name and first bad value of the first column that cannot be converted to numbers."""
    rows = None if is_table else np.asarray(X, dtype=object)
    if rows is not None and rows.ndim != 2:
        return None
    for number in range(X.shape[1] if rows is None else rows.shape[1]):
        column = (
            np.asarray(X.iloc[:, number] if hasattr(X, "iloc") else X[X.columns[number]])
            if rows is None
            else rows[:, number]
        )
        for value in column.tolist():
            try:
                float(value)
            except (TypeError, ValueError):
                return (X.columns[number] if is_table else number), value
        if column.dtype.kind in "mM":
            return (X.columns[number] if is_table else number), column[0]
    return None


def check_finite(X: Any, names: Any) -> None:
    """Raise at the first entry that is not a finite number, naming its column and row."""
    entries: Any = X
    if sparse.issparse(X) and len(entries.indices):
        n_columns = entries.shape[1]
        if entries.indices.min() < 0 or entries.indices.max() >= n_columns:
            raise ValueError(f"sparse X has an index outside its {n_columns} columns; it is damaged.")
    values = entries.data if sparse.issparse(X) else entries
    # A sum is finite only if all its terms are, and costs half as much.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()) or np.isfinite(values).all():
            return
    bad = np.argwhere(~np.isfinite(values))[0]
    if sparse.issparse(X):
        value = values[bad[0]]
        row, column = int(np.searchsorted(entries.indptr, bad[0], side="right")) - 1, int(entries.indices[bad[0]])
    else:
        value, row, column = values[tuple(bad)], int(bad[0]), int(bad[1])
    label = f"Column {names[column]!r}" if names is not None else f"Column {column}"
    kind = "NaN" if np.isnan(value) else f"{value} (infinity)"
    raise ValueError(
        f"{label} of input X holds {kind} at row {row}; softpolytope needs finite numbers, no NaN and no inf. "
        "Impute or drop such rows first."
    )


def check_labels_agree(labels: Sequence[object], name: str) -> None:
    """Raise if some labels are text and others are not: they have no common order, and as text 1 would be '1'."""
    is_text = [isinstance(label, str | bytes) for label in labels]
    if any(is_text) and not all(is_text):
        text, other = labels[is_text.index(True)], labels[is_text.index(False)]
        raise ValueError(
            f"labels must be all text or all numbers; {name} holds both {text!r} and {other!r}. Make all of them text "
            "(str), or none."
        )


def ranges(X: Any) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest number of each column of dense or sparse rows."""
    ends: list[Any] = [X.min(axis=0), X.max(axis=0)]
    dense = [end.toarray() if hasattr(end, "toarray") else end for end in ends]
    lower, upper = (np.asarray(end, dtype=np.float64).reshape(-1) for end in dense)
    return lower, upper
