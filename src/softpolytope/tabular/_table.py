"""A table in chunks of rows, and what is said of a cell that is not as it should be."""

import csv
import io
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.exceptions import TableError

# Cells that stand for no value, in files of text.
MISSING = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?"})

# Text as it stands in the file, or numbers with NaN for what is missing.
Values = Sequence[str] | FloatArray

# What a column of a data frame or a Parquet file holds; files of text do not say.
Kind = Literal["bool", "int", "float", "str"]

# Above this, neighboring whole numbers are the same number in double precision.
MAX_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table, by column."""

    source: str  # the file, for messages
    columns: Mapping[str, Values]
    lines: Sequence[int]  # where each row is
    unit: str  # what `lines` counts: "line" or "row"
    absent: float | None = None  # the value of columns that are not there; None where that is an error
    # Texts of columns of numbers with more digits than `columns` can hold, empty where a value is missing.
    exact: Mapping[str, Sequence[str]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # of columns whose values have one

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def place(self, row: int) -> str:
        """Where a row is, for a message."""
        return f"{self.source}, {self.unit} {self.lines[row]}"

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self.columns or (self.absent is not None and name.isdigit())

    def values(self, name: str) -> Values:
        """The cells of a column."""
        if name in self.columns:
            return self.columns[name]
        if not self.has(name) or self.absent is None:
            raise TableError(f"{self.source} has no column {name!r}; it has {listed(self.columns)}.")
        return np.full(self.n_rows, self.absent)

    def numbers(self, name: str) -> FloatArray:
        """A column as numbers, NaN where a value is missing; any other text is an error that names its place."""
        values = self.values(name)
        numbers = parsed(values)
        is_bad = np.isinf(numbers)
        if is_bad.any():
            row = int(np.argmax(is_bad))
            raise TableError(
                f"{self.place(row)}, column {name!r}: {shown(values[row])} is no finite number. "
                "Correct the cell, or leave it empty if its value is not known."
            )
        return numbers

    def texts(self, name: str) -> Sequence[str]:
        """A column as text, empty where a value is missing."""
        texts = self.cells(name)
        if MISSING.isdisjoint(texts):
            return texts
        return ["" if text in MISSING else text for text in texts]

    def cells(self, name: str) -> Sequence[str]:
        """A column as it stands in the file: NA is a text like any other."""
        if name in self.exact:
            return self.exact[name]
        values = self.values(name)
        return [number_text(value) for value in values.tolist()] if isinstance(values, np.ndarray) else values

    def taken(self, rows: Sequence[int]) -> "Chunk":
        """Some of the rows."""
        columns: dict[str, Values] = {
            name: values[list(rows)] if isinstance(values, np.ndarray) else [values[row] for row in rows]
            for name, values in self.columns.items()
        }
        exact = {name: [texts[row] for row in rows] for name, texts in self.exact.items()}
        return replace(self, columns=columns, lines=[self.lines[row] for row in rows], exact=exact)


class Table(Protocol):
    """Something with named columns that can be read from its start as often as needed."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        ...

    def chunks(self) -> Iterator[Chunk]:
        """All rows in order; every chunk has at least one."""
        ...


def parsed(values: Values) -> FloatArray:
    """Cells as numbers: NaN where there is no value, infinite where there is something else than a finite number."""
    if isinstance(values, np.ndarray):
        return values
    try:
        numbers = np.fromiter(map(float, values), np.float64, len(values))
        # Python reads 1_000 as a number, and NAN in any case and with a sign; in a table they are none.
        if "_" not in "".join(values) and not np.isnan(numbers).any():
            return numbers
    except (ValueError, OverflowError):
        pass
    known = {text: _number(text) for text in set(values)}
    return np.fromiter((known[text] for text in values), np.float64, len(values))


def _number(text: str) -> float:
    if text in MISSING:
        return np.nan
    try:
        number = np.nan if "_" in text else float(text)
    except ValueError:
        return np.inf
    # What is missing has the names above and no others, for numbers as for categories.
    return np.inf if np.isnan(number) else number


def number_text(value: float) -> str:
    """A number as a category: whole ones without a point; nothing for NaN."""
    if value != value:  # noqa: PLR0124  # NaN
        return ""
    return str(int(value)) if np.isfinite(value) and value == int(value) else repr(value)


def shown(value: Any) -> str:
    """A cell for a message, cut to a readable length."""
    text = repr(value if isinstance(value, str) else float(value))
    return text if len(text) <= 40 else f"{text[:37]}..."


def named(option: str, name: str) -> str:
    """An option with a column's name, as a shell takes it, whatever is in the name."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([name])
    return f"{option}={shlex.quote(line.getvalue())}"


def listed(names: Any, most: int = 10) -> str:
    """Names for a message."""
    known = [str(name)[:60] for name in names]
    return ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")


def rows_at(table: Table, wanted: Sequence[int]) -> list[Chunk]:
    """The rows of these numbers, each as a chunk of its own, in the order asked for."""
    found: dict[int, Chunk] = {}
    first = 0
    for chunk in table.chunks():
        here = {row for row in wanted if first <= row < first + chunk.n_rows}
        found.update({row: chunk.taken([row - first]) for row in here})
        first += chunk.n_rows
        if len(found) == len(set(wanted)):
            break
    for row in wanted:
        if row not in found:
            raise TableError(f"{table.name} has no row {row}: it has the rows 0 to {first - 1}.")
    return [found[row] for row in wanted]


def checked_names(names: Sequence[str], source: str, most: int = 100_000) -> tuple[str, ...]:
    """Names of columns, each of them once; those without a name get one as pandas would give it."""
    if len(names) > most:
        raise TableError(f"{source} has {len(names)} columns; at most {most} are read.")
    full = tuple(name or f"Unnamed: {place}" for place, name in enumerate(names))
    seen: set[str] = set()
    for name in full:
        if name in seen:
            raise TableError(f"{source} has two columns {name!r}. Rename one of them.")
        seen.add(name)
    return full
