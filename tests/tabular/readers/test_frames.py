"""Data frames of several libraries, arrays and dicts of columns."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from softpolytope import SoftplusClassifier, TableClassifier
from softpolytope.exceptions import TableError
from softpolytope.tabular import ColumnSelection, infer_schema, open_table, read_rows
from softpolytope.tabular.readers import _frames


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
    assert chunk.select([1]).texts("n") == ["1234567890123456788"]


def make_columns(n_rows, rng):
    """Columns of all kinds of values, about a tenth of them missing, and labels."""
    days = [dt.date(2024, 1, 1 + day) for day in range(5)]
    columns = {
        "float": rng.normal(size=n_rows).tolist(),
        "integer": rng.integers(-5, 5, n_rows).tolist(),
        "text": rng.choice(["Oslo", "Rome", "NA", "Saint-\u00c9tienne", "a, b"], n_rows).tolist(),
        "number as text": rng.normal(size=n_rows).round(2).astype(str).tolist(),
        "truth": (rng.random(n_rows) < 0.3).tolist(),
        "day": [days[index] for index in rng.integers(0, 5, n_rows)],
        "price": [Decimal(int(cents)) / 100 for cents in rng.integers(0, 400, n_rows)],
    }
    for column in columns.values():
        for row in np.flatnonzero(rng.random(n_rows) < 0.1).tolist():
            column[row] = None
    return columns | {"y": rng.choice(["no", "yes"], n_rows).tolist()}


def make_frames(columns):
    """The table in every library, and in other types of pandas."""
    pandas, polars, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    frame, arrow = pandas.DataFrame(columns), pa.table(columns)
    texts = [name for name in columns if isinstance(columns[name][0], str)]
    return {
        "pandas": frame,
        "pandas, objects": frame.astype(dict.fromkeys(texts, object)),
        "pandas, nullable": frame.convert_dtypes(),
        "pandas, categories": frame.astype({"text": "category"}),
        "pandas, of Arrow": arrow.to_pandas(types_mapper=pandas.ArrowDtype),
        "polars": polars.DataFrame(columns),
        "polars, categories": polars.DataFrame(columns).with_columns(polars.col("text").cast(polars.Categorical)),
        "Arrow": arrow,
        "Arrow, dictionaries": arrow.set_column(2, "text", arrow["text"].dictionary_encode()),
        "Arrow, one batch": arrow.combine_chunks().to_batches()[0],
        "Arrow, chunks": pa.concat_tables([arrow.slice(0, 7), arrow.slice(7)]),
        "dict": columns,
        "dict of series": {name: frame[name] for name in frame},
    }


@pytest.mark.parametrize("has_arrow", [True, False])
def test_every_library_gives_the_same_bits(rng, monkeypatch, has_arrow):
    """Schema, encoded rows and codes of the labels, with pyarrow behind long columns of text and without."""
    columns = make_columns(300, rng)
    monkeypatch.setattr(_frames, "MIN_CELLS_FOR_ARROW", 0)
    if not has_arrow:
        monkeypatch.setattr(_frames, "import_arrow", lambda: None)
    found = {}
    selection = ColumnSelection("y", categorical=("day", "truth", "integer"))
    for name, frame in make_frames(columns).items():
        schema = infer_schema(open_table(frame), selection)
        found[name] = (schema, *(part.tobytes() for part in read_rows(open_table(frame), schema)))
    expected = found["dict"]
    assert [name for name in found if found[name][1:] != expected[1:]] == []
    assert [name for name in found if found[name][0] != expected[0]] == []
    names = expected[0].encoder.encoded_names
    assert ("day=2024-01-01" in names, "text=NA" in names, "text is missing" in names) == (True, False, True)
    # The control: another order of the rows has other bits.
    other = {name: column[::-1] for name, column in columns.items()}
    assert read_rows(open_table(other), infer_schema(open_table(other), selection))[0].tobytes() != expected[1]


def test_categories_of_a_data_frame_are_categories():
    """Though they look like numbers; labels of that type keep the kind of their values."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"zip": [10, 20, 20, 10] * 5, "size": [1, 2, 3, 4] * 5, "y": ["0", "1"] * 10}
    frame = pandas.DataFrame(columns).astype({"zip": "category", "y": "category"})
    texts = polars.DataFrame({**columns, "zip": [str(code) for code in columns["zip"]]})
    for table in (frame, texts.with_columns(polars.col("zip", "y").cast(polars.Categorical))):
        schema = infer_schema(open_table(table), ColumnSelection("y"))
        assert schema.encoder.encoded_names == ("zip=10", "zip=20", "size")
        assert schema.target.classes == ("0", "1")
    numbers = frame.assign(y=pandas.Categorical([1, 2] * 10))
    assert infer_schema(open_table(numbers), ColumnSelection("y")).target.classes == (1, 2)


def test_names_of_columns(rng):
    """Those of a data frame are text; an array, and a frame with numbers for names, have none."""
    names, X, y = ["a", "b"], rng.normal(size=(60, 2)), [0, 1] * 30
    pandas, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    classifier = SoftplusClassifier(inference="map", n_restarts=1)
    for table in (pandas.DataFrame(X, columns=names), pa.table(dict(zip(names, X.T, strict=True))), {"a": y, "b": y}):
        assert TableClassifier(classifier).fit(table, y).feature_names_in_.tolist() == names
    for table in (X, pandas.DataFrame(X)):
        model = TableClassifier(classifier).fit(table, y)
        assert not hasattr(model, "feature_names_in_")
        assert model.predict(table).tolist() == model.predict(X).tolist()


def test_other_objects_are_refused():
    """Lazy frames, columns of lists, names that occur twice, columns of different lengths, and what is no table."""
    pandas, polars, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    for frame, error, message in [
        (polars.DataFrame({"a": [1]}).lazy(), TypeError, "a table must be a path, a data frame"),
        (3, TypeError, "a table must be a path, a data frame"),
        (polars.DataFrame({"a": [[1], [2]]}), TableError, "column 'a' is of type List"),
        (pa.table({"a": [b"x"]}), TableError, "column 'a' is of type Binary"),
        (pandas.DataFrame([[1, 2]], columns=["a", "a"]), TableError, "two columns 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), TableError, "two columns 'a'"),
        ({"a": [1, 2], "b": [1]}, TableError, "different lengths"),
        ({"a": [[1, 2], [3]]}, TypeError, r"column 'a' holds \[1, 2\] at row 0"),
    ]:
        with pytest.raises(error, match=message):
            open_table(frame)
