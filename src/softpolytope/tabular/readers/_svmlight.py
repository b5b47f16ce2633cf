"""Files in svmlight (LIBSVM) format, read in chunks: a label, then index:value for nonzero values.

scikit-learn reads blocks of lines, four times as fast as the reader of lines here. That one takes the blocks with
anything that scikit-learn refuses or reads differently, and knows the line of every error.
"""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from scipy import sparse

from softpolytope.exceptions import TableError
from softpolytope.tabular._columns import Column, NumberColumn, TextColumn
from softpolytope.tabular._table import Chunk

LABEL = "label"
# Cells of a chunk.
CELLS = 400_000
BLOCK_BYTES = 2_000_000
MAX_LINE = 50_000_000  # bytes
# Rows become dense here; for wider files the classifiers take sparse matrices.
MAX_COLUMNS = 10_000


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a block of lines."""

    cells: sparse.csr_array  # (rows, indices from 0 to the largest)
    labels: list[str]
    lines: list[int]


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
            for rows in self._blocks():
                if rows.cells.nnz:
                    first, last = min(first, rows.cells.indices.min()), max(last, rows.cells.indices.max())
            if last < 0:
                raise TableError(f"{self.name} has no rows with values. A row is: label index:value index:value ...")
            self._columns = (LABEL, *(str(index) for index in range(first, last + 1)))
        return self._columns

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows; blank lines and comments are skipped."""
        for rows in self._blocks():
            at_once = max(1, CELLS // (rows.cells.shape[1] + 1))
            for start in range(0, len(rows.lines), at_once):
                part = slice(start, start + at_once)
                dense = rows.cells[part].toarray(order="F")
                used = [index for index, values in enumerate(dense.T) if index or values.any()]
                columns: dict[str, Column] = {str(index): NumberColumn(dense[:, index], None) for index in used}
                columns[LABEL] = TextColumn(rows.labels[part])
                yield Chunk(self.name, columns, rows.lines[part], "line", absent=0.0)

    def _blocks(self) -> Iterator[Rows]:
        """Yield blocks of rows, each with at least one."""
        n_lines = 0
        with self._path.open("rb") as file:
            while block := self._read_lines(file, n_lines):
                rows = _parse_plain(block, n_lines) or self._parse(block, n_lines)
                if rows.lines:
                    yield rows
                n_lines += len(block)

    def _read_lines(self, file: BinaryIO, n_lines: int) -> list[bytes]:
        """Return the lines of a block, none at the end of the file."""
        block: list[bytes] = []
        size = 0
        while size < BLOCK_BYTES and (line := file.readline(MAX_LINE)):
            size += len(line)
            block.append(line)
            if len(line) == MAX_LINE:
                raise TableError(
                    f"{self.name}, line {n_lines + len(block)}: over {MAX_LINE} bytes. Check the format of the file."
                )
        return block

    def _parse(self, block: list[bytes], n_lines: int) -> Rows:
        """Parse line by line; raise at the first error."""
        labels: list[str] = []
        lines: list[int] = []
        indices: list[int] = []
        values: list[float] = []
        starts = [0]
        for number, line in enumerate(block, n_lines + 1):
            # Undecodable bytes end up in a word that is not a number, which is rejected below.
            words = line.decode("utf-8", "replace").split("#", 1)[0].split()
            if words:
                found = self._cells(words[1:], number)
                labels.append(words[0])
                lines.append(number)
                indices += found
                values += found.values()
                starts.append(len(values))
        cells = (np.array(values), np.array(indices, dtype=np.intp), np.array(starts, dtype=np.intp))
        return Rows(sparse.csr_array(cells, (len(lines), max(indices, default=0) + 1)), labels, lines)

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


def _parse_plain(block: list[bytes], n_lines: int) -> Rows | None:
    """Parse lines by scikit-learn; None if it refuses them, or might read something else than the reader of lines."""
    content = b"".join(block)
    # Python, which scikit-learn asks for numbers, also reads 1_000, and an index of +1 or -1.
    if not content.isascii() or any(sign in content for sign in (b"_", b" +", b" -", b"\t+", b"\t-", b"qid")):
        return None
    starts = [line.split(b"#", 1)[0].split(None, 1)[:1] for line in block]
    lines = [number for number, start in enumerate(starts, n_lines + 1) if start]
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415  # other formats are read without it

    try:
        cells, labels = load_svmlight_file(io.BytesIO(content), zero_based=True)
    except (ValueError, OverflowError):
        return None
    if len(labels) != len(lines) or cells.shape[1] > MAX_COLUMNS + 1 or not np.isfinite(cells.data).all():
        return None
    return Rows(sparse.csr_array(cells), [start[0].decode() for start in starts if start], lines)


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None
