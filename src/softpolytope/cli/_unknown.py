"""Notes on categories that training did not have."""

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.cli._output import note
from softpolytope.tabular.encoding import TableEncoder
from softpolytope.tabular.table import Chunk, shown


class UnknownCategories:
    """Rows with categories that training did not have, counted by column."""

    def __init__(self, encoder: TableEncoder) -> None:
        self._encoder = encoder
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def add(self, chunk: Chunk, encoded: FloatArray) -> None:
        """Count those of a chunk."""
        for name, is_unknown in self._encoder.is_unknown(encoded).items():
            if is_unknown.any():
                row = int(np.argmax(is_unknown))
                text = chunk.texts(name)[row]
                self._first.setdefault(name, f"{shown(text) if text else 'no value'} at {chunk.place(row)}")
                self._counts[name] = self._counts.get(name, 0) + int(is_unknown.sum())

    def tell(self) -> None:
        """Say so."""
        for name, count in self._counts.items():
            rows = "1 row has a value" if count == 1 else f"{count} rows have values"
            note(f"{rows} of {name!r} that training did not have ({self._first[name]}); taken for none of those known.")
