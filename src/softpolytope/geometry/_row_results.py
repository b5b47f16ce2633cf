"""Results with one entry per row, as explanations and counterfactuals are: printing, iteration and tables."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from operator import index
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softpolytope._format import format_count
from softpolytope._typing import IndexArray

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

Columns: TypeAlias = dict[str, NDArray[Any]]
# A DataFrame if pandas is installed.
Table: TypeAlias = "DataFrame | NDArray[np.void]"

# Rows described by a printed result; the rest are counted.
MAX_ROWS_PRINTED = 5


class RowResults(ABC):
    """Results that can be printed, indexed, sliced and iterated over by row."""

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, item: SupportsIndex | slice) -> Self: ...

    @abstractmethod
    def in_words(self, row: int = 0) -> str:
        """Describe one row; raise IndexError if there is no such row."""

    def __iter__(self) -> Iterator[Self]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {format_count(len(self), 'row')}; print it to read it>"

    def __str__(self) -> str:
        lines = [self.in_words(row) for row in range(min(len(self), MAX_ROWS_PRINTED))]
        n_left = len(self) - MAX_ROWS_PRINTED
        if n_left > 0:
            lines.append(
                f"... and {format_count(n_left, 'more row')}: use [i] or in_words(i) for one, table() for all."
            )
        return "\n".join(lines)

    def _row_indices(self, item: SupportsIndex | slice) -> slice | list[int]:
        """Return what selects the rows of an index or slice; raise IndexError if there is no such row."""
        if isinstance(item, slice):
            return item
        row, n_rows = index(item), len(self)
        if not -n_rows <= row < n_rows:
            known = f"the rows 0 to {n_rows - 1}" if n_rows > 1 else "one row, 0" if n_rows else "no rows"
            raise IndexError(f"there is no row {row}: this result has {known}.")
        return [row % n_rows]


def as_table(columns: Columns) -> Table:
    """Return columns as a pandas DataFrame, or as a NumPy structured array if pandas is not installed."""
    try:
        from pandas import DataFrame  # noqa: PLC0415  # optional
    except ImportError:
        length = len(next(iter(columns.values())))
        table = np.empty(length, dtype=[(name, column.dtype) for name, column in columns.items()])
        for name, column in columns.items():
            table[name] = column
        return table
    return DataFrame(columns)


def concatenate(parts: list[Columns]) -> Columns:
    """Concatenate tables that have the same columns."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def select_rows(columns: Columns, numbers: IndexArray) -> Columns:
    """Return the lines of the numbered rows, in the order of the numbers."""
    found = [np.flatnonzero(columns["row"] == number) for number in numbers]
    lines = np.concatenate([np.empty(0, dtype=np.intp), *found])
    return {name: column[lines] for name, column in columns.items()}
