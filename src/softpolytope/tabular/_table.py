"""Tables as chunks of rows with named columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Protocol, TypeAlias

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.exceptions import TableError
from softpolytope.tabular._cells import MISSING, Kind, Values, format_number, join_names, parse_numbers, quote_cell

MAX_COLUMNS = 100_000


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of a table, by column."""

    source: str  # the file, for messages
    columns: Mapping[str, Values]
    lines: Sequence[int]  # number of each row in the source
    unit: str  # what `lines` counts: "line" or "row"
    absent: float | None = None  # the value of columns that do not occur; None where that is an error
    # Texts of numeric columns with more digits than `columns` can hold, empty where a value is missing.
    exact: Mapping[str, Sequence[str]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # of columns with values of one kind

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

    def values(self, name: str) -> Values:
        """Return the cells of a column."""
        if name in self.columns:
            return self.columns[name]
        if not self.has(name) or self.absent is None:
            raise TableError(f"{self.source} has no column {name!r}; it has {join_names(self.columns)}.")
        return np.full(self.n_rows, self.absent)

    def numbers(self, name: str) -> FloatArray:
        """Return a column as numbers, NaN where a value is missing; raise if a cell is anything else."""
        values = self.values(name)
        numbers = parse_numbers(values)
        is_bad = np.isinf(numbers)
        if is_bad.any():
            row = int(np.argmax(is_bad))
            raise TableError(
                f"{self.locate(row)}, column {name!r}: {quote_cell(values[row])} is not a finite number. "
                "Correct the cell, or leave it empty if its value is unknown."
            )
        return numbers

    def texts(self, name: str) -> Sequence[str]:
        """Return a column as text, empty where a value is missing."""
        texts = self.cells(name)
        if MISSING.isdisjoint(texts):
            return texts
        return ["" if text in MISSING else text for text in texts]

    def cells(self, name: str) -> Sequence[str]:
        """Return a column as it stands in the file, where NA is a text like any other."""
        if name in self.exact:
            return self.exact[name]
        values = self.values(name)
        return [format_number(value) for value in values.tolist()] if isinstance(values, np.ndarray) else values

    def select(self, rows: Sequence[int]) -> "Chunk":
        """Return some of the rows."""
        columns: dict[str, Values] = {
            name: values[list(rows)] if isinstance(values, np.ndarray) else [values[row] for row in rows]
            for name, values in self.columns.items()
        }
        exact = {name: [texts[row] for row in rows] for name, texts in self.exact.items()}
        return replace(self, columns=columns, lines=[self.lines[row] for row in rows], exact=exact)


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
