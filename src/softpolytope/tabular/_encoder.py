"""From raw columns to the numbers a classifier takes.

The encoder is made of names, numbers and texts, so that a model file can hold it without a pickle, files of any length
can stream through it, and it can be written as SQL. It does what scikit-learn's SimpleImputer (the median) and
OneHotEncoder (unknown categories ignored) would do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.exceptions import TableError
from softpolytope.tabular._spelling import places_of, spellings
from softpolytope.tabular._table import Chunk, listed

MAX_COLUMNS = 100_000


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """A column of numbers; what is missing becomes the median of the training rows."""

    name: str
    fill: float | None  # None: nothing may be missing
    has_missing: bool  # whether training rows had missing values
    is_whole: bool  # whether all numbers in training were whole

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """The column itself."""
        return (self.name,)

    def write(self, chunk: Chunk, out: FloatArray) -> None:
        """Write numbers, and NaN for what is missing, into (rows, 1)."""
        out[:, 0] = chunk.numbers(self.name)


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """A column of categories, one encoded column of zeros and ones each; any other value is zero in all of them.

    Whole numbers and truth values are recognized in all their spellings: 2 as 2.0, True as true and 1.
    """

    name: str
    categories: tuple[str, ...]
    has_missing: bool  # whether missing is a category of its own: it is if training rows had missing values

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """color=blue, color=red, color is missing."""
        names = tuple(f"{self.name}={category}" for category in self.categories)
        return (*names, f"{self.name} is missing") if self.has_missing else names

    @property
    def places(self) -> dict[str, int]:
        """The encoded column of each category in all its spellings; "" is a missing value, if that is a category."""
        missing = {"": len(self.categories)} if self.has_missing else {}
        return spellings(self.categories) | missing

    def write(self, chunk: Chunk, out: FloatArray) -> None:
        """Write zeros and ones into (rows, encoded columns)."""
        codes = places_of(chunk.texts(self.name), self.places)
        rows = np.flatnonzero(codes >= 0)
        out[:] = 0.0
        out[rows, codes[rows]] = 1.0


Column = NumericColumn | CategoryColumn


@dataclass(frozen=True, slots=True)
class TableEncoder:
    """The columns of a model, in order."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the raw columns."""
        return tuple(column.name for column in self.columns)

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return tuple(name for column in self.columns for name in column.encoded_names)

    @property
    def n_encoded(self) -> int:
        """Number of encoded columns."""
        return sum(len(column.encoded_names) for column in self.columns)

    @property
    def is_plain(self) -> bool:
        """Whether raw and encoded columns are the same numbers: no categories, nothing missing in training."""
        return all(isinstance(column, NumericColumn) and not column.has_missing for column in self.columns)

    def blocks(self) -> list[tuple[Column, slice]]:
        """Each column with the place of its encoded columns."""
        found, first = [], 0
        for column in self.columns:
            stop = first + len(column.encoded_names)
            found.append((column, slice(first, stop)))
            first = stop
        return found

    def write(self, chunk: Chunk, out: FloatArray) -> None:
        """Write encoded rows, NaN for missing numbers, into (rows, encoded columns)."""
        absent = [name for name in self.names if not chunk.has(name)]
        if absent:
            raise TableError(
                f"{chunk.source} lacks {'the column' if len(absent) == 1 else 'the columns'} {listed(absent)}, which "
                f"the model needs; it has {listed(chunk.columns)}."
            )
        for column, place in self.blocks():
            column.write(chunk, out[:, place])

    def encode(self, chunk: Chunk) -> FloatArray:
        """Encoded rows, (rows, encoded columns), all of them finite."""
        out = np.empty((chunk.n_rows, self.n_encoded))
        self.write(chunk, out)
        for column, place in self.blocks():
            if isinstance(column, NumericColumn) and column.fill is None:
                is_missing = np.isnan(out[:, place.start])
                if is_missing.any():
                    where = chunk.place(int(np.argmax(is_missing)))
                    raise TableError(
                        f"{where}, column {column.name!r} has no value, and the model was saved without one to take "
                        "instead. Fill it in, or fit by `softpolytope fit`, which learns what to take."
                    )
        self.fill(out)
        return out

    def fill(self, out: FloatArray) -> None:
        """Replace NaN by the columns' own fill, in place."""
        for column, place in self.blocks():
            if isinstance(column, NumericColumn) and column.fill is not None:
                values = out[:, place.start]
                values[np.isnan(values)] = column.fill

    def fitted(self, rows: FloatArray) -> "TableEncoder":
        """With the medians of encoded rows, in which NaN is missing, as what is taken for missing numbers."""
        columns: list[Column] = []
        for column, place in self.blocks():
            if isinstance(column, NumericColumn):
                values = rows[:, place.start]
                known = values[~np.isnan(values)]
                # A column without a value in these rows, which others do have.
                columns.append(replace(column, fill=float(np.median(known)) if len(known) else 0.0))
            else:
                columns.append(column)
        return TableEncoder(tuple(columns))

    def is_unknown(self, rows: FloatArray) -> dict[str, BoolArray]:
        """For each column of categories, which encoded rows have a value that the training rows did not have."""
        return {
            column.name: np.asarray(~rows[:, place].any(axis=1))
            for column, place in self.blocks()
            if isinstance(column, CategoryColumn)
        }

    def to_plain(self) -> list[dict[str, Any]]:
        """Names, numbers and texts only, for a model file."""
        return [_plain(column) for column in self.columns]

    @classmethod
    def from_plain(cls, plain: Any) -> "TableEncoder":
        """Of what `to_plain` gave; anything else is a ValueError."""
        _check(isinstance(plain, list) and 1 <= len(plain) <= MAX_COLUMNS, "there must be one column or more.")
        columns = tuple(_column(item) for item in plain)
        names = [column.name for column in columns]
        _check(len(set(names)) == len(names), "two columns have the same name.")
        return cls(columns)

    @classmethod
    def of_numbers(cls, names: Sequence[str]) -> "TableEncoder":
        """Columns that are taken as they are, and in which nothing may be missing."""
        return cls(tuple(NumericColumn(name, None, has_missing=False, is_whole=False) for name in names))


def _plain(column: Column) -> dict[str, Any]:
    if isinstance(column, NumericColumn):
        flags = {"has_missing": column.has_missing, "is_whole": column.is_whole}
        return {"kind": "number", "name": column.name, "fill": column.fill, **flags}
    categories = list(column.categories)
    return {"kind": "category", "name": column.name, "categories": categories, "has_missing": column.has_missing}


def _column(plain: Any) -> Column:
    _check(isinstance(plain, dict) and type(plain.get("name")) is str, "a column has no name.")
    _check(type(plain.get("has_missing")) is bool, f"column {plain['name']!r} is incomplete.")
    if plain.get("kind") == "number":
        _check(set(plain) == {"kind", "name", "fill", "has_missing", "is_whole"}, "a column has unknown parts.")
        fill = plain["fill"]
        _check(fill is None or (type(fill) is float and math.isfinite(fill)), "a fill is no finite number.")
        _check(type(plain["is_whole"]) is bool, f"column {plain['name']!r} is incomplete.")
        return NumericColumn(plain["name"], fill, plain["has_missing"], plain["is_whole"])
    _check(set(plain) == {"kind", "name", "categories", "has_missing"}, "a column has unknown parts.")
    _check(plain["kind"] == "category", "a column is neither of numbers nor of categories.")
    categories = plain["categories"]
    _check(isinstance(categories, list) and 1 <= len(categories) <= MAX_COLUMNS, "a column has no categories.")
    _check(all(type(text) is str and text for text in categories), "a category is no text.")
    _check(len(set(categories)) == len(categories), "a category occurs twice.")
    return CategoryColumn(plain["name"], tuple(categories), plain["has_missing"])


def _check(is_right: bool, message: str) -> None:  # noqa: FBT001  # a condition is what it is about
    if not is_right:
        raise ValueError(f"the columns of the table are damaged: {message}")
