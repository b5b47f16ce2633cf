"""Checks of rows and labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from softpolytope._typing import FloatArray


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
