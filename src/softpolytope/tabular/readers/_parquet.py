"""Parquet files and Arrow tables, read in chunks by pyarrow."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.exceptions import TableError
from softpolytope.tabular._cells import MAX_EXACT, Kind, Values, format_number
from softpolytope.tabular._table import Chunk, validate_names

if TYPE_CHECKING:
    import pyarrow as pa

CELLS = 1_000_000
# Decimal digits that a double always holds.
DIGITS = 15
EXTRA = "Parquet files require pyarrow: pip install softpolytope[cli]. CSV files need no extra package."


class ParquetTable:
    """Parquet file with columns of numbers, text, booleans or dates (as text)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb"):
            pass  # a file that cannot be opened raises its own error
        self.columns = _validate_columns(self._apply(lambda file: file.schema_arrow), self.name)

    @property
    def name(self) -> str:
        """Path as given."""
        return str(self._path)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows, counted from 0."""
        batches = self._apply(lambda file: file.iter_batches(batch_size=_rows_at_once(self.columns)))
        first = 0
        while (batch := self._next(batches)) is not None:
            if batch.num_rows:
                yield _chunk(self.name, self.columns, batch, first)
            first += batch.num_rows

    def _apply(self, read: Callable[[Any], Any]) -> Any:  # pyarrow is untyped
        """Apply a function to the opened file; pyarrow raises nearly anything if it is damaged."""
        arrow = _arrow()
        try:
            return read(arrow.parquet.ParquetFile(self._path))
        except Exception as error:
            raise TableError(f"{self.name} is damaged or not a Parquet file: {_brief(error)}") from None

    def _next(self, batches: "Iterator[pa.RecordBatch]") -> "pa.RecordBatch | None":
        try:
            return next(batches, None)
        except Exception as error:
            raise TableError(f"{self.name} is damaged or not a Parquet file: {_brief(error)}") from None


class ArrowTable:
    """Arrow table or record batch in memory."""

    name = "the table"

    def __init__(self, table: "pa.Table | pa.RecordBatch") -> None:
        self._batches = table.to_batches() if hasattr(table, "to_batches") else [table]
        self.columns = _validate_columns(table.schema, self.name)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows, counted from 0."""
        first = 0
        at_once = _rows_at_once(self.columns)
        for batch in self._batches:
            for start in range(0, batch.num_rows, at_once):
                part = batch.slice(start, at_once)
                yield _chunk(self.name, self.columns, part, first)
                first += part.num_rows


def _rows_at_once(columns: Sequence[str]) -> int:
    return max(1, CELLS // max(1, len(columns)))


def _validate_columns(schema: "pa.Schema", source: str) -> tuple[str, ...]:
    """Return the names of the columns; raise unless all of them hold plain values."""
    arrow = _arrow()
    for field in schema:
        kind = field.type.value_type if arrow.types.is_dictionary(field.type) else field.type
        if not _is_plain(kind):
            raise TableError(
                f"{source}: column {field.name!r} is of type {str(field.type)[:60]}, which is neither a "
                "number nor text. Write the table without it, or with its parts as separate columns."
            )
    return validate_names(schema.names, source)


def _chunk(source: str, names: Sequence[str], batch: "pa.RecordBatch", first: int) -> Chunk:
    """Return the rows of a record batch, the first of which has this number."""
    columns: dict[str, Values] = {}
    exact: dict[str, Sequence[str]] = {}
    kinds: dict[str, Kind] = {}
    for name, column in zip(names, batch.columns, strict=True):
        try:
            columns[name], texts = _values(column)
        except Exception as error:
            raise TableError(f"{source}: column {name!r} cannot be read: {_brief(error)}") from None
        if texts is not None:
            exact[name] = texts
        kind = _kind(column.type)
        if kind is not None:
            kinds[name] = kind
    return Chunk(source, columns, range(first, first + batch.num_rows), "row", exact=exact, kinds=kinds)


def _kind(type_: "pa.DataType") -> Kind | None:
    """Return the kind of the values of an Arrow type, None if it is another one."""
    kinds = _arrow().types
    found = type_.value_type if kinds.is_dictionary(type_) else type_
    tests: list[tuple[Callable[[pa.DataType], bool], Kind]] = [
        (kinds.is_boolean, "bool"), (kinds.is_integer, "int"), (kinds.is_floating, "float"),
        (kinds.is_string, "str"), (kinds.is_large_string, "str"),
    ]  # fmt: skip
    return next((kind for test, kind in tests if test(found)), None)


def _values(column: "pa.Array") -> tuple[Values, list[str] | None]:
    """Return the cells of a column, and the texts of numbers with more digits than doubles can hold."""
    arrow = _arrow()
    kinds = arrow.types
    if kinds.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kinds.is_floating(column.type) or kinds.is_integer(column.type) or kinds.is_decimal(column.type):
        numbers = column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        values = np.asarray(numbers, dtype=np.float64)
        return values, _exact_texts(column, values)
    return ["" if value is None else str(value) for value in column.to_pylist()], None


def _exact_texts(column: "pa.Array", values: FloatArray) -> list[str] | None:
    """Return the texts of integers and decimals if doubles do not hold all their digits."""
    kinds = _arrow().types
    if kinds.is_integer(column.type) and (np.abs(values) >= MAX_EXACT).any():
        return ["" if value is None else str(value) for value in column.to_pylist()]
    if kinds.is_decimal(column.type) and column.type.precision > DIGITS:
        return ["" if value is None else _decimal_text(value) for value in column.to_pylist()]
    return None


def _decimal_text(value: Decimal) -> str:
    """Format a decimal like a double, or with all its digits if a double cannot hold them."""
    text = format_number(float(value))
    return text if Decimal(text) == value else f"{value.normalize():f}"


def _is_plain(kind: "pa.DataType") -> bool:
    kinds = _arrow().types
    tests = (
        kinds.is_floating, kinds.is_integer, kinds.is_decimal, kinds.is_boolean, kinds.is_string, kinds.is_large_string,
        kinds.is_date, kinds.is_timestamp, kinds.is_time, kinds.is_null,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def _brief(error: Exception) -> str:
    """Return the first line of an error of a library."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _arrow() -> Any:  # the untyped module pyarrow
    try:
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.parquet  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError(EXTRA) from error
    return pa
