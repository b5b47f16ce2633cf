"""The encoder: scikit-learn's transformers, and categories in all their forms from every kind of table."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder
from tables import encode_columns

from softpolytope.exceptions import TableError
from softpolytope.tabular import UnknownCategories, open_table
from softpolytope.tabular._encoder import CategoryColumn, NumericColumn, TableEncoder
from softpolytope.tabular._schema import ColumnSelection, infer_schema


def test_encodes_as_scikit_learn_does(rng):
    """Medians and zeros and ones, for rows seen and not seen."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "a": np.where(rng.random(40) < 0.2, np.nan, rng.normal(size=40)),
            "c": rng.choice(["x", "y", "z"], 40),
            "b": rng.normal(size=40),
        }
    )
    theirs = make_column_transformer(
        (SimpleImputer(strategy="median"), ["a"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["c"]),
        (SimpleImputer(strategy="median"), ["b"]),
    ).fit(frame)
    encoder, rows = encode_columns({name: frame[name].tolist() for name in frame})
    assert np.array_equal(rows, theirs.transform(frame))
    strange = pandas.DataFrame({"a": [np.nan, 2.0], "c": ["w", "y"], "b": [np.nan, 1.0]})
    (chunk,) = open_table(strange).chunks()
    assert np.array_equal(encoder.encode(chunk), theirs.transform(strange))
    unknown = UnknownCategories(encoder)
    unknown.add(chunk, encoder.encode(chunk))
    (count,) = unknown.counts
    assert count.startswith("1 row has a value of 'c' that training did not have ('w' at the table, row 0)")


def test_missing_is_a_category_where_it_was_seen():
    """Else it is none of the known ones; a missing number is the median in any case."""
    encoder, rows = encode_columns({"c": ["x", None, "y", "x"], "d": ["p", "q"] * 2, "n": [1.0, 2.0, 3.0, 9.0]})
    assert encoder.encoded_names == ("c=x", "c=y", "c is missing", "d=p", "d=q", "n")
    assert rows[1].tolist() == [0.0, 0.0, 1.0, 0.0, 1.0, 2.0]
    (chunk,) = open_table({"n": [None], "d": [None], "c": [None], "more": [1]}).chunks()
    assert encoder.encode(chunk).tolist() == [[0.0, 0.0, 1.0, 0.0, 0.0, 2.5]]
    assert not encoder.is_plain


def test_columns_that_lack_are_named():
    """All of them, and what there is."""
    encoder = TableEncoder.from_names(["a", "b", "c"])
    (chunk,) = open_table({"b": [1.0], "d": [2.0]}).chunks()
    with pytest.raises(TableError, match="lacks the columns a, c, which the model needs; it has b, d"):
        encoder.encode(chunk)
    (chunk,) = open_table({"a": [1.0, None], "b": [1.0, 2.0], "c": [1.0, 2.0]}).chunks()
    with pytest.raises(TableError, match="row 1, column 'a' has no value"):
        encoder.encode(chunk)


def test_plain_form_and_back():
    """What a file holds gives the same encoder; anything else is refused."""
    encoder = TableEncoder(
        (
            NumericColumn("a", 1.5, has_missing=True, is_integer=False),
            CategoryColumn("b", ("x", "y"), has_missing=True),
        )
    )
    plain = encoder.to_plain()
    assert TableEncoder.from_plain(plain) == encoder
    hostile = [
        [], None, {}, [None], [plain[0], plain[0]],
        [{**plain[0], "fill": float("nan")}], [{**plain[0], "fill": 1}], [{**plain[0], "fill": "1"}],
        [{**plain[0], "is_whole": 1}], [{**plain[0], "name": None}], [{**plain[0], "more": 1}],
        [{**plain[1], "categories": []}], [{**plain[1], "categories": ["x", "x"]}], [{**plain[1], "categories": [1]}],
        [{**plain[1], "categories": "xy"}], [{**plain[1], "has_missing": None}], [{**plain[1], "kind": "text"}],
    ]  # fmt: skip
    for item in hostile:
        with pytest.raises(ValueError, match="columns of the table are damaged"):
            TableEncoder.from_plain(item)


CODES = [2, 3, 10, 2, None, 3, 10, 2]


FLAGS = [True, False, True, False, True, True, False, False]


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


def test_encoders_of_old_files_keep_their_categories():
    """A file may hold 2 and 2.0, or 2.0 alone; both are found as they were, and 2 besides."""
    both = TableEncoder((CategoryColumn("c", ("2", "2.0", "no "), has_missing=False),))
    assert TableEncoder.from_plain(both.to_plain()) == both
    (chunk,) = open_table({"c": ["2", "2.0", "2.00", "no ", "no"]}).chunks()
    assert both.encode(chunk).argmax(axis=1).tolist() == [0, 1, 0, 2, 2]
    alone = TableEncoder((CategoryColumn("c", ("2.0", "x"), has_missing=False),))
    assert alone.encode(chunk)[:, 0].tolist() == [1.0, 1.0, 1.0, 0.0, 0.0]
