"""Whole columns of tables: numbers, texts, and texts as codes.

Texts are replaced by indices into the distinct ones, so that work on texts is done once per distinct text, and the rest
is arithmetic of arrays. pyarrow makes that faster where it is installed; results do not depend on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.tabular._cells import MISSING, Kind, format_number, parse_numbers

if TYPE_CHECKING:
    import pyarrow as pa

# With fewer cells than this, importing pyarrow takes longer than it saves.
MIN_CELLS_FOR_ARROW = 20_000
# Cells that tell whether a column is worth a try to read it as numbers.
FIRST_CELLS = 100


class Column(Protocol):
    """Cells of a column."""

    @property
    def kind(self) -> Kind | None:
        """Kind of all values; None in text files, and where there are several kinds."""
        ...

    @property
    def is_numeric(self) -> bool:
        """Whether the source has numbers rather than text."""
        ...

    @property
    def is_category(self) -> bool:
        """Whether the source declares that these are categories, whatever they look like."""
        ...

    def __len__(self) -> int: ...

    def numbers(self) -> FloatArray:
        """Return cells as numbers: NaN where a value is missing, infinity for anything but a finite number."""
        ...

    def codes(self) -> "Codes":
        """Return cells as they stand, as indices into the distinct texts."""
        ...

    def cell(self, row: int) -> str | float:
        """Return a cell for a message."""
        ...

    def select(self, rows: IndexArray) -> "Column":
        """Return some of the cells."""
        ...


@dataclass(frozen=True)
class Codes:
    """Texts as indices into the distinct ones, each of which occurs; a missing value of a typed source is ""."""

    indices: IndexArray  # (rows,)
    texts: Sequence[str]  # distinct
    kind: Kind | None = None
    is_numeric = False
    is_category = False

    def __len__(self) -> int:
        return len(self.indices)

    def numbers(self) -> FloatArray:
        """Parse each distinct text once."""
        return parse_numbers(self.texts)[self.indices]

    def codes(self) -> "Codes":
        """Return the same column."""
        return self

    def cell(self, row: int) -> str:
        """Return the text of a cell."""
        return self.texts[int(self.indices[row])]

    def select(self, rows: IndexArray) -> "Codes":
        """Return some of the cells, and the texts among them."""
        indices = self.indices[rows]
        is_used = np.bincount(indices, minlength=len(self.texts)) > 0
        texts = [self.texts[index] for index in np.flatnonzero(is_used).tolist()]
        return Codes((np.cumsum(is_used) - 1)[indices], texts, self.kind)

    def with_missing(self) -> "Codes":
        """Return the column with "" for all texts that stand for a missing value; "" may then occur several times."""
        if MISSING.isdisjoint(self.texts):
            return self
        return Codes(self.indices, ["" if text in MISSING else text for text in self.texts], self.kind)

    def counts(self) -> IndexArray:
        """Return the number of cells with each text."""
        return np.bincount(self.indices, minlength=len(self.texts))

    def to_list(self) -> list[str]:
        """Return the text of every cell."""
        return [self.texts[index] for index in self.indices.tolist()]


class NumberColumn:
    """Cells of a typed source of numbers."""

    is_numeric = True
    is_category = False

    def __init__(self, values: NDArray[Any], kind: Kind | None, is_missing: NDArray[np.bool_] | None = None) -> None:
        self._values, self.kind, self._is_missing = values, kind, is_missing

    def __len__(self) -> int:
        return len(self._values)

    def numbers(self) -> FloatArray:
        """Return the values as doubles."""
        numbers = np.asarray(self._values, dtype=np.float64)
        return numbers if self._is_missing is None else np.where(self._is_missing, np.nan, numbers)

    def codes(self) -> Codes:
        """Format each distinct value once; integers keep digits that a double cannot hold."""
        values = self._values if self._values.dtype.kind in "iu" else self.numbers()
        distinct, indices = np.unique(values, return_inverse=True)
        texts = [format_number(value) if isinstance(value, float) else str(value) for value in distinct.tolist()]
        if self._is_missing is None:
            return Codes(indices, texts, self.kind)
        found = np.where(self._is_missing, len(texts), indices)
        return Codes(found, [*texts, ""], self.kind).select(np.arange(len(found)))

    def cell(self, row: int) -> float:
        """Return the number of a cell."""
        return float(self.numbers()[row])

    def select(self, rows: IndexArray) -> "NumberColumn":
        """Return some of the cells."""
        return NumberColumn(self._values[rows], self.kind, None if self._is_missing is None else self._is_missing[rows])


class TextColumn:
    """Cells of text, in a sequence or an Arrow array; null is ""."""

    is_numeric = False

    def __init__(
        self,
        texts: "Sequence[str] | pa.Array | pa.ChunkedArray",
        kind: Kind | None = None,
        *,
        is_category: bool = False,
    ) -> None:
        self._texts, self.kind, self.is_category = texts, kind, is_category
        if hasattr(texts, "combine_chunks"):  # a column of an Arrow table
            self._texts = texts.combine_chunks()

    def __len__(self) -> int:
        return len(self._texts)

    def numbers(self) -> FloatArray:
        """Parse the texts in Arrow if it can parse all of them, else each distinct text once."""
        if isinstance(self._texts, Sequence):
            return parse_numbers(self._texts)
        found = _arrow_numbers(self._texts)
        return self._codes.numbers() if found is None else found

    def codes(self) -> Codes:
        """Return the texts as codes, computed once."""
        return self._codes

    @cached_property
    def _codes(self) -> Codes:
        if not isinstance(self._texts, Sequence):
            encoded = self._texts.fill_null("").dictionary_encode()
            return Codes(encoded.indices.to_numpy().astype(np.intp), encoded.dictionary.to_pylist(), self.kind)
        known: dict[str, int] = {}
        indices = [known.setdefault(text, len(known)) for text in self._texts]
        return Codes(np.array(indices, dtype=np.intp), list(known), self.kind)

    def cell(self, row: int) -> str:
        """Return the text of a cell."""
        text = self._texts[row]
        return text if isinstance(text, str) else str(text.as_py() or "")

    def select(self, rows: IndexArray) -> "TextColumn":
        """Return some of the cells."""
        return TextColumn([self.cell(row) for row in rows.tolist()], self.kind, is_category=self.is_category)


def import_arrow() -> ModuleType | None:
    """Return pyarrow with its CSV reader and functions, None if it is not installed."""
    try:
        import_module("pyarrow.csv")
        import_module("pyarrow.compute")
        return import_module("pyarrow")
    except ImportError:
        return None


def _arrow_numbers(texts: "pa.Array") -> FloatArray | None:
    """Return the numbers of an Arrow array of texts, None if any of them needs a closer look.

    Arrow rounds as Python does. It also reads infinities and NaN in any form, which are texts in a table.
    """
    arrow = import_module("pyarrow")
    # A column of text shows at once, while Arrow makes an error of every cell.
    if np.isinf(parse_numbers(texts.slice(0, FIRST_CELLS).fill_null("").to_pylist())).any():
        return None
    for is_clean in (True, False):
        given = texts
        if not is_clean:
            is_missing = arrow.compute.is_in(texts, value_set=arrow.array(sorted(MISSING), texts.type))
            given = arrow.compute.if_else(is_missing, arrow.scalar(None, texts.type), texts)
        try:
            numbers = given.cast(arrow.float64())
        except arrow.ArrowInvalid:
            continue
        values = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
        if np.isfinite(values).sum() == len(values) - numbers.null_count:
            return values
    return None
