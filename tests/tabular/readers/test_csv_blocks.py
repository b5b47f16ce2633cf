"""Blocks that pyarrow reads: the same cells, lines and errors as the standard library."""

import re

import numpy as np
import pytest

from softpolytope.exceptions import TableError
from softpolytope.tabular import open_table
from softpolytope.tabular.readers import _csv, _csv_blocks

pytest.importorskip("pyarrow")

CELLS = [
    "1", "-2.5", "1e3", " 7", "7 ", "\t8", "NA", "", "", "x", "Oslo", "dark green",
    '"a, b"', '" a, b "', '"say ""no"""',
    '""', '""""', '"two\nlines"', '"two\r\nlines"', "Ærø", "+1", "nan", "inf", "1_000", "0x10", "\u0661", ".5", "5.",
]  # fmt: skip
ODD = ['5" pipe', '"open', '"a"b', ' "x" ', '"x" ', "a\rb", "\x00", "a,b", "\xff", "1\u2028"]


def read_all(path, **options):
    """Columns of cells and of numbers, lines, and the error, if any."""
    cells, numbers, lines, error = [], [], [], None
    try:
        table = open_table(path, **options)
        for chunk in table.chunks():
            cells += zip(*(chunk.cells(name) for name in table.columns), strict=True)
            numbers += zip(*(chunk.column(name).numbers().tolist() for name in table.columns), strict=True)
            lines += list(chunk.lines)
    except TableError as caught:
        error = str(caught)
    return (cells, str(numbers), lines), error


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few lines, of files of any size; how many pyarrow has read, and the slow reader's starts."""
    monkeypatch.setattr(_csv_blocks, "BLOCK_BYTES", 64)
    monkeypatch.setattr(_csv, "MIN_BYTES_FOR_ARROW", 0)
    parsed = []
    true_parse = _csv_blocks.parse_block

    def parse(*arguments):
        found = true_parse(*arguments)
        parsed.append(found is not None)
        return found

    monkeypatch.setattr(_csv, "parse_block", parse)
    return parsed


def random_file(rng):
    """Lines of random cells, some of them blank, most of them well-formed."""
    end, delimiter = rng.choice(["\n", "\r\n"]), str(rng.choice([",", ",", ";", "\t"]))
    n_columns = int(rng.integers(1, 4))
    cells = [cell for cell in CELLS if rng.random() < 0.7] or CELLS
    cells += [str(rng.choice(ODD))] if rng.random() < 0.15 else []
    lines = [delimiter.join("abc"[:n_columns])]
    for _ in range(int(rng.integers(0, 40))):
        kind = rng.random()
        if kind < 0.04:
            lines.append("" if kind < 0.02 else "  ")
        else:
            n_cells = n_columns + int(rng.random() < 0.005)
            lines.append(delimiter.join(rng.choice(cells, n_cells).tolist()).replace(",", delimiter))
    content = end.join(lines) + ("" if rng.random() < 0.3 else end)
    mark = b"\xef\xbb\xbf" if rng.random() < 0.1 else b""
    return mark + content.encode("latin-1" if "\xff" in content and content.isascii() else "utf-8"), delimiter


def test_random_files_are_read_alike(tmp_path, rng, small_blocks, monkeypatch):
    """Cells, numbers, lines and errors of 600 files, by both readers."""
    path = tmp_path / "a.csv"
    n_errors = 0
    for _ in range(600):
        content, delimiter = random_file(rng)
        path.write_bytes(content)
        found = read_all(path, delimiter=delimiter)
        with monkeypatch.context() as patch:
            patch.setattr(_csv, "MIN_BYTES_FOR_ARROW", 1e9)
            expected = read_all(path, delimiter=delimiter)
        assert found[1] == expected[1], content
        if expected[1] is None:
            assert found[0] == expected[0], content
        n_errors += expected[1] is not None
    assert 20 < n_errors < 300
    assert sum(small_blocks) > 200


def test_most_blocks_of_plain_files_are_read_by_arrow(tmp_path, small_blocks):
    """Quotes around cells, blank lines, cells of two lines, blanks in quotes or around cells need no slow way."""
    for cells in ("1,x\n", '1,"x, y"\n', '"a ""b""",2\n\n', '"two\nlines",\r\n', "1 , x\n", ',"\n"\n'):
        path = tmp_path / "a.csv"
        path.write_text("n,t\n" + cells * 40, newline="")
        del small_blocks[:]
        rows = sum(chunk.n_rows for chunk in open_table(path).chunks())
        assert rows == 40
        assert len(small_blocks) > 1
        assert all(small_blocks)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2,3\n", "line 5002: 3 cells, but the header has 2"),
        ('"a"b,2\n', r"line 5002: .*Check that all quotes are closed"),
        ("\xff,2\n", "not UTF-8: line 5002 has the byte 0xff"),
        ("1,\x002\n", "NUL"),
    ],
)
def test_errors_name_their_line(tmp_path, small_blocks, line, message):
    """After blocks that pyarrow has read."""
    path = tmp_path / "a.csv"
    path.write_bytes(("n,t\n" + "1,x\n" * 5000 + line + "1,x\n" * 5000).encode("latin-1"))
    with pytest.raises(TableError, match=message):
        list(open_table(path).chunks())
    assert True in small_blocks


def test_numbers_that_arrow_reads_otherwise(tmp_path, small_blocks):
    """Infinities and NaN are texts in any form except the names of missing values, underscores are no digits."""
    for text in ("NAN", "inf", "-Infinity", "1_000", "1e999", "0x10", "x", "1d", "1f"):
        path = tmp_path / "a.csv"
        path.write_text("n\n" + "1.5\n" * 30 + f"{text}\nNaN\n\n")
        numbers = np.concatenate([chunk.column("n").numbers() for chunk in open_table(path).chunks()])
        assert (np.isinf(numbers).sum(), np.isnan(numbers).sum(), len(numbers)) == (1, 1, 32), text
        with pytest.raises(TableError, match=re.escape(f"line 32, column 'n': '{text}' is not a finite number")):
            _ = [chunk.numbers("n") for chunk in open_table(path).chunks()]
    assert all(small_blocks)
