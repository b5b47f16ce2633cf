"""Tables out: pandas where it is installed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]


def as_table(columns: Columns) -> Any:
    """Columns as a pandas DataFrame, or as a NumPy structured array where pandas is not installed."""
    try:
        from pandas import DataFrame  # type: ignore[import-untyped]  # noqa: PLC0415  # optional
    except ImportError:
        length = len(next(iter(columns.values())))
        table = np.empty(length, dtype=[(name, column.dtype) for name, column in columns.items()])
        for name, column in columns.items():
            table[name] = column
        return table
    return DataFrame(columns)


def joined(parts: list[Columns]) -> Columns:
    """Tables of the same columns, one after the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
