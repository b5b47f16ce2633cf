"""CSV files, read in chunks by pyarrow where it is installed and the file is plain, else by the standard library."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from softpolytope.exceptions import TableError
from softpolytope.tabular._columns import Column, TextColumn, import_arrow
from softpolytope.tabular._table import Chunk, validate_names
from softpolytope.tabular.readers._csv_blocks import parse_block, read_blocks

# Cells of a chunk; a cell of text takes about 60 bytes.
CELLS = 400_000
MAX_LINE = 10_000_000  # characters
# Smaller files are read before pyarrow is imported.
MIN_BYTES_FOR_ARROW = 500_000
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DELIMITERS = ",;\t|"
# Ends of lines whose last cell has a trailing blank.
BLANK_ENDS = (" \n", " \r\n", " \r", " ")


class CsvTable:
    """CSV file with a header, in UTF-8.

    Blanks around cells are removed, except inside quotes.
    """

    def __init__(self, path: Path, delimiter: str | None = None) -> None:
        self._path = path
        with _open(path) as file:
            first = _first_line(file, path)
            self._delimiter = delimiter or max(DELIMITERS, key=first.count)
            file.seek(0)
            for line, names in self._records(file):
                self.columns = validate_names([name.strip() for name in names], self.name)
                self._n_header_lines = line
                break
            else:
                raise TableError(f"{path} is empty. It needs a first line with the names of the columns.")

    @property
    def name(self) -> str:
        """Path as given."""
        return str(self._path)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows after the header; blank lines are skipped.

        pyarrow reads blocks of a large file. From the first block that it cannot be trusted with, the standard library
        reads the rest, which knows the line of every error.
        """
        line, start = self._n_header_lines, self._find_body()
        if self._path.stat().st_size >= MIN_BYTES_FOR_ARROW and import_arrow() is not None:
            for block in read_blocks(self._path, start, self._delimiter):
                columns = None if block is None else parse_block(block, len(self.columns), self._delimiter)
                if block is None or columns is None:
                    break
                if len(block.lines):
                    lines = (block.lines + line).tolist()
                    yield Chunk(self.name, dict(zip(self.columns, columns, strict=True)), lines, "line")
                line += block.n_lines
                start += block.n_bytes
            else:
                return
        yield from self._read_slowly(start, line)

    def _find_body(self) -> int:
        """Return the number of bytes before the first row."""
        with _open(self._path) as file:
            header = "".join(file.readline() for _ in range(self._n_header_lines))
        with self._path.open("rb") as raw:
            n_mark = len(BYTE_ORDER_MARK) if raw.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK else 0
        return n_mark + len(header.encode())

    def _read_slowly(self, start: int, n_lines: int) -> Iterator[Chunk]:
        """Yield the rows from a byte on, before which there are so many lines."""
        n_columns = len(self.columns)
        at_once = max(1, CELLS // n_columns)
        with self._path.open("rb") as raw:
            raw.seek(start)
            file = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            rows: list[list[str]] = []
            lines: list[int] = []
            for line, row in self._records(file, n_lines):
                if len(row) != n_columns:
                    raise TableError(
                        f"{self.name}, line {line}: {len(row)} cells, but the header has {n_columns}. "
                        "Correct the line; text that contains the separator needs quotes."
                    )
                rows.append(row)
                lines.append(line)
                if len(rows) == at_once:
                    yield self._chunk(rows, lines)
                    rows, lines = [], []
            if rows:
                yield self._chunk(rows, lines)

    def _chunk(self, rows: list[list[str]], lines: list[int]) -> Chunk:
        columns: dict[str, Column] = dict(zip(self.columns, map(TextColumn, zip(*rows, strict=True)), strict=True))
        return Chunk(self.name, columns, lines, "line")

    def _records(self, file: TextIO, n_lines: int = 0) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the cells of every line that has any, after so many others."""
        stripper = _Stripper(self._delimiter)
        reader = csv.reader(self._lines(file, stripper), delimiter=self._delimiter, strict=True, skipinitialspace=True)
        try:
            for row in reader:
                stripper.is_start = True
                if row:
                    yield n_lines + reader.line_num, row
        except csv.Error as error:
            raise TableError(
                f"{self.name}, line {n_lines + reader.line_num}: {error}. Check that all quotes are closed."
            ) from None
        except UnicodeError:
            raise TableError(f"{self.name} {_undecodable(self._path)}") from None

    def _lines(self, file: TextIO, stripper: "_Stripper") -> Iterator[str]:
        """Yield lines without blanks around their cells, of limited length."""
        before, has_tabs = f" {self._delimiter}", self._delimiter == "\t"
        while line := file.readline(MAX_LINE):
            if len(line) == MAX_LINE:
                raise TableError(f"{self.name} has a line of over {MAX_LINE} characters. Check that it is a CSV file.")
            if "\x00" in line:
                raise TableError(f"{self.name} has NUL characters. Check that it is a CSV file.")
            # Most lines have no such blanks, and are passed on unchanged.
            if before in line or line.endswith(BLANK_ENDS) or ("\t" in line and not has_tabs):
                line = stripper.strip(line)
            stripper.is_start = False
            yield line


class _Stripper:
    """Remover of blanks around cells, except inside quotes."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter
        self._blanks = " \t".replace(delimiter, "")
        self.is_start = True  # whether the next line begins a record, rather than continuing a quoted cell
        mark, blanks = re.escape(delimiter), f"[{self._blanks}]*"
        quoted = r'"[^"]*(?:""[^"]*)*(?:"|\Z)'
        self._cell = re.compile(rf"{blanks}({quoted}){blanks}(?=[{mark}\r\n]|\Z)|[^{mark}\r\n]+")

    def strip(self, line: str) -> str:
        """Return the line without blanks around its cells."""
        if not self.is_start:
            # With a leading quote, a line that begins inside quotes is one that begins with a quoted cell.
            return self._cell.sub(self._strip_cell, f'"{line}')[1:]
        if '"' in line:
            return self._cell.sub(self._strip_cell, line)
        cells = line.rstrip("\r\n").split(self._delimiter)
        return self._delimiter.join([cell.strip(self._blanks) for cell in cells]) + "\n"

    def _strip_cell(self, cell: re.Match[str]) -> str:
        return cell[1] or cell[0].strip(self._blanks)


def _open(path: Path) -> TextIO:
    # Skip a byte-order mark; the csv module needs unchanged line ends.
    return path.open(encoding="utf-8-sig", newline="")


def _first_line(file: TextIO, path: Path) -> str:
    try:
        return file.readline(MAX_LINE)
    except UnicodeError:
        raise TableError(f"{path} {_undecodable(path)}") from None


def _undecodable(path: Path) -> str:
    """Return which line is not UTF-8; a decoder reads ahead, so search the file again."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                byte = line[error.start]
                return f"is not UTF-8: line {number} has the byte 0x{byte:02x}. Save the table as UTF-8."
    return "is not UTF-8. Save the table as UTF-8."
