"""CSV files: cells, blanks, quotes and lines."""

import numpy as np
import pytest

from softpolytope.exceptions import TableError
from softpolytope.tabular import open_table
from softpolytope.tabular._cells import parse_numbers
from softpolytope.tabular._table import rows_at
from softpolytope.tabular.readers import _csv


def read(path, **options):
    """All chunks of a file."""
    return list(open_table(path, **options).chunks())


def test_csv_cells_and_lines(tmp_path):
    """Quotes, blank lines, a byte-order mark, spaces after commas; each row knows its line."""
    path = tmp_path / "a.csv"
    path.write_bytes(b'\xef\xbb\xbfa, b\n1, "x, ""y"""\n\n2.5e3,"two\nlines"\n,NA\n')
    (chunk,) = read(path)
    assert list(chunk.columns) == ["a", "b"]
    assert chunk.numbers("a").tolist()[:2] == [1.0, 2500.0]
    assert np.isnan(chunk.numbers("a")[2])
    assert list(chunk.texts("b")) == ['x, "y"', "two\nlines", ""]
    assert chunk.locate(0).endswith("a.csv, line 2")
    assert chunk.locate(2).endswith("a.csv, line 6")


BLANKS = """n , word,  last
1 ,no ,x\t
 2,\tno," y "
3 , "no " ,z
  \t
NA ,NA ,"two
lines , both "\x20
4," a "" b ,"\t,  5" pipe\t
5 ,?,w """


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_blanks_around_cells_are_no_part_of_them(tmp_path, end, delimiter):
    """Before and behind, spaces and tabs; cells in quotes keep theirs, over several lines too."""
    text = BLANKS.replace("\t", " ") if delimiter == "\t" else BLANKS
    path = tmp_path / "a.csv"
    path.write_bytes(text.replace(",", delimiter).replace("\n", end).encode())
    (chunk,) = read(path)
    assert list(chunk.columns) == ["n", "word", "last"]
    assert list(chunk.cells("n")) == ["1", "2", "3", "NA", "4", "5"]
    assert np.isnan(chunk.numbers("n")).tolist() == [False, False, False, True, False, False]
    assert list(chunk.cells("word")) == ["no", "no", "no ", "NA", f' a " b {delimiter}', "?"]
    assert chunk.texts("word") == ["no", "no", "no ", "", f' a " b {delimiter}', ""]
    assert list(chunk.cells("last")) == ["x", " y ", "z", f"two{end}lines {delimiter} both ", '5" pipe', "w"]
    assert list(chunk.lines) == [2, 3, 4, 7, 8, 9]


def test_cells_of_any_letters_come_back(tmp_path, rng):
    """Written with blanks around them, in quotes where they need them or by chance, 2,000 random cells are the same."""
    cells = [["".join(rng.choice(list('a,"\n\t '), rng.integers(1, 8))) for _ in range(4)] for _ in range(500)]
    blanks = [" ", "\t", "", "  "]

    def written(cell):
        needs_quotes = cell != cell.strip(" \t") or any(letter in cell for letter in ',"\n') or rng.random() < 0.5
        text = '"' + cell.replace('"', '""') + '"' if needs_quotes else cell
        return str(rng.choice(blanks)) + text + str(rng.choice(blanks))

    path = tmp_path / "a.csv"
    path.write_text("a,b,c,d\n" + "".join(",".join(map(written, row)) + "\n" for row in cells), newline="")
    (chunk,) = read(path)
    assert [list(row) for row in zip(*(chunk.cells(name) for name in "abcd"), strict=True)] == cells


def test_two_readings_of_one_file_at_once(tmp_path):
    """Each keeps its own place, in the middle of quotes or not."""
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1 ,"x \n y " \n2 , z \n')
    table = open_table(path)
    for one, other in zip(table.chunks(), table.chunks(), strict=True):
        assert list(one.cells("b")) == list(other.cells("b")) == ["x \n y ", "z"]


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_are_found(tmp_path, delimiter):
    """By the first line, or as told."""
    path = tmp_path / "a.csv"
    path.write_text(delimiter.join("ab") + "\n" + delimiter.join("12") + "\n")
    assert read(path)[0].numbers("b").tolist() == [2.0]
    assert list(read(path, delimiter="~")[0].columns) == [delimiter.join("ab")]


def test_missing_has_the_same_names_for_numbers_and_texts(tmp_path):
    """Python reads NAN and -nan as NaN; in a table they are texts, as they are categories."""
    strange = ["NAN", "Nan", "-nan", " nan"]
    assert np.isinf(parse_numbers(strange)).all()
    assert np.isinf(parse_numbers([*strange, "x"])).all()
    path = tmp_path / "a.csv"
    path.write_text("c\nNAN\nNaN\n")
    (chunk,) = read(path)
    assert np.isnan(chunk.column("c").numbers()).tolist() == [False, True]
    assert chunk.texts("c") == ["NAN", ""]
    assert list(chunk.cells("c")) == ["NAN", "NaN"]


def test_chunks_are_the_whole(tmp_path, monkeypatch):
    """Small chunks hold the rows of one large chunk, in order, with their lines."""
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{number},t{number}\n" for number in range(25)))
    whole = read(path)[0]
    monkeypatch.setattr(_csv, "CELLS", 8)
    parts = read(path)
    assert [part.n_rows for part in parts] == [4] * 6 + [1]
    assert np.concatenate([part.numbers("a") for part in parts]).tolist() == whole.numbers("a").tolist()
    assert [line for part in parts for line in part.lines] == list(whole.lines)
    picked = rows_at(open_table(path), [24, 0, 24])
    assert [row.numbers("a")[0] for row in picked] == [24.0, 0.0, 24.0]
    with pytest.raises(TableError, match=r"a\.csv has no row 25: it has the rows 0 to 24\."):
        rows_at(open_table(path), [25])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2\n3\n", r"line 3: 1 cells, but the header has 2"),
        (b'a,b\n1,"x\n2,y\n', r"line 3: .*Check that all quotes are closed"),
        (b"a,b,a\n1,2,3\n", "two columns 'a'"),
        (b"a,b\n1,\xe9t\xe9\n", "not UTF-8: line 2 has the byte 0xe9"),
        ("a,b\n1,2\n".encode("utf-16"), "not UTF-8: line 1 has the byte 0xff"),
        (b"a,b\n1,\x002\n", "NUL"),
    ],
)
def test_bad_csv_files(tmp_path, content, message):
    """Each is told in words, with the line where there is one."""
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        read(path)
