"""What the columns of a table hold: numbers, categories, or something no model can use."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from softpolytope.exceptions import TableError
from softpolytope.tabular._encoder import CategoryColumn, Column, NumericColumn
from softpolytope.tabular._spelling import canonical_texts
from softpolytope.tabular._table import Chunk, named, parsed, shown

# Different texts that are remembered of a column; more are not counted.
MAX_TEXTS = 1000
# Fewer rows than this cannot tell an identifier from a category.
MIN_IDENTIFIERS = 10
# Squares of larger numbers, and so their spread, are infinite in double precision.
MAX_NUMBER = 1e150
# What pandas calls an index that it writes to a file, and what a column without a name is called here.
NOT_NAMED = ("Unnamed: ", "__index_level_")
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(\D.*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})(\D.*)?|\d{1,2}:\d{2}(:\d{2}.*)?"
)
# Numbers as people write them: a decimal comma, signs between thousands, per cent.
_WRITTEN = re.compile(r"\s*[-+]?(\d{1,3}([.,' ]\d{3})+|\d+)([.,]\d+)?\s*%?\s*")


@dataclass(slots=True)
class ColumnSurvey:
    """What has been seen of one column so far."""

    name: str
    is_categorical: bool  # whether the user says so
    most_texts: int = MAX_TEXTS
    n_missing: int = 0
    n_numbers: int = 0
    n_texts: int = 0
    is_whole: bool = True
    largest: float = 0.0  # of the numbers, without their sign
    texts: dict[str, None] = field(default_factory=dict)  # in the order in which they came
    has_repeats: bool = False
    first: dict[str, str] = field(default_factory=dict)  # place and content of the first number and text

    def add(self, chunk: Chunk) -> None:
        """Look at more rows."""
        if self.is_categorical:
            self._add_texts(canonical_texts(chunk.texts(self.name)))
            return
        values = chunk.values(self.name)
        # Numbers of a file that has types are finite or an error; text may be anything.
        numbers = chunk.numbers(self.name) if isinstance(values, np.ndarray) else parsed(values)
        is_missing, is_text = np.isnan(numbers), np.isinf(numbers)
        is_number = ~(is_missing | is_text)
        for kind, mask in (("text", is_text), ("number", is_number)):
            if kind not in self.first and mask.any():
                row = int(np.argmax(mask))
                self.first[kind] = f"{shown(values[row])} at {chunk.place(row)}"
        self._add_texts([str(values[row]) for row in np.flatnonzero(is_text).tolist()])
        self.n_numbers += int(is_number.sum())
        self.n_missing += int(is_missing.sum())
        known = numbers[is_number]
        self.is_whole = self.is_whole and bool((known == np.floor(known)).all())
        self.largest = max(self.largest, float(np.abs(known).max(initial=0.0)))

    def _add_texts(self, texts: Sequence[str]) -> None:
        for text in texts:
            if not text:
                self.n_missing += 1
                continue
            self.n_texts += 1
            if text in self.texts:
                self.has_repeats = True
            elif len(self.texts) <= self.most_texts:
                self.texts[text] = None

    def column(self, most_categories: int) -> Column:
        """How the column is encoded; one that no model can use is an error."""
        if not self.n_numbers and not self.n_texts:
            raise TableError(f"column {self.name!r} has no values at all. Leave it out: {self._drop()}.")
        if self.is_categorical:
            return self._category(most_categories)
        if self.name.startswith(NOT_NAMED):
            raise TableError(
                f"column {self.name!r} has no name of its own; it is often row numbers that a program wrote. Leave it "
                f"out ({self._drop()}), or give it a name in the file."
            )
        if self.n_texts == 0:
            return self._numeric()
        if self.n_numbers:
            raise TableError(
                f"column {self.name!r} holds both numbers ({self.first['number']}) and text ({self.first['text']}). "
                f"Correct the cells or leave them empty, or say that it holds categories: {self._categorical()}."
            )
        return self._category(most_categories)

    def _numeric(self) -> NumericColumn:
        if self.largest > MAX_NUMBER:
            raise TableError(
                f"column {self.name!r} holds numbers as large as {self.largest:.3g}, whose squares no computer holds. "
                f"Divide the column, or leave it out: {self._drop()}."
            )
        return NumericColumn(self.name, fill=None, has_missing=self.n_missing > 0, is_whole=self.is_whole)

    def _category(self, most: int) -> CategoryColumn:
        example = shown(next(iter(self.texts)))
        if not self.is_categorical and all(_DATE.fullmatch(text) for text in self.texts):
            raise TableError(
                f"column {self.name!r} holds dates or times (such as {example}), which are no numbers. Leave it out "
                f"({self._drop()}), or replace it by numbers that matter, such as days since an event."
            )
        if not self.is_categorical and all(_WRITTEN.fullmatch(text) for text in self.texts):
            raise TableError(
                f"column {self.name!r} holds numbers with commas or per cent signs (such as {example}), which are read "
                "as text. Write them with a decimal point and no other sign, or say that they are categories: "
                f"{self._categorical()}."
            )
        if not self.has_repeats and self.n_texts >= MIN_IDENTIFIERS:
            raise TableError(
                f"column {self.name!r} holds a different text in every row (such as {example}), like a name or an "
                f"identifier, from which nothing can be learned. Leave it out: {self._drop()}."
            )
        if len(self.texts) > most:
            at_least = "over " if len(self.texts) > self.most_texts else ""
            raise TableError(
                f"column {self.name!r} holds {at_least}{min(len(self.texts), self.most_texts)} different texts (such "
                f"as {example}), more than the {most} categories allowed. Leave it out ({self._drop()}), or allow "
                "more: --max-categories."
            )
        return CategoryColumn(self.name, tuple(sorted(self.texts)), has_missing=self.n_missing > 0)

    def _drop(self) -> str:
        return named("--drop", self.name)

    def _categorical(self) -> str:
        return named("--categorical", self.name)
