"""Plain blocks of CSV files, which pyarrow reads twenty times as fast as the standard library, to the same cells.

A block is plain if both agree on it: quotes stand around whole cells only, and blanks beside separators are all outside
quotes, where they are removed, or all inside, where they are kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import IndexArray
from softpolytope.tabular._columns import Column, TextColumn

BLOCK_BYTES = 4_000_000
# A line that is longer than this is left to the reader that knows what to say about it.
MAX_BLOCK_BYTES = 32_000_000
QUOTE, NEWLINE, RETURN = 34, 10, 13
BLANKS = b" \t"


@dataclass(frozen=True, slots=True)
class Block:
    """Complete records of a plain file."""

    content: bytes
    lines: IndexArray  # last line of each record that is not blank, from 1
    n_lines: int
    has_breaks: bool  # whether some cell has several lines
    has_blanks: bool  # whether there may be blanks around cells

    @property
    def n_bytes(self) -> int:
        """Size in the file."""
        return len(self.content)


def read_blocks(path: Path, start: int, delimiter: str) -> Iterator[Block | None]:
    """Yield the blocks of a file from a byte on, then None if the rest is not plain."""
    if len(delimiter.encode()) != 1:
        yield None
        return
    with path.open("rb") as file:
        file.seek(start)
        rest = b""
        while part := file.read(BLOCK_BYTES):
            content = rest + part
            end = _find_end(content)
            rest = content[end:]
            if end:
                block = _scan(content[:end], ord(delimiter))
                yield block
            if len(rest) > MAX_BLOCK_BYTES:
                yield None
        if rest:
            yield _scan(rest, ord(delimiter))


def _find_end(content: bytes) -> int:
    """Return the size of the complete records: up to the last line end outside quotes."""
    end = content.rfind(b"\n") + 1
    n_quotes = content.count(b'"', 0, end)
    while end and n_quotes % 2:
        before = content.rfind(b"\n", 0, end - 1) + 1
        n_quotes -= content.count(b'"', before, end)
        end = before
    return end


def _scan(content: bytes, delimiter: int) -> Block | None:
    """Return a block, None if it is not plain."""
    if b"\x00" in content or content.count(b"\r") != content.count(b"\r\n"):
        return None
    letters = np.frombuffer(content, dtype=np.uint8)
    breaks = np.flatnonzero(letters == NEWLINE)
    n_lines = len(breaks) if content.endswith(b"\n") else len(breaks) + 1
    ends = breaks if n_lines == len(breaks) else np.append(breaks, len(letters))
    quotes = np.flatnonzero(letters == QUOTE) if b'"' in content else np.empty(0, dtype=np.intp)
    if not _are_around_cells(letters, quotes, delimiter):
        return None
    is_last = np.searchsorted(quotes, ends) % 2 == 0
    lines, ends = np.flatnonzero(is_last) + 1, ends[is_last]
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.intp)
    sizes = ends - starts
    is_blank = (sizes <= 0) | ((sizes == 1) & (letters[np.minimum(starts, len(letters) - 1)] == RETURN))
    blanks = _find_blanks(letters, delimiter)
    is_outside = np.searchsorted(quotes, blanks) % 2 == 0
    if is_outside.any() and len(quotes):
        return None
    return Block(content, lines[~is_blank], n_lines, bool((~is_last).any()), bool(is_outside.any()))


def _are_around_cells(letters: NDArray[np.uint8], quotes: IndexArray, delimiter: int) -> bool:
    """Return whether quotes open and close whole cells, except those that are written twice inside."""
    if len(quotes) % 2:
        return False
    padded = np.concatenate([[NEWLINE], letters, [NEWLINE]])
    opening, closing = quotes[0::2], quotes[1::2]
    before, after = padded[opening], padded[closing + 2]
    is_start = (before == delimiter) | (before == NEWLINE)
    is_end = (after == delimiter) | (after == NEWLINE) | (after == RETURN)
    # A quote that is written twice closes a part of the cell, and opens the next one.
    is_pair = closing[:-1] + 1 == opening[1:]
    is_start[1:] |= is_pair
    is_end[:-1] |= is_pair
    return bool(is_start.all() and is_end.all())


def _find_blanks(letters: NDArray[np.uint8], delimiter: int) -> IndexArray:
    """Return the places of blanks at the edges of cells."""
    is_blank = letters == BLANKS[0]
    if delimiter != BLANKS[1]:
        is_blank |= letters == BLANKS[1]
    places = np.flatnonzero(is_blank)
    padded = np.concatenate([[NEWLINE], letters, [NEWLINE]])
    beside = np.array([padded[places], padded[places + 2]])
    is_edge = (beside == delimiter) | (beside == NEWLINE) | (beside == RETURN)
    return np.asarray(places[is_edge.any(axis=0)])


def parse_block(block: Block, n_columns: int, delimiter: str) -> list[Column] | None:
    """Return the columns of a block, None if it needs the slow reader, which finds the error."""
    if block.has_blanks and n_columns == 1:
        return None  # a line of blanks is no row
    arrow = import_module("pyarrow")
    names = [str(number) for number in range(n_columns)]
    # One record batch: lines that are longer than a batch of pyarrow would be an error.
    reading = arrow.csv.ReadOptions(use_threads=False, block_size=block.n_bytes + 1, column_names=names)
    parsing = arrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=block.has_breaks)
    conversion = arrow.csv.ConvertOptions(column_types=dict.fromkeys(names, arrow.string()), strings_can_be_null=False)
    try:
        table = arrow.csv.read_csv(arrow.BufferReader(block.content), reading, parsing, conversion)
    except arrow.ArrowInvalid:
        return None
    if table.num_rows != len(block.lines):
        return None
    if not block.has_blanks:
        return [TextColumn(column) for column in table.columns]
    blanks = BLANKS.decode().replace(delimiter, "")
    return [TextColumn(arrow.compute.utf8_trim(column, blanks)) for column in table.columns]
