"""Encoding of raw columns as the numbers that a classifier takes.

An encoder holds names, numbers and texts only, so that a model file can store it without a pickle, files of any length
can stream through it, and it can be written as SQL. It is equivalent to scikit-learn's SimpleImputer (median) and
OneHotEncoder (unknown categories ignored).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.exceptions import TableError
from softpolytope.tabular._cells import find_indices, join_names, make_aliases, quote_cell
from softpolytope.tabular._table import MAX_COLUMNS, Chunk

# Values that a message shows.
MAX_SHOWN = 3


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """Column of numbers; missing ones are replaced by the median of the training rows."""

    name: str
    fill: float | None  # None: no value may be missing
    has_missing: bool  # whether training rows had missing values
    is_integer: bool  # whether all numbers in training were integers

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Name of the column itself."""
        return (self.name,)

    @property
    def terms(self) -> tuple[str, ...]:
        """Name in formulas."""
        return (self.name,)

    def write(self, chunk: Chunk, out: FloatArray) -> None:
        """Write numbers, NaN where one is missing, into (rows, 1)."""
        out[:, 0] = chunk.numbers(self.name)

    def to_plain(self) -> dict[str, Any]:
        """Return the column as plain data for a model file."""
        flags = {"has_missing": self.has_missing, "is_whole": self.is_integer}
        return {"kind": "number", "name": self.name, "fill": self.fill, **flags}


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """Column of categories, one-hot encoded; a value that is not a category is zero in all encoded columns.

    Integers and booleans are recognized in all their forms: 2 as 2.0, True as true and 1.
    """

    name: str
    categories: tuple[str, ...]
    has_missing: bool  # whether missing is a category of its own: it is if training rows had missing values

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names such as color=blue, color=red, color is missing."""
        names = tuple(f"{self.name}={category}" for category in self.categories)
        return (*names, f"{self.name} is missing") if self.has_missing else names

    @property
    def terms(self) -> tuple[str, ...]:
        """Statements such as [color is blue], [color is missing], which are one in formulas where they hold."""
        names = tuple(f"[{self.name} is {category}]" for category in self.categories)
        return (*names, f"[{self.name} is missing]") if self.has_missing else names

    @property
    def aliases(self) -> dict[str, int]:
        """Index of the encoded column of each category in all its forms; "" is a missing value, if a category."""
        missing = {"": len(self.categories)} if self.has_missing else {}
        return make_aliases(self.categories) | missing

    def write(self, chunk: Chunk, out: FloatArray) -> None:
        """Write zeros and ones into (rows, encoded columns)."""
        found = chunk.codes(self.name)
        codes = find_indices(found.texts, self.aliases)[found.indices]
        rows = np.flatnonzero(codes >= 0)
        out[:] = 0.0
        out[rows, codes[rows]] = 1.0

    def to_plain(self) -> dict[str, Any]:
        """Return the column as plain data for a model file."""
        categories = list(self.categories)
        return {"kind": "category", "name": self.name, "categories": categories, "has_missing": self.has_missing}


Column = NumericColumn | CategoryColumn


@dataclass(frozen=True, slots=True)
class TableEncoder:
    """The raw columns of a model, in order, and their encoding."""

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
    def terms(self) -> tuple[str, ...]:
        """Names of the encoded columns in formulas."""
        return tuple(term for column in self.columns for term in column.terms)

    @property
    def n_encoded(self) -> int:
        """Number of encoded columns."""
        return sum(len(column.encoded_names) for column in self.columns)

    @property
    def is_plain(self) -> bool:
        """Whether raw and encoded columns are the same: no categories, and no missing values in training."""
        return all(isinstance(column, NumericColumn) and not column.has_missing for column in self.columns)

    def slices(self) -> list[tuple[Column, slice]]:
        """Return each column with the slice of its encoded columns."""
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
                f"{chunk.source} lacks the column{'s' if len(absent) > 1 else ''} {join_names(absent)}, which the "
                f"model needs; it has {join_names(chunk.columns)}."
            )
        for column, encoded in self.slices():
            column.write(chunk, out[:, encoded])

    def encode(self, chunk: Chunk) -> FloatArray:
        """Return encoded rows, (rows, encoded columns), without missing values."""
        out = np.empty((chunk.n_rows, self.n_encoded))
        self.write(chunk, out)
        for column, encoded in self.slices():
            if isinstance(column, NumericColumn) and column.fill is None:
                is_missing = np.isnan(out[:, encoded.start])
                if is_missing.any():
                    where = chunk.locate(int(np.argmax(is_missing)))
                    raise TableError(
                        f"{where}, column {column.name!r} has no value, and the model has no median to replace it. "
                        "Fill it in, or fit a TableClassifier, which learns the medians."
                    )
        self.impute(out)
        return out

    def impute(self, rows: FloatArray) -> None:
        """Replace NaN in encoded rows by the columns' fill values, in place."""
        for column, encoded in self.slices():
            if isinstance(column, NumericColumn) and column.fill is not None:
                values = rows[:, encoded.start]
                values[np.isnan(values)] = column.fill

    def with_medians(self, rows: FloatArray, weights: FloatArray | None = None) -> "TableEncoder":
        """Return an encoder that replaces missing numbers by the medians of encoded rows, in which NaN is missing."""
        columns: list[Column] = []
        for column, encoded in self.slices():
            if isinstance(column, NumericColumn):
                values = rows[:, encoded.start]
                is_known = ~np.isnan(values)
                fill = median(values[is_known], None if weights is None else weights[is_known])
                columns.append(replace(column, fill=fill))
            else:
                columns.append(column)
        return TableEncoder(tuple(columns))

    def to_plain(self) -> list[dict[str, Any]]:
        """Return the columns as plain data for a model file."""
        return [column.to_plain() for column in self.columns]

    @classmethod
    def from_plain(cls, plain: object) -> "TableEncoder":
        """Return the encoder that `to_plain` was called on; raise a ValueError for anything else."""
        _check(isinstance(plain, list) and 1 <= len(plain) <= MAX_COLUMNS, "there must be at least one column.")
        columns = tuple(_column(item) for item in plain)  # type: ignore[attr-defined]  # a list, as checked
        names = [column.name for column in columns]
        _check(len(set(names)) == len(names), "two columns have the same name.")
        return cls(columns)

    @classmethod
    def from_names(cls, names: Sequence[str]) -> "TableEncoder":
        """Return an encoder of numeric columns without missing values."""
        return cls(tuple(NumericColumn(name, None, has_missing=False, is_integer=False) for name in names))


def median(values: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the median, in which a value of weight two counts as two values; zero of no values.

    There may be none: training rows may be a subset of a table whose other rows have values.
    """
    if weights is not None and len(values):
        values, weights = values[weights > 0.0], weights[weights > 0.0]
    if not len(values):
        return 0.0
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    # Half of the total, summed in the same order as the shares that it is compared with.
    shares = np.cumsum(weights[order])
    middle = [int(np.searchsorted(shares, 0.5 * shares[-1], side)) for side in ("left", "right")]
    return float(np.mean(values[order[np.minimum(middle, len(values) - 1)]]))


def _column(plain: Any) -> Column:  # JSON of a model file, of any content
    _check(isinstance(plain, dict) and type(plain.get("name")) is str, "a column has no name.")
    _check(type(plain.get("has_missing")) is bool, f"column {plain['name']!r} is incomplete.")
    if plain.get("kind") == "number":
        _check(set(plain) == {"kind", "name", "fill", "has_missing", "is_whole"}, "a column has unknown fields.")
        fill = plain["fill"]
        _check(fill is None or (type(fill) is float and math.isfinite(fill)), "a fill value is not a finite number.")
        _check(type(plain["is_whole"]) is bool, f"column {plain['name']!r} is incomplete.")
        return NumericColumn(plain["name"], fill, plain["has_missing"], plain["is_whole"])
    _check(set(plain) == {"kind", "name", "categories", "has_missing"}, "a column has unknown fields.")
    _check(plain["kind"] == "category", "a column is neither numeric nor categorical.")
    categories = plain["categories"]
    _check(isinstance(categories, list) and 1 <= len(categories) <= MAX_COLUMNS, "a column has no categories.")
    _check(all(type(text) is str and text for text in categories), "a category is not text.")
    _check(len(set(categories)) == len(categories), "a category occurs twice.")
    return CategoryColumn(plain["name"], tuple(categories), plain["has_missing"])


def _check(condition: bool, message: str) -> None:  # noqa: FBT001  # the condition is its subject
    if not condition:
        raise ValueError(f"the columns of the table are damaged: {message}")


@dataclass(slots=True)
class _UnknownInColumn:
    """Unknown categories of one column, counted over chunks."""

    column: CategoryColumn
    n_rows: int = 0  # with an unknown category, or without a value where training had none missing
    first: str = ""  # value and location of the first of them
    has_known: bool = False  # whether any row has a known category
    values: dict[str, None] = field(default_factory=dict)  # a few unknown categories

    def add(self, chunk: Chunk, encoded: FloatArray) -> None:
        """Count those of a chunk, given the encoded columns of this column."""
        self.has_known = self.has_known or bool(encoded[:, : len(self.column.categories)].any())
        rows = np.flatnonzero(~encoded.any(axis=1))
        if not len(rows):
            return
        codes = chunk.codes(self.column.name)
        if not self.n_rows:
            text = codes.texts[codes.indices[rows[0]]]
            self.first = f"{quote_cell(text) if text else 'no value'} at {chunk.locate(int(rows[0]))}"
        self.n_rows += len(rows)
        if len(self.values) < MAX_SHOWN:
            indices, first = np.unique(codes.indices[rows], return_index=True)
            found = [codes.texts[index] for index in indices[np.argsort(first)].tolist()]
            self.values.update(dict.fromkeys([text for text in found if text][:MAX_SHOWN]))

    @property
    def count(self) -> str:
        rows = "1 row has a value" if self.n_rows == 1 else f"{self.n_rows} rows have values"
        return (
            f"{rows} of {self.column.name!r} that training did not have ({self.first}); encoded as none of the known "
            "categories."
        )

    @property
    def warning(self) -> str:
        return (
            f"column {self.column.name!r} holds only categories that training did not have, such as "
            f"{join_names(map(quote_cell, list(self.values)[:MAX_SHOWN]))}; training had "
            f"{join_names(map(quote_cell, self.column.categories), MAX_SHOWN)}. They are encoded as none of the known "
            "categories. Check that it is the right column and written as in training."
        )


class UnknownCategories:
    """Categories that training did not have, counted over the chunks of a table."""

    def __init__(self, encoder: TableEncoder) -> None:
        self._columns = [
            (_UnknownInColumn(column), encoded)
            for column, encoded in encoder.slices()
            if isinstance(column, CategoryColumn)
        ]

    def add(self, chunk: Chunk, encoded: FloatArray) -> None:
        """Count those of a chunk and its encoded rows."""
        for unknown, columns in self._columns:
            unknown.add(chunk, encoded[:, columns])

    @property
    def counts(self) -> list[str]:
        """A sentence for each column with unknown categories."""
        return [unknown.count for unknown, _ in self._columns if unknown.n_rows]

    @property
    def warnings(self) -> list[str]:
        """A sentence for each column that has values, none of which is known."""
        return [unknown.warning for unknown, _ in self._columns if unknown.values and not unknown.has_known]
