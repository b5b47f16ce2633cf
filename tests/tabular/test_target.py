"""Labels: those of a data frame stay what they are, those of a text file are never merged."""

import warnings

import numpy as np
import pytest

from softpolytope import (
    SoftplusClassifier,
    TableClassifier,
)
from softpolytope.exceptions import TableError
from softpolytope.report import write_report
from softpolytope.tabular import open_table
from softpolytope.tabular._export import sql_query, table_python_source
from softpolytope.tabular._schema import ColumnSelection, infer_schema
from softpolytope.tabular._target import Target, infer_target

N_ROWS = 60


LABELS = {
    "bool": [False, True],
    "fractions": [0.5, 1.5],
    "floats": [0.0, 1.0],
    "int": [-1, 1],
    "long": [2**60 + 1, 2**60 + 2],
    "texts of codes": ["01", "02"],
    "texts of codes and numbers": ["01", "1", "2"],
    "texts of numbers": ["0", "1"],
    "text": ["no", "yes"],
}


KINDS = {bool: "b", float: "f", int: "i", str: "U"}


def columns_of(labels):
    """A table in which one number decides."""
    rng = np.random.default_rng(0)
    codes = np.arange(N_ROWS) % len(labels)
    return {"x": (codes + 0.1 * rng.normal(size=N_ROWS)).tolist(), "y": [labels[code] for code in codes]}


def made(library, columns, folder):
    """Columns as a table of some library."""
    if library == "dict":
        return columns
    if library == "objects":
        return pytest.importorskip("pandas").DataFrame(columns).astype({"y": object})
    if library in ("pandas", "polars"):
        return pytest.importorskip(library).DataFrame(columns)
    table = pytest.importorskip("pyarrow").table(columns)
    if library == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, folder / "t.parquet")
        return folder / "t.parquet"
    return table


def fitted(table, **options):
    """A small model of y."""
    classifier = SoftplusClassifier(inference="map", n_restarts=1, random_state=0, **options)
    return TableClassifier(classifier).fit(table, "y")


@pytest.mark.parametrize("library", ["dict", "pandas", "objects", "polars", "arrow", "parquet"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_frames_stay_what_they_are(tmp_path, library, labels):
    """In value and type; what is predicted equals what the frame holds."""
    columns = columns_of(labels)
    model = fitted(made(library, columns, tmp_path))
    assert model.classes_.tolist() == labels
    assert model.classes_.dtype.kind == KINDS[type(labels[0])]
    found = model.predict({"x": columns["x"]})
    assert found.dtype == model.classes_.dtype
    assert (found == np.array(columns["y"])).mean() > 0.6


@pytest.mark.parametrize(
    ("texts", "classes"),
    [
        (["0", "1"], (0, 1)),
        (["0.0", "1.0"], (0, 1)),
        (["-1", "+1"], (-1, 1)),
        (["2", "10"], (2, 10)),
        (["0.000e+00", "1.000e+00"], (0, 1)),
        (["01", "02"], ("01", "02")),
        (["01", "1", "2"], ("01", "1", "2")),
        (["00", "1"], ("00", "1")),
        (["0.5", "1.5"], ("0.5", "1.5")),
        (["1.0", "a"], ("1.0", "a")),
        (["True", "False"], ("False", "True")),
        (["12345678901234567890", "1"], ("1", "12345678901234567890")),
    ],
)
def test_labels_of_text_files(tmp_path, texts, classes):
    """Whole numbers where all of them are, and none has a leading zero; else the texts of the file."""
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{number},{text}\n" for number, text in enumerate(texts * 3)))
    plan = infer_schema(open_table(path), ColumnSelection("y"))
    assert plan.target.classes == classes
    assert list(map(type, plan.target.classes)) == list(map(type, classes))
    (chunk,) = open_table(path).chunks()
    codes = plan.target.codes(chunk)
    numbers = [float(texts[0]) if type(classes[0]) is int else texts[0], codes[0]]
    assert classes[numbers[1]] == numbers[0]
    assert len(set(codes.tolist())) == len(texts)


@pytest.mark.parametrize("texts", [["1", "1.0", "2"], ["+1", "1", "2"], ["1", "1e0", "2"], ["0", "-0", "1"]])
def test_one_number_in_several_forms(texts):
    """Makes as many classes, and a warning that names the forms."""
    with pytest.warns(UserWarning, match=r"column 'y' holds the same number in several forms, '.*', '.*'; each"):
        assert infer_target("y", texts).classes == tuple(sorted(texts))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert infer_target("y", ["01", "1", "2"]).classes == ("01", "1", "2")


@pytest.mark.parametrize(
    ("classes", "labels", "codes"),
    [
        ((False, True), ["0", "1", "true", "FALSE", "1.0", "True"], [0, 1, 1, 0, 1, 1]),
        ((0, 1), ["1.0", "1e0", "+1", "0", "01", "False"], [1, 1, 1, 0, 1, 0]),
        ((0.5, 1.5, 2.0), ["0.5", "1.5", "2", "2.0", "2e0"], [0, 1, 2, 2, 2]),
        (("01", "1", "2"), ["01", "1", "1.0", "2"], [0, 1, 1, 2]),
        (("no ", "yes"), ["no", "no ", "yes"], [0, 0, 1]),
    ],
)
def test_labels_of_another_table(classes, labels, codes):
    """Are found in all their spellings."""
    (chunk,) = open_table({"y": labels}).chunks()
    assert Target("y", classes).codes(chunk).tolist() == codes


def test_labels_that_are_none_of_the_classes():
    """Are errors: a code with a leading zero is no other text, an infinite number no class."""
    (chunk,) = open_table({"y": ["02", "1"]}).chunks()
    with pytest.raises(TableError, match="row 0, column 'y': '02' is not one of the classes 1, 2"):
        Target("y", ("1", "2")).codes(chunk)
    with pytest.raises(TableError, match="inf, which is not a finite number"):
        infer_schema(open_table({"x": [1.0, 2.0], "y": [0.5, np.inf]}), ColumnSelection("y"))


def test_fractions_are_classes_throughout(tmp_path):
    """Though scikit-learn takes them for a quantity: weights, SQL, Python source and the report."""
    columns = columns_of([0.5, 1.5])
    even, heavy = fitted(columns), fitted(columns, class_weight={0.5: 100.0, 1.5: 1.0})
    assert heavy.classifier_.class_weight == {0.5: 100.0, 1.5: 1.0}
    middle = {"x": [0.5]}
    assert heavy.predict_proba(middle)[0, 0] > even.predict_proba(middle)[0, 0] + 0.1
    with pytest.raises(ValueError, match=r"class_weight names 0, which is not one of the classes \[0\.5, 1\.5\]"):
        fitted(columns, class_weight={0: 2.0})
    assert '"P(0.5)"' in sql_query(even, "t")
    namespace = {}
    exec(table_python_source(even), namespace)  # noqa: S102  # our own source
    assert namespace["predict_row"]({"x": 1.0}) == even.predict({"x": [1.0]})[0]
    write_report(even.classifier_, even.encode(columns), np.array(columns["y"]), tmp_path / "r.html")
    assert "0.5" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_labels_of_plain_classifiers():
    """The classes 0.0 and 1.0 are found whether a file has 1, 1.0 or +1."""
    (chunk,) = open_table({"y": ["1", "0.0", "+1"]}).chunks()
    assert Target("y", (0.0, 1.0)).codes(chunk).tolist() == [1, 0, 1]
    assert Target("y", ("0.0", "1.0")).codes(chunk).tolist() == [1, 0, 1]
