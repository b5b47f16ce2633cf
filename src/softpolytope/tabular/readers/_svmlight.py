"""Files in svmlight (LIBSVM) format, read in chunks: a label, then index:value for nonzero values."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from softpolytope.exceptions import TableError
from softpolytope.tabular._columns import Column, NumberColumn, TextColumn
from softpolytope.tabular._table import Chunk

LABEL = "label"
# Cells of a chunk; a value takes about 100 bytes until it is in an array.
CELLS = 400_000
MAX_LINE = 50_000_000  # bytes
# Rows become dense here; for wider files the classifiers take sparse matrices.
MAX_COLUMNS = 10_000


class SvmlightTable:
    """svmlight file: columns are named by their index, the label is the column `label`, omitted values are zero."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: tuple[str, ...] | None = None
        with path.open("rb"):
            pass  # a file that cannot be opened raises its own error

    @property
    def name(self) -> str:
        """Path as given."""
        return str(self._path)

    @property
    def columns(self) -> tuple[str, ...]:
        """Label, and every index from 1 (or 0, if it is used) to the largest; reads the file once."""
        if self._columns is None:
            first, last = 1, -1
            for _, _, cells in self._records():
                if cells:
                    first, last = min(first, *cells), max(last, *cells)
            if last < 0:
                raise TableError(f"{self.name} has no rows with values. A row is: label index:value index:value ...")
            self._columns = (LABEL, *(str(index) for index in range(first, last + 1)))
        return self._columns

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows; blank lines and comments are skipped."""
        part: list[tuple[int, str, dict[int, float]]] = []
        width = n_cells = 0
        for record in self._records():
            part.append(record)
            width = max(width, *record[2], 0)
            n_cells = len(part) * (width + 2)
            if n_cells >= CELLS:
                yield self._chunk(part)
                part, width = [], 0
        if part:
            yield self._chunk(part)

    def _chunk(self, part: list[tuple[int, str, dict[int, float]]]) -> Chunk:
        used = sorted({index for _, _, cells in part for index in cells})
        dense = np.zeros((len(used), len(part)))
        place = {index: number for number, index in enumerate(used)}
        for row, (_, _, cells) in enumerate(part):
            for index, value in cells.items():
                dense[place[index], row] = value
        columns: dict[str, Column] = {str(index): NumberColumn(dense[number], None) for index, number in place.items()}
        columns[LABEL] = TextColumn([label for _, label, _ in part])
        return Chunk(self.name, columns, [line for line, _, _ in part], "line", absent=0.0)

    def _records(self) -> Iterator[tuple[int, str, dict[int, float]]]:
        """Yield line number, label and the values by index."""
        with self._path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE):
                number += 1
                if len(line) == MAX_LINE:
                    raise TableError(f"{self.name} has a line of over {MAX_LINE} bytes. Check its format.")
                # Undecodable bytes end up in a word that is not a number, which is rejected below.
                words = line.decode("utf-8", "replace").split("#", 1)[0].split()
                if words:
                    yield number, words[0], self._cells(words[1:], number)

    def _cells(self, words: list[str], line: int) -> dict[int, float]:
        cells: dict[int, float] = {}
        for word in words:
            index, _, value = word.partition(":")
            if index == "qid":
                continue
            number = _finite(value)
            if number is None or not (index.isascii() and index.isdigit()) or len(index) > 9:
                raise TableError(f"{self.name}, line {line}: {word[:40]!r} is not of the form index:number.")
            column = int(index)
            if column > MAX_COLUMNS:
                raise TableError(
                    f"{self.name}, line {line}: index {column} is above {MAX_COLUMNS}. Fit such wide tables in Python "
                    "with sklearn.datasets.load_svmlight_file and a classifier of softpolytope."
                )
            if column in cells:
                raise TableError(f"{self.name}, line {line}: index {column} occurs twice.")
            cells[column] = number
        return cells


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None
