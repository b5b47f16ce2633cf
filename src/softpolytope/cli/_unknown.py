"""Notes on categories that training did not have."""

from softpolytope._typing import FloatArray
from softpolytope.cli._output import note
from softpolytope.tabular import Chunk, TableEncoder
from softpolytope.tabular import _unknown as unknown


class UnknownCategories:
    """Rows with categories that training did not have, counted by column."""

    def __init__(self, encoder: TableEncoder) -> None:
        self._found = unknown.UnknownCategories(encoder)

    def add(self, chunk: Chunk, encoded: FloatArray) -> None:
        """Count those of a chunk."""
        self._found.add(chunk, encoded)

    def tell(self) -> None:
        """Print the notes."""
        for count in self._found.columns:
            if count.n_unknown:
                rows = "1 row has a value" if count.n_unknown == 1 else f"{count.n_unknown} rows have values"
                name = count.column.name
                note(f"{rows} of {name!r} that training did not have ({count.first}); taken for none of those known.")
        for warning in self._found.warnings:
            note(warning)
