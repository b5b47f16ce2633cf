"""Schema of a table: which columns hold numbers, categories, or nothing that a model can use."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.exceptions import ColumnError, TableError
from softpolytope.tabular._cells import join_names, normalize, quote_cell
from softpolytope.tabular._encoder import CategoryColumn, Column, NumericColumn, TableEncoder
from softpolytope.tabular._table import Chunk, Table
from softpolytope.tabular._target import MAX_CLASSES, Target, infer_target, label_codes

MAX_CATEGORIES = 100
# Distinct texts that are stored for a column; further ones are not counted.
MAX_TEXTS = 1000
# With fewer rows than this, identifiers cannot be told from categories.
MIN_IDENTIFIERS = 10
# Squares of larger numbers, and so their variance, are infinite in double precision.
MAX_NUMBER = 1e150
# Names that pandas gives to an index in a file, and this package to a column without a name.
UNNAMED = ("Unnamed: ", "__index_level_")
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(\D.*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})(\D.*)?|\d{1,2}:\d{2}(:\d{2}.*)?"
)
# Numbers with a decimal comma, thousands separators or a percent sign.
_FORMATTED_NUMBER = re.compile(r"\s*[-+]?(\d{1,3}([.,' ]\d{3})+|\d+)([.,]\d+)?\s*%?\s*")


@dataclass(frozen=True, slots=True)
class ColumnSelection:
    """Columns to use, and how, as a user chooses them."""

    target: str | None  # None if the labels are not in the table
    features: tuple[str, ...] = ()  # all except the target, if empty
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    max_categories: int = MAX_CATEGORIES

    def feature_names(self, table: Table) -> tuple[str, ...]:
        """Return the names of the features in a table; raise if the selection does not match it."""
        for name in (self.target, *self.features, *self.drop, *self.categorical):
            if name is not None and name not in table.columns:
                raise TableError(f"{table.name} has no column {name!r}; it has {join_names(table.columns)}.")
        if self.target in (*self.features, *self.drop):
            raise TableError(f"column {self.target!r} is the target and can be neither a feature nor dropped.")
        names = [name for name in self.features or table.columns if name != self.target and name not in self.drop]
        if not names:
            what = "the labels" if self.target is None else repr(self.target)
            raise TableError(f"{table.name} has no column left to predict {what} from.")
        if len(set(names)) < len(names):
            raise TableError("a column is named twice among the features. Name each column once.")
        return tuple(names)


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns and target of a table; the encoder has no medians yet."""

    encoder: TableEncoder
    target: Target
    n_rows: int


@dataclass(slots=True)
class ColumnSummary:
    """Summary of the cells of one column, updated chunk by chunk."""

    name: str
    is_categorical: bool  # whether the user or the source declares it
    max_texts: int = MAX_TEXTS
    n_missing: int = 0
    n_numbers: int = 0
    n_texts: int = 0
    is_integer: bool = True
    max_abs: float = 0.0
    texts: dict[str, None] = field(default_factory=dict)  # in order of occurrence
    has_repeats: bool = False
    first: dict[str, str] = field(default_factory=dict)  # content and location of the first number and text

    def update(self, chunk: Chunk) -> None:
        """Add the rows of a chunk."""
        column = chunk.column(self.name)
        self.is_categorical = self.is_categorical or column.is_category
        if self.is_categorical:
            codes = chunk.codes(self.name)
            self._add_texts(map(normalize, codes.texts), codes.counts())
            return
        # In a typed source a number that is not finite is an error; in a text file it is text.
        numbers = chunk.numbers(self.name) if column.is_numeric else column.numbers()
        is_missing, is_text = np.isnan(numbers), np.isinf(numbers)
        is_number = ~(is_missing | is_text)
        for kind, mask in (("text", is_text), ("number", is_number)):
            if kind not in self.first and mask.any():
                row = int(np.argmax(mask))
                self.first[kind] = f"{quote_cell(column.cell(row))} at {chunk.locate(row)}"
        if is_text.any():
            codes = column.codes().select(np.flatnonzero(is_text))
            self._add_texts(codes.texts, codes.counts())
        self.n_numbers += int(is_number.sum())
        self.n_missing += int(is_missing.sum())
        known = numbers[is_number]
        self.is_integer = self.is_integer and bool((known == np.floor(known)).all())
        self.max_abs = max(self.max_abs, float(np.abs(known).max(initial=0.0)))

    def _add_texts(self, texts: Iterable[str], counts: IndexArray) -> None:
        """Add texts, each as often as it occurs."""
        for text, count in zip(texts, counts.tolist(), strict=True):
            if not text:
                self.n_missing += count
                continue
            self.n_texts += count
            self.has_repeats = self.has_repeats or count > 1 or text in self.texts
            if len(self.texts) <= self.max_texts:
                self.texts[text] = None

    def infer_column(self, max_categories: int) -> Column:
        """Return how the column is encoded; raise if no model can use it."""
        if not self.n_numbers and not self.n_texts:
            raise self._error("has no values at all. Drop it.", "drop")
        if self.is_categorical:
            return self._infer_category(max_categories)
        if self.name.startswith(UNNAMED):
            raise self._error(
                "has no name; such columns often hold row numbers that a program wrote. Drop it, or name it in the "
                "file.",
                "drop",
            )
        if self.n_texts == 0:
            return self._infer_numeric()
        if self.n_numbers:
            raise self._error(
                f"holds both numbers ({self.first['number']}) and text ({self.first['text']}). Correct the cells, "
                "leave them empty, or declare the column categorical.",
                "categorical",
            )
        return self._infer_category(max_categories)

    def _infer_numeric(self) -> NumericColumn:
        if self.max_abs > MAX_NUMBER:
            raise self._error(
                f"holds numbers as large as {self.max_abs:.3g}, whose squares exceed double precision. Rescale or drop "
                "it.",
                "drop",
            )
        return NumericColumn(self.name, fill=None, has_missing=self.n_missing > 0, is_integer=self.is_integer)

    def _infer_category(self, max_categories: int) -> CategoryColumn:
        example = quote_cell(next(iter(self.texts)))
        if not self.is_categorical and all(_DATE.fullmatch(text) for text in self.texts):
            raise self._error(
                f"holds dates or times (such as {example}), which are not numbers. Drop it, or replace it by "
                "meaningful numbers, such as days since an event.",
                "drop",
            )
        if not self.is_categorical and all(_FORMATTED_NUMBER.fullmatch(text) for text in self.texts):
            raise self._error(
                f"holds numbers with commas or percent signs (such as {example}), which are read as text. Write them "
                "with a decimal point only, or declare the column categorical.",
                "categorical",
            )
        if not self.has_repeats and self.n_texts >= MIN_IDENTIFIERS:
            raise self._error(
                f"holds a different text in every row (such as {example}), like a name or an identifier, from which "
                "nothing can be learned. Drop it.",
                "drop",
            )
        n_texts = min(len(self.texts), self.max_texts)
        if len(self.texts) > max_categories:
            raise self._error(
                f"holds {'over ' if len(self.texts) > n_texts else ''}{n_texts} different texts (such as {example}), "
                f"more than the {max_categories} categories allowed. Drop it, or allow more categories.",
                "drop",
                "max_categories",
            )
        return CategoryColumn(self.name, tuple(sorted(self.texts)), has_missing=self.n_missing > 0)

    def _error(self, problem: str, *remedies: str) -> ColumnError:
        return ColumnError(f"column {self.name!r} {problem}", self.name, remedies)


def infer_schema(table: Table, selection: ColumnSelection, target: Target | None = None) -> Schema:
    """Read a table once to learn what its columns hold; memory does not grow with the number of rows.

    `target` describes labels that are not in the table, for a selection without the name of a target.
    """
    max_texts = max(MAX_TEXTS, selection.max_categories)
    names = selection.feature_names(table)
    summaries = [ColumnSummary(name, name in selection.categorical, max_texts) for name in names]
    labels: set[str] = set()
    kind = None
    n_rows = 0
    for chunk in table.chunks():
        for summary in summaries:
            summary.update(chunk)
        if selection.target is not None:
            if len(labels) <= MAX_CLASSES:
                labels.update(label_codes(chunk, selection.target).texts)
            kind = chunk.column(selection.target).kind
        n_rows += chunk.n_rows
    if n_rows == 0:
        raise TableError(f"{table.name} has no rows below its header.")
    if selection.target is not None:
        target = infer_target(selection.target, labels, kind)
    if target is None:
        raise ValueError("the selection names no target, and no labels are given.")
    columns = tuple(summary.infer_column(selection.max_categories) for summary in summaries)
    return Schema(TableEncoder(columns), target, n_rows)


def read_rows(table: Table, schema: Schema, codes: IndexArray | None = None) -> tuple[FloatArray, IndexArray]:
    """Return encoded rows, (rows, encoded columns) with NaN for missing numbers, and the codes of their classes.

    The codes are read from the target column unless they are given.
    """
    # Allocate once: concatenating parts at the end would take twice the memory.
    rows = np.empty((schema.n_rows, schema.encoder.n_encoded))
    found = np.empty(schema.n_rows, dtype=np.intp) if codes is None else codes
    first = 0
    for chunk in table.chunks():
        stop = first + chunk.n_rows
        if stop > schema.n_rows:
            break
        schema.encoder.write(chunk, rows[first:stop])
        if codes is None:
            found[first:stop] = schema.target.codes(chunk)
        first = stop
    else:
        if first == schema.n_rows:
            return rows, found
    raise TableError(f"{table.name} changed while it was read: it had {schema.n_rows} rows at first.")


def read_labeled(
    table: Table, encoder: TableEncoder, target: Target, on_chunk: Callable[[Chunk, FloatArray], None] | None = None
) -> tuple[FloatArray, IndexArray]:
    """Return the encoded rows of a new table, without missing values, and the codes of their classes.

    `on_chunk` is called with every chunk and its encoded rows.
    """
    parts = []
    for chunk in table.chunks():
        parts.append((encoder.encode(chunk), target.codes(chunk)))
        if on_chunk is not None:
            on_chunk(chunk, parts[-1][0])
    if not parts:
        raise TableError(f"{table.name} has no rows below its header.")
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
