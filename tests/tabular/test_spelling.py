"""Categories in all their spellings: 2 and 2.0, True, true and 1, from every kind of table."""

import warnings

import numpy as np
import pytest

from softpolytope import SoftplusClassifier, TableClassifier
from softpolytope.cli import main
from softpolytope.tabular import open_table
from softpolytope.tabular._encoder import CategoryColumn, TableEncoder
from softpolytope.tabular._export import table_python_source
from softpolytope.tabular._plan import ColumnSelection, infer_schema
from softpolytope.tabular._spelling import canonical, open_partition_store, spellings

CODES = [2, 3, 10, 2, None, 3, 10, 2]
FLAGS = [True, False, True, False, True, True, False, False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2", "2"), ("2.0", "2"), ("2.", "2"), ("+2", "2"), ("-2.00", "-2"), ("-0.0", "0"), ("0", "0"), ("20.0", "20"),
        ("12345678901234567890.0", "12345678901234567890"),
        ("02", "02"), ("02.0", "02.0"), ("00", "00"), ("2.5", "2.5"), ("2.50", "2.50"), ("1.2.0", "1.2.0"), ("", ""),
        (".0", ".0"), ("-", "-"), ("1e3", "1e3"), ("\u0662", "\u0662"), ("2 ", "2 "), ("2\n", "2\n"), ("--2", "--2"),
    ],
)  # fmt: skip
def test_canonical_text(text, expected):
    """Whole numbers have one; codes with leading zeros, versions and fractions stay as they are."""
    assert canonical(text) == expected


def test_a_text_is_nearest_to_itself():
    """Categories that differ only in their spelling, as old files may hold, keep their own."""
    known = spellings(["2", "2.0", "no", "no ", "03"])
    assert [open_partition_store(text, known) for text in ["2", "2.0", "+2", "no", "no ", "03", "3", ""]] == [
        0, 1, 0, 2, 3, 4, -1, -1,
    ]  # fmt: skip
    assert open_partition_store("2", spellings(["2.0", "x "])) == 0
    assert open_partition_store("x", spellings(["2.0", "x "])) == 1


@pytest.mark.parametrize("texts", [["False", "True"], ["FALSE", "TRUE"], ["0", "1"], ["0.0", "1.0"]])
def test_truth_values(texts):
    """Of columns that hold nothing else, one spelling each."""
    known = spellings(texts)
    assert [open_partition_store(text, known) for text in ["False", "false", "FALSE", "0", "0.0", "-0"]] == [0] * 6
    assert [open_partition_store(text, known) for text in ["True", "true", "TRUE", "1", "1.0", "+1"]] == [1] * 6
    assert open_partition_store("yes", known) == open_partition_store("2", known) == -1
    assert open_partition_store("1", spellings(["False", "True", "perhaps"])) == -1
    assert open_partition_store("1", spellings(["False", "True", "true"])) == -1


def csv_of(texts):
    """A way to write the cells of a column as a CSV file."""

    def write(folder, columns):
        path = folder / "table.csv"
        cells = [texts(column) for column in columns.values()]
        path.write_text(",".join(columns) + "\n" + "".join(",".join(row) + "\n" for row in zip(*cells, strict=True)))
        return path

    return write


def parquet_of(convert):
    """A way to write columns as a Parquet file."""

    def write(folder, columns):
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(convert(folder, columns), folder / "table.parquet")
        return folder / "table.parquet"

    return write


def pandas_of(**dtypes):
    """A way to make a pandas data frame."""

    def make(_, columns):
        frame = pytest.importorskip("pandas").DataFrame(columns)
        return frame.astype({name: dtype for name, dtype in dtypes.items() if name in frame})

    return make


def arrow_of(**kinds):
    """A way to make an Arrow table."""

    def make(_, columns):
        pa = pytest.importorskip("pyarrow")
        return pa.table({name: pa.array(column, kinds.get(name)) for name, column in columns.items()})

    return make


def texts_of_floats(column):
    """Cells as pandas writes a column of numbers with gaps."""
    return ["" if cell is None else str(float(cell)) if type(cell) is int else str(cell) for cell in column]


def texts_of_wholes(column):
    """Cells as DuckDB writes them."""
    return ["" if cell is None else str(cell).lower() for cell in column]


def as_text(_, columns):
    """Return texts in a dict."""
    return {name: texts_of_floats(column) for name, column in columns.items()}


SOURCES = {
    "csv of floats": csv_of(texts_of_floats),
    "csv of whole numbers": csv_of(texts_of_wholes),
    "dict": lambda _, columns: columns,
    "dict of texts": as_text,
    "pandas of floats": pandas_of(c="float64"),
    "pandas of objects": pandas_of(c="object", f="object"),
    "pandas of nullable": pandas_of(c="Int64", f="boolean"),
    "pandas of categories": pandas_of(c="category", f="category"),
    "pandas of numbers for truths": pandas_of(c="Float64", f="int8"),
    "polars": lambda _, columns: pytest.importorskip("polars").DataFrame(columns),
    "arrow": arrow_of(),
    "arrow of floats": arrow_of(c="float64", f="bool"),
    "parquet": parquet_of(arrow_of()),
    "parquet of floats": parquet_of(arrow_of(c="float32")),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_table_has_the_same_categories(tmp_path, kind):
    """Learned from any kind of table and found in any other; missing ones stay missing."""
    make = SOURCES[kind]
    table = make(tmp_path, {"c": CODES * 5, "f": FLAGS * 5, "y": ["a", "b"] * 20})
    encoder = infer_schema(open_table(table), ColumnSelection("y", categorical=("c", "f"))).encoder
    is_code = [[code == known for known in (10, 2, 3)] + [code is None] for code in CODES]
    expected = np.array([[*code, not flag, flag] for code, flag in zip(is_code, FLAGS, strict=True)], dtype=float)
    assert encoder.encoded_names[:4] == ("c=10", "c=2", "c=3", "c is missing")
    for other in SOURCES.values():
        (chunk,) = open_table(other(tmp_path, {"c": CODES, "f": FLAGS})).chunks()
        assert np.array_equal(encoder.encode(chunk), expected)


def small_model(**columns):
    """A model of a few categories."""
    size = len(next(iter(columns.values())))
    table = {**columns, "y": ["a", "b"] * (size // 2)}
    classifier = SoftplusClassifier(inference="map", n_restarts=1, random_state=0)
    return TableClassifier(classifier, categorical=list(columns)).fit(table, "y")


def test_a_column_of_unknown_categories_is_a_warning(tmp_path):
    """With its name, what it holds and what training had; one known value in any chunk, and there is none."""
    model = small_model(c=[1, 2, 3, 4] * 10, d=["x", "y"] * 20)
    message = r"column 'c' holds only categories .* such as '1x', '2x', '3x'; training had '1', '2', '3' and 1 more\."
    strange = {"c": ["1x", "2x", None, "1x", "3x", "4x"], "d": ["x", "z"] * 3}
    for ask in (model.predict, model.predict_proba, model.encode):
        with pytest.warns(UserWarning, match=message) as caught:
            ask(strange)
        assert [item.filename for item in caught] == [__file__]
    (tmp_path / "a.csv").write_text("c,d\n1x,z\n,z\n3,x\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(tmp_path / "a.csv")
        model.predict({"c": [None, None], "d": [None, "x"]})


def test_the_command_line_notes_it_too(tmp_path, capsys):
    """Besides the count of such rows."""
    small_model(c=[1, 2] * 10).save(tmp_path / "m")
    (tmp_path / "a.csv").write_text("c\nA\nB\n")
    assert main(["predict", str(tmp_path / "m"), str(tmp_path / "a.csv")]) == 0
    told = capsys.readouterr().err
    assert "note: 2 rows have values of 'c' that training did not have ('A' at " in told
    assert "note: column 'c' holds only categories that training did not have, such as 'A', 'B'; training had" in told
    (tmp_path / "a.csv").write_text("c\n1.0\nB\n")
    assert main(["predict", str(tmp_path / "m"), str(tmp_path / "a.csv")]) == 0
    assert "only categories" not in capsys.readouterr().err


def test_encoders_of_old_files_keep_their_categories():
    """A file may hold 2 and 2.0, or 2.0 alone; both are found as they were, and 2 besides."""
    both = TableEncoder((CategoryColumn("c", ("2", "2.0", "no "), has_missing=False),))
    assert TableEncoder.from_plain(both.to_plain()) == both
    (chunk,) = open_table({"c": ["2", "2.0", "2.00", "no ", "no"]}).chunks()
    assert both.encode(chunk).argmax(axis=1).tolist() == [0, 1, 0, 2, 2]
    alone = TableEncoder((CategoryColumn("c", ("2.0", "x"), has_missing=False),))
    assert alone.encode(chunk)[:, 0].tolist() == [1.0, 1.0, 1.0, 0.0, 0.0]


def test_python_source_has_the_same_spellings():
    """Of whole numbers, truth values and what is missing."""
    model = small_model(c=[*CODES, None, 5] * 2, f=[*FLAGS, True, None] * 2)
    namespace = {}
    exec(table_python_source(model), namespace)  # noqa: S102  # our own source
    codes = [2, 2.0, "2", "2.0", "+2", "02", "-0", None, "NA", "?", "", float("nan"), 2.5, "x", 10, "10.", True, "5 "]
    flags = [True, False, 1, 0, 1.0, "1", "true", "FALSE", "0.0", "yes", 2, None, "NA", "nan", np.True_, "T", "1.0", 0]
    for code, flag in zip(codes, flags, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # single rows of unknown categories
            expected = model.encode({"c": [code], "f": [flag]})[0]
        assert namespace["encode"]({"c": code, "f": flag}) == expected.tolist(), (code, flag)
    pandas = pytest.importorskip("pandas")
    assert namespace["encode"]({"c": pandas.NA, "f": pandas.NaT}) == [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]
