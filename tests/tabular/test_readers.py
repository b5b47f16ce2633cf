"""Readers: the same cells from every format, and errors that say where."""

from decimal import Decimal

import numpy as np
import pytest

from softpolytope.exceptions import TableError
from softpolytope.tabular import _csv, _svmlight, open_table
from softpolytope.tabular._table import parsed, rows_at


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
    assert chunk.place(0).endswith("a.csv, line 2")
    assert chunk.place(2).endswith("a.csv, line 6")


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


def test_what_is_a_number():
    """Python's extras are none: underscores, infinities; missing has many names."""
    texts = ["1", " 2 ", "-3e2", "", "NA", "?", "nan", "1_000", "inf", "1e999", "1,5", "x"]
    found = parsed(texts)
    assert found[:3].tolist() == [1.0, 2.0, -300.0]
    assert np.isnan(found[3:7]).all()
    assert np.isinf(found[7:]).all()
    assert np.isinf(parsed(["1", "1_0"])).tolist() == [False, True]


def test_missing_has_the_same_names_for_numbers_and_texts(tmp_path):
    """Python reads NAN and -nan as NaN; in a table they are texts, as they are categories."""
    strange = ["NAN", "Nan", "-nan", " nan"]
    assert np.isinf(parsed(strange)).all()
    assert np.isinf(parsed([*strange, "x"])).all()
    path = tmp_path / "a.csv"
    path.write_text("c\nNAN\nNaN\n")
    (chunk,) = read(path)
    assert np.isnan(parsed(chunk.values("c"))).tolist() == [False, True]
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
        (b"a,b\n1,2\n3\n", r"line 3: 1 cells, and the header has 2"),
        (b'a,b\n1,"x\n2,y\n', r"line 3: .*Are all quotes closed"),
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


def test_what_is_no_file(tmp_path):
    """Folders, nothing at all, unknown endings, and pipes, which cannot be read twice."""
    with pytest.raises(TableError, match="is a folder"):
        open_table(tmp_path)
    with pytest.raises(TableError, match=r"cannot be read: No such file"):
        open_table(tmp_path / "none.csv")
    (tmp_path / "a.xlsx").write_text("a\n1\n")
    with pytest.raises(TableError, match=r"none of the endings \.csv"):
        open_table(tmp_path / "a.xlsx")
    assert open_table(tmp_path / "a.xlsx", file_format="csv").columns == ("a",)
    with pytest.raises(TableError, match="no regular file"):
        open_table("/dev/null", file_format="csv")


def test_svmlight(tmp_path, monkeypatch):
    """What is not written is zero; comments and qid are skipped; the label is a column."""
    path = tmp_path / "a.svm"
    path.write_text("+1 1:0.5 3:2 # note\n\n-1 qid:4 2:-1e2\n+1\n")
    table = open_table(path)
    assert table.columns == ("label", "1", "2", "3")
    (chunk,) = table.chunks()
    assert chunk.numbers("1").tolist() == [0.5, 0.0, 0.0]
    assert chunk.numbers("2").tolist() == [0.0, -100.0, 0.0]
    assert chunk.numbers("7").tolist() == [0.0, 0.0, 0.0]
    assert chunk.texts("label") == ["+1", "-1", "+1"]
    assert chunk.place(1).endswith("line 3")
    monkeypatch.setattr(_svmlight, "CELLS", 2)
    assert [part.n_rows for part in table.chunks()] == [1, 1, 1]
    for line, message in [
        ("1 a:2", "line 1: 'a:2' is not of the form index:number"),
        ("1 1:nan", "not of the form"),
        ("1 1:2 1:3", "index 1 occurs twice"),
        ("1 20000:1", "index 20000 is above 10000"),
    ]:
        path.write_text(line)
        with pytest.raises(TableError, match=message):
            list(open_table(path).chunks())
    path.write_text("# nothing\n")
    with pytest.raises(TableError, match="no rows with values"):
        _ = open_table(path).columns


def test_parquet(tmp_path, monkeypatch):
    """Numbers, text, truth values, categories and dates; nothing nested; no file of another kind."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    table = pa.table(
        {
            "n": pa.array([1, None, 3]),
            "t": pa.array(["x", None, "y"]).dictionary_encode(),
            "b": [True, False, None],
            "d": pa.array([0, 1, None], pa.date32()),
        }
    )
    parquet.write_table(table, path)
    (chunk,) = read(path)
    assert chunk.numbers("n").tolist()[::2] == [1.0, 3.0]
    assert chunk.texts("t") == ["x", "", "y"]
    assert chunk.texts("b") == ["True", "False", ""]
    assert chunk.texts("d") == ["1970-01-01", "1970-01-02", ""]
    assert chunk.place(2).endswith("a.parquet, row 2")
    parquet.write_table(pa.table({"l": [[1], [2]]}), path)
    with pytest.raises(TableError, match=r"column 'l' is of type list"):
        open_table(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(TableError, match="damaged or no Parquet file"):
        open_table(path)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install softpolytope\[cli\]"):
        open_table(path)


@pytest.mark.parametrize("library", ["pandas", "polars", "dict"])
def test_frames(library):
    """Data frames of two libraries, and plain dicts."""
    columns = {"n": [1.5, None, 3.0], "t": ["x", None, "y"], "b": [True, False, True]}
    frame = columns if library == "dict" else pytest.importorskip(library).DataFrame(columns)
    (chunk,) = open_table(frame).chunks()
    assert chunk.numbers("n").tolist()[::2] == [1.5, 3.0]
    assert np.isnan(chunk.numbers("n")[1])
    assert chunk.texts("t") == ["x", "", "y"]
    assert chunk.texts("b") == ["True", "False", "True"]


LONG = [1234567890123456789, 1234567890123456788, -(2**63), 7]


@pytest.mark.parametrize("library", ["pandas", "polars", "dict"])
def test_long_whole_numbers_keep_their_digits_in_frames(library):
    """As texts, though as numbers they are rounded."""
    frame = {"n": LONG} if library == "dict" else pytest.importorskip(library).DataFrame({"n": LONG})
    (chunk,) = open_table(frame).chunks()
    assert chunk.texts("n") == [str(number) for number in LONG]
    assert chunk.numbers("n")[0] == chunk.numbers("n")[1] == float(LONG[0])
    assert chunk.taken([1]).texts("n") == ["1234567890123456788"]


def test_long_numbers_keep_their_digits_in_parquet(tmp_path):
    """Whole numbers, also where some are missing, and decimals; short ones are written as ever."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    decimals = ["12345678901234567.89", "1.10", "3.00"]
    columns = {
        "n": pa.array([LONG[0], None, 3]),
        "u": pa.array([2**64 - 1, 1, None], pa.uint64()),
        "d": pa.array(map(Decimal, decimals), pa.decimal128(19, 2)),
        "s": pa.array([1, None, 3]),
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    (chunk,) = read(tmp_path / "a.parquet")
    assert chunk.texts("n") == ["1234567890123456789", "", "3"]
    assert chunk.texts("u") == ["18446744073709551615", "1", ""]
    assert chunk.texts("d") == ["12345678901234567.89", "1.1", "3"]
    assert chunk.texts("s") == ["1", "", "3"]
    assert chunk.taken([0]).cells("n") == ["1234567890123456789"]
    assert chunk.numbers("n").tolist()[::2] == [float(LONG[0]), 3.0]
