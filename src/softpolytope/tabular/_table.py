"""Tables as chunks of rows with named columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Protocol, TypeAlias

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.exceptions import TableError
from softpolytope.tabular._cells import join_names, quote_cell
from softpolytope.tabular._columns import Codes, Column, NumberColumn, TextColumn

MAX_COLUMNS = 100_000


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of a table, by column."""

    source: str  # the file, for messages
    columns: Mapping[str, Column]
    lines: Sequence[int]  # number of each row in the source
    unit: str  # what `lines` counts: "line" or "row"
    absent: float | None = None  # the value of columns that do not occur; None where that is an error

    @classmethod
    def empty(cls, table: "Table") -> "Chunk":
        """Return no rows of a table."""
        return cls(table.name, {name: TextColumn(()) for name in table.columns}, (), "line")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def locate(self, row: int) -> str:
        """Return source and line of a row, for a message."""
        return f"{self.source}, {self.unit} {self.lines[row]}"

    def has(self, name: str) -> bool:
        """Return whether there is a column of this name."""
        return name in self.columns or (self.absent is not None and name.isdigit())

    def column(self, name: str) -> Column:
        """Return a column."""
        if name in self.columns:
            return self.columns[name]
        if not self.has(name) or self.absent is None:
            raise TableError(f"{self.source} has no column {name!r}; it has {join_names(self.columns)}.")
        return NumberColumn(np.full(self.n_rows, self.absent), None)

    def numbers(self, name: str) -> FloatArray:
        """Return a column as numbers, NaN where a value is missing; raise if a cell is anything else."""
        column = self.column(name)
        numbers = column.numbers()
        is_bad = np.isinf(numbers)
        if is_bad.any():
            row = int(np.argmax(is_bad))
            raise TableError(
                f"{self.locate(row)}, column {name!r}: {quote_cell(column.cell(row))} is not a finite number. "
                "Correct the cell, or leave it empty if its value is unknown."
            )
        return numbers

    def codes(self, name: str) -> Codes:
        """Return a column as codes of texts, "" where a value is missing."""
        return self.column(name).codes().with_missing()

    def texts(self, name: str) -> list[str]:
        """Return a column as text, empty where a value is missing."""
        return self.codes(name).to_list()

    def cells(self, name: str) -> list[str]:
        """Return a column as it stands in the file, where NA is a text like any other."""
        return self.column(name).codes().to_list()

    def select(self, rows: Sequence[int]) -> "Chunk":
        """Return some of the rows."""
        indices = np.asarray(rows, dtype=np.intp)
        columns = {name: column.select(indices) for name, column in self.columns.items()}
        return replace(self, columns=columns, lines=[self.lines[row] for row in rows])


class Table(Protocol):
    """Named columns that can be read from the start as often as needed."""

    @property
    def name(self) -> str:
        """Name for messages."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        ...

    def chunks(self) -> Iterator[Chunk]:
        """Yield all rows in order; every chunk has at least one."""
        ...


class DataFrame(Protocol):
    """Data frame of any library, such as pandas or polars, or an Arrow table."""

    @property
    def columns(self) -> Iterable[object]:
        """Names of the columns."""
        ...

    def __getitem__(self, name: str, /) -> object: ...


TableSource: TypeAlias = str | PathLike[str] | Mapping[str, object] | DataFrame | Table


def rows_at(table: Table, indices: Sequence[int]) -> list[Chunk]:
    """Return the rows with these indices, each as a chunk of its own, in the order given."""
    found: dict[int, Chunk] = {}
    first = 0
    for chunk in table.chunks():
        here = {row for row in indices if first <= row < first + chunk.n_rows}
        found.update({row: chunk.select([row - first]) for row in here})
        first += chunk.n_rows
        if len(found) == len(set(indices)):
            break
    for row in indices:
        if row not in found:
            raise TableError(f"{table.name} has no row {row}: it has the rows 0 to {first - 1}.")
    return [found[row] for row in indices]


def validate_names(names: Sequence[str], source: str) -> tuple[str, ...]:
    """Return unique names of columns; unnamed columns get the name that pandas would give them."""
    if len(names) > MAX_COLUMNS:
        raise TableError(f"{source} has {len(names)} columns; at most {MAX_COLUMNS} can be read.")
    full = tuple(name or f"Unnamed: {index}" for index, name in enumerate(names))
    seen: set[str] = set()
    for name in full:
        if name in seen:
            raise TableError(f"{source} has two columns {name!r}. Rename one of them.")
        seen.add(name)
    return full
