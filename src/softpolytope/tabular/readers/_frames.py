"""Data frames of any library and dicts of columns, as tables."""

from collections.abc import Collection, Iterator, Mapping
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope.exceptions import TableError
from softpolytope.tabular._cells import MAX_EXACT, Kind, Values
from softpolytope.tabular._table import Chunk, validate_names

# Texts of the missing values of data frames, besides None and NaN.
MISSING_OBJECTS = ("<NA>", "NaT")
_KINDS: dict[str, Kind] = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str", "T": "str"}
# A bool is also an int in Python: the first match counts.
_TYPES: list[tuple[type | tuple[type, ...], Kind]] = [
    ((bool, np.bool_), "bool"), ((int, np.integer), "int"), ((float, np.floating), "float"), (str, "str"),
]  # fmt: skip


class FrameTable:
    """Data frame or dict of columns, in one chunk."""

    name = "the table"

    def __init__(self, frame: Any) -> None:  # a data frame of any library, or a dict
        names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
        self.columns = validate_names([str(name) for name in names], self.name)
        arrays = {str(name): np.asarray(frame[name]) for name in names}
        for name, column in arrays.items():
            _check_cells(name, column)
        self._columns = {name: _values(column) for name, column in arrays.items()}
        self._exact = {
            name: [str(value) for value in column.tolist()] for name, column in arrays.items() if _is_long(column)
        }
        self._kinds = {name: kind for name, column in arrays.items() if (kind := _kind(column)) is not None}
        lengths = {len(values) for values in self._columns.values()}
        if len(lengths) > 1:
            raise TableError(f"the columns of the table have different lengths: {sorted(lengths)}.")
        self._n_rows = lengths.pop() if lengths else 0

    def chunks(self) -> Iterator[Chunk]:
        """Yield all rows at once."""
        if self._n_rows:
            yield Chunk(self.name, self._columns, range(self._n_rows), "row", exact=self._exact, kinds=self._kinds)


def _check_cells(name: str, column: NDArray[Any]) -> None:
    """Raise if a cell holds several values."""
    kinds = set(map(type, column.tolist())) if column.dtype.kind == "O" else set()
    if any(issubclass(kind, Collection) and not issubclass(kind, str) for kind in kinds):
        row, value = next(pair for pair in enumerate(column.tolist()) if not isinstance(pair[1], str | Number))
        raise TypeError(
            f"column {name!r} holds {value!r} at row {row}, but a cell of this argument must be a string, a number or "
            "missing."
        )


def _values(column: NDArray[Any]) -> Values:
    if column.dtype.kind in "iuf":
        return np.asarray(column, dtype=np.float64)
    if column.dtype.kind == "M":
        return ["" if np.isnat(value) else str(value) for value in column]
    return [_text(value) for value in column.tolist()]


def _kind(column: NDArray[Any]) -> Kind | None:
    """Return the kind of the values, None if there are several kinds or another one."""
    if column.dtype.kind != "O":
        return _KINDS.get(column.dtype.kind)
    types = {kind for kind in set(map(type, column.tolist())) if kind is not type(None)}
    found = {next((name for base, name in _TYPES if issubclass(kind, base)), None) for kind in types}
    return found.pop() if len(found) == 1 else "float" if found == {"int", "float"} else None


def _is_long(column: NDArray[Any]) -> bool:
    """Return whether there are integers with more digits than a double can hold."""
    return column.dtype.kind in "iu" and bool((np.abs(column.astype(np.float64)) >= MAX_EXACT).any())


def _text(value: object) -> str:
    # NaN differs from itself; pandas.NA has no truth value and is recognized by its text.
    is_missing = value is None or (isinstance(value, float) and value != value) or str(value) in MISSING_OBJECTS  # noqa: PLR0124
    return "" if is_missing else str(value)
