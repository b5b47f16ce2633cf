"""Parquet files, read in chunks by pyarrow."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softpolytope.exceptions import TableError
from softpolytope.tabular._columns import Column, import_arrow
from softpolytope.tabular._table import Chunk
from softpolytope.tabular.readers._frames import read_columns

if TYPE_CHECKING:
    import pyarrow as pa

CELLS = 1_000_000
EXTRA = "Parquet files require pyarrow: pip install softpolytope[cli]. CSV files need no extra package."


class ParquetTable:
    """Parquet file with columns of numbers, text, booleans or dates (as text)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb"):
            pass  # a file that cannot be opened raises its own error
        if import_arrow() is None:
            raise ImportError(EXTRA)
        self.columns = tuple(self._read_columns(self._apply(lambda file: file.schema_arrow.empty_table())))

    @property
    def name(self) -> str:
        """Path as given."""
        return str(self._path)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows, counted from 0."""
        n_rows = max(1, CELLS // max(1, len(self.columns)))
        batches = self._apply(lambda file: file.iter_batches(batch_size=n_rows))
        first = 0
        while (batch := self._next(batches)) is not None:
            if batch.num_rows:
                columns = self._read_columns(import_module("pyarrow").Table.from_batches([batch]))
                yield Chunk(self.name, columns, range(first, first + batch.num_rows), "row")
            first += batch.num_rows

    def _read_columns(self, table: "pa.Table") -> dict[str, Column]:
        try:
            return read_columns(list(zip(table.column_names, table.columns, strict=True)), self.name)
        except TableError:
            raise
        except Exception as error:
            raise TableError(f"{self.name}: a column cannot be read: {_brief(error)}") from None

    def _apply(self, read: Callable[[Any], Any]) -> Any:  # pyarrow is untyped
        """Apply a function to the opened file; pyarrow raises nearly anything if it is damaged."""
        try:
            return read(import_module("pyarrow.parquet").ParquetFile(self._path))
        except Exception as error:
            raise TableError(f"{self.name} is damaged or not a Parquet file: {_brief(error)}") from None

    def _next(self, batches: "Iterator[pa.RecordBatch]") -> "pa.RecordBatch | None":
        try:
            return next(batches, None)
        except Exception as error:
            raise TableError(f"{self.name} is damaged or not a Parquet file: {_brief(error)}") from None


def _brief(error: Exception) -> str:
    """Return the first line of an error of a library."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
