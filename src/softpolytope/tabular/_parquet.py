"""Parquet files and Arrow tables in chunks, by pyarrow."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.exceptions import TableError
from softpolytope.tabular._table import MAX_EXACT, Chunk, Kind, Values, checked_names, number_text

CELLS = 1_000_000
# Decimal digits that a double always holds.
DIGITS = 15
EXTRA = "Parquet files need the package pyarrow: pip install softpolytope[cli]. CSV files need nothing."


class ParquetTable:
    """A Parquet file of plain columns: numbers, text, truth values, dates (as text)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb"):
            pass  # what cannot be opened is told at once, by its own error
        self.columns = _checked_columns(self._reading(lambda file: file.schema_arrow), self.name)

    @property
    def name(self) -> str:
        """The path as given."""
        return str(self._path)

    def chunks(self) -> Iterator[Chunk]:
        """Rows, counted from 0."""
        batches = self._reading(lambda file: file.iter_batches(batch_size=_rows_at_once(self.columns)))
        first = 0
        while (batch := self._next(batches)) is not None:
            if batch.num_rows:
                yield _chunk(self.name, self.columns, batch, first)
            first += batch.num_rows

    def _reading(self, work: Any) -> Any:
        """What pyarrow gives; a damaged file makes it raise nearly anything."""
        arrow = _arrow()
        try:
            return work(arrow.parquet.ParquetFile(self._path))
        except Exception as error:
            raise TableError(f"{self.name} is damaged or no Parquet file: {_brief(error)}") from None

    def _next(self, batches: Any) -> Any:
        try:
            return next(batches, None)
        except Exception as error:
            raise TableError(f"{self.name} is damaged or no Parquet file: {_brief(error)}") from None


class ArrowTable:
    """A table or a record batch of pyarrow in memory."""

    name = "the table"

    def __init__(self, table: Any) -> None:
        self._batches = table.to_batches() if hasattr(table, "to_batches") else [table]
        self.columns = _checked_columns(table.schema, self.name)

    def chunks(self) -> Iterator[Chunk]:
        """Rows, counted from 0."""
        first = 0
        at_once = _rows_at_once(self.columns)
        for batch in self._batches:
            for start in range(0, batch.num_rows, at_once):
                part = batch.slice(start, at_once)
                yield _chunk(self.name, self.columns, part, first)
                first += part.num_rows


def _rows_at_once(columns: Sequence[str]) -> int:
    return max(1, CELLS // max(1, len(columns)))


def _checked_columns(schema: Any, source: str) -> tuple[str, ...]:
    """Names of the columns, all of which must hold plain values."""
    arrow = _arrow()
    for field in schema:
        kind = field.type.value_type if arrow.types.is_dictionary(field.type) else field.type
        if not _is_plain(kind, arrow.types):
            raise TableError(
                f"{source}: column {field.name!r} is of type {str(field.type)[:60]}, which is no plain number "
                "or text. Write the table again without it, or with its parts as columns of their own."
            )
    return checked_names(schema.names, source)


def _chunk(source: str, names: Sequence[str], batch: Any, first: int) -> Chunk:
    """The rows of a record batch, of which the first has this number."""
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


def _kind(type_: Any) -> Kind | None:
    """What a column of this type holds, None if that is something else."""
    kinds = _arrow().types
    found = type_.value_type if kinds.is_dictionary(type_) else type_
    tests: list[tuple[Any, Kind]] = [
        (kinds.is_boolean, "bool"), (kinds.is_integer, "int"), (kinds.is_floating, "float"),
        (kinds.is_string, "str"), (kinds.is_large_string, "str"),
    ]  # fmt: skip
    return next((kind for test, kind in tests if test(found)), None)


def _values(column: Any) -> tuple[Values, list[str] | None]:
    """The cells of a column, and the texts of numbers with more digits than these can hold."""
    arrow = _arrow()
    kinds = arrow.types
    if kinds.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kinds.is_floating(column.type) or kinds.is_integer(column.type) or kinds.is_decimal(column.type):
        numbers = column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        values = np.asarray(numbers, dtype=np.float64)
        return values, _exact_texts(column, values, kinds)
    return ["" if value is None else str(value) for value in column.to_pylist()], None


def _exact_texts(column: Any, values: FloatArray, kinds: Any) -> list[str] | None:
    """Texts of whole numbers and decimals, if doubles do not hold all their digits."""
    if kinds.is_integer(column.type) and (np.abs(values) >= MAX_EXACT).any():
        return ["" if value is None else str(value) for value in column.to_pylist()]
    if kinds.is_decimal(column.type) and column.type.precision > DIGITS:
        return ["" if value is None else _decimal_text(value) for value in column.to_pylist()]
    return None


def _decimal_text(value: Decimal) -> str:
    """As doubles are written, or with all digits where a double has not that many."""
    text = number_text(float(value))
    return text if Decimal(text) == value else f"{value.normalize():f}"


def _is_plain(kind: Any, kinds: Any) -> bool:
    tests = (
        kinds.is_floating, kinds.is_integer, kinds.is_decimal, kinds.is_boolean, kinds.is_string, kinds.is_large_string,
        kinds.is_date, kinds.is_timestamp, kinds.is_time, kinds.is_null,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def _brief(error: Exception) -> str:
    """The first line of what a library says."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _arrow() -> Any:
    try:
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.parquet  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError(EXTRA) from error
    return pa
