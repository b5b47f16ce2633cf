"""Data frames of any library, and dicts of columns, as tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from softpolytope.tabular.table import Chunk, TableError, Values, checked_names


class FrameTable:
    """A pandas or polars data frame, or a dict of columns: one chunk."""

    name = "the table"

    def __init__(self, frame: Any) -> None:
        names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
        self.columns = checked_names([str(name) for name in names], self.name)
        self._columns = {str(name): _values(np.asarray(frame[name])) for name in names}
        lengths = {len(values) for values in self._columns.values()}
        if len(lengths) > 1:
            raise TableError(f"the columns of the table have different lengths: {sorted(lengths)}.")
        self._n_rows = lengths.pop() if lengths else 0

    def chunks(self) -> Iterator[Chunk]:
        """All rows at once."""
        if self._n_rows:
            yield Chunk(self.name, self._columns, range(self._n_rows), "row")


def _values(column: Any) -> Values:
    if column.dtype.kind in "iuf":
        return np.asarray(column, dtype=np.float64)
    if column.dtype.kind == "M":
        return ["" if np.isnat(value) else str(value) for value in column]
    return [_text(value) for value in column.tolist()]


def _text(value: Any) -> str:
    # NaN differs from itself; pandas.NA has no truth value and says so by its text.
    is_missing = value is None or (isinstance(value, float) and value != value) or str(value) in ("<NA>", "NaT")  # noqa: PLR0124
    return "" if is_missing else str(value)
