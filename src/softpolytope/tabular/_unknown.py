"""Categories that training did not have, counted over the chunks of a table."""

from dataclasses import dataclass, field

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.tabular._encoder import CategoryColumn, TableEncoder
from softpolytope.tabular._table import Chunk, listed, shown

# Values that a message shows.
MAX_SHOWN = 3


@dataclass(slots=True)
class ColumnCount:
    """Unknown categories of one column."""

    column: CategoryColumn
    n_unknown: int = 0  # rows, those without a value included where training had none
    first: str = ""  # value and place of the first of them
    has_known: bool = False  # whether any row has a category that training had
    values: dict[str, None] = field(default_factory=dict)  # a few of the unknown ones

    def add(self, chunk: Chunk, encoded: FloatArray) -> None:
        """Count those of a chunk, from the encoded columns of this column."""
        self.has_known = self.has_known or bool(encoded[:, : len(self.column.categories)].any())
        rows = np.flatnonzero(~encoded.any(axis=1)).tolist()
        if not rows:
            return
        texts = chunk.texts(self.column.name)
        if not self.n_unknown:
            text = texts[rows[0]]
            self.first = f"{shown(text) if text else 'no value'} at {chunk.place(rows[0])}"
        self.n_unknown += len(rows)
        if len(self.values) < MAX_SHOWN:
            found = dict.fromkeys(texts[row] for row in rows if texts[row])
            self.values.update(dict.fromkeys(list(found)[:MAX_SHOWN]))

    @property
    def warning(self) -> str | None:
        """A sentence if the column has values and none of them is known, None otherwise."""
        if self.has_known or not self.values:
            return None
        return (
            f"column {self.column.name!r} holds only categories that training did not have, such as "
            f"{listed(map(shown, list(self.values)[:MAX_SHOWN]))}; training had "
            f"{listed(map(shown, self.column.categories), MAX_SHOWN)}. All of them count as none of those known. Check "
            "that the column is the right one and written as in training."
        )


class UnknownCategories:
    """Unknown categories of all columns of a table."""

    def __init__(self, encoder: TableEncoder) -> None:
        self._blocks = [
            (ColumnCount(column), place) for column, place in encoder.blocks() if isinstance(column, CategoryColumn)
        ]

    def add(self, chunk: Chunk, encoded: FloatArray) -> None:
        """Count those of a chunk and its encoded rows."""
        for count, place in self._blocks:
            count.add(chunk, encoded[:, place])

    @property
    def columns(self) -> list[ColumnCount]:
        """The counts of the columns of categories."""
        return [count for count, _ in self._blocks]

    @property
    def warnings(self) -> list[str]:
        """A sentence for each column that has values and no known one."""
        return [count.warning for count in self.columns if count.warning is not None]
