"""Exports of raw rows: SQL in SQLite and DuckDB, and Python source."""

import copy
import functools
import json
import sqlite3
import subprocess
import sys
import warnings

import numpy as np
import pytest
from tables import FEATURES, customers, fitted, raw_row, small_model

from softpolytope import (
    SoftplusClassifier,
    SumSoftplusClassifier,
    TableClassifier,
)
from softpolytope.tabular._encoder import CategoryColumn, NumericColumn, TableEncoder
from softpolytope.tabular._export import sql_query, table_python_source, table_sql_probability
from softpolytope.tabular._target import Target

# Rows to predict: none of the gaps of `whole` and `flag` was in training.
ROWS = [
    {"whole": whole, "gaps": gaps, "color": color, "flag": flag, "code": code}
    for whole in (-1, 2, None)
    for gaps, color in ((0.5, "red"), (None, "it's new"), (1.5, None), (None, "blue"))
    for flag, code in ((True, 2), (False, 10), (None, 3), (True, None))
]


NAMES = list(ROWS[0])


@functools.cache
def model_of(n_classes):
    """A model of numbers, categories, truth values and codes."""
    rng = np.random.default_rng(n_classes)
    n_rows = 90
    columns = {
        "whole": rng.integers(-5, 6, n_rows).tolist(),
        "gaps": [None if rng.random() < 0.2 else value for value in rng.normal(size=n_rows).round(3).tolist()],
        "color": [rng.choice(["red", "blue", "dark 'green'", None]) for _ in range(n_rows)],
        "flag": (rng.random(n_rows) < 0.5).tolist(),
        "code": rng.choice([2, 3, 10], n_rows).tolist(),
    }
    scores = [
        (number > 0) + 2 * flag * (code == 2)
        for number, flag, code in zip(columns["whole"], columns["flag"], columns["code"], strict=True)
    ]
    y = [f"class {min(score, n_classes - 1)}" for score in scores]
    classifier = SoftplusClassifier(inference="map", n_restarts=1, random_state=0)
    return TableClassifier(classifier, categorical=["code"]).fit({**columns, "y": y}, "y")


def expected_of(model, rows):
    """Probabilities by `predict_proba`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some columns have no known category
        return model.predict_proba({name: [row[name] for row in rows] for name in rows[0]})


def connected(kind):
    """A database in memory."""
    return sqlite3.connect(":memory:") if kind == "sqlite" else pytest.importorskip("duckdb").connect()


def answer(kind, model, rows, types, convert=lambda _, value: value):
    """The probabilities of all classes by a query, of rows stored with these types."""
    database = connected(kind)
    database.execute("CREATE TABLE t (" + ", ".join(map(" ".join, zip(NAMES, types, strict=True))) + ")")
    cells = [[convert(name, row[name]) for name in NAMES] for row in rows]
    database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(NAMES))})", cells)
    found = database.execute(sql_query(model, "t") + " ORDER BY rowid").fetchall()
    return np.array([row[len(NAMES) :] for row in found], dtype=float)


def as_text(name, value):
    """A cell as a CSV import gives it: text, and something else than NULL for what is missing."""
    gap = {"whole": "NA", "gaps": "", "color": "NA", "flag": "", "code": "?"}[name]
    return gap if value is None else str(float(value)) if name in ("whole", "code") else str(value)


TYPES = {
    "sqlite": [
        ("INTEGER", "REAL", "TEXT", "BOOLEAN", "INTEGER"),
        ("REAL", "REAL", "TEXT", "INTEGER", "REAL"),
        ("", "", "", "", ""),
    ],
    "duckdb": [
        ("INTEGER", "DOUBLE", "VARCHAR", "BOOLEAN", "INTEGER"),
        ("DOUBLE", "DOUBLE", "VARCHAR", "INTEGER", "DOUBLE"),
        ("DECIMAL(9, 2)", "DECIMAL(9, 3)", "VARCHAR", "VARCHAR", "DECIMAL(9, 2)"),
    ],
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("kind", "types"), [(kind, types) for kind, found in TYPES.items() for types in found])
def test_rows_with_gaps_truths_and_unknown_categories(kind, types, n_classes):
    """To 1e-9 of what `predict_proba` says, whatever the types of the columns."""
    model = model_of(n_classes)
    expected = expected_of(model, ROWS)
    assert len(np.unique(expected.round(6), axis=0)) > 30  # the columns matter
    assert answer(kind, model, ROWS, types) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", TYPES)
def test_columns_of_text(kind, n_classes):
    """As a CSV file is imported: empty cells and NA are no NULL, whole numbers are 2.0."""
    model = model_of(n_classes)
    found = answer(kind, model, ROWS, ["VARCHAR"] * 5, as_text)
    assert found == pytest.approx(expected_of(model, ROWS), abs=1e-9)


def test_duckdb_has_numbers_that_are_none():
    """NaN is missing, as in a data frame."""
    model = model_of(3)
    nan = float("nan")
    types = ("DOUBLE", "DOUBLE", "VARCHAR", "DOUBLE", "DOUBLE")
    # In the column of text it is the text nan, which is missing, too.
    found = answer("duckdb", model, ROWS, types, lambda _, value: nan if value is None else value)
    assert found == pytest.approx(expected_of(model, ROWS), abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", TYPES)
def test_a_mistyped_column_is_an_error(kind, n_classes):
    """SQLite would take its name for a text if the table's were not before it."""
    database = connected(kind)
    database.execute("CREATE TABLE t (whole DOUBLE, gap DOUBLE, color VARCHAR, flag INTEGER, code INTEGER)")
    database.execute("INSERT INTO t VALUES (1, 1, 'red', 1, 2)")
    with pytest.raises(Exception, match="gaps"):
        database.execute(sql_query(model_of(n_classes), "t")).fetchall()


@pytest.mark.parametrize("kind", TYPES)
def test_expressions_with_and_without_a_table(kind):
    """With an alias, a column that another table has as well is not ambiguous."""
    model = model_of(3)
    database = connected(kind)
    database.execute("CREATE TABLE t (whole DOUBLE, gaps DOUBLE, color VARCHAR, flag INTEGER, code INTEGER)")
    database.execute("INSERT INTO t VALUES (1, 0.5, 'red', 1, 2)")
    expected = expected_of(model, [{"whole": 1, "gaps": 0.5, "color": "red", "flag": 1, "code": 2}])[0]
    for code, label in enumerate(model.classes_.tolist()):
        (found,) = database.execute(f"SELECT {table_sql_probability(model, label)} FROM t").fetchone()
        assert found == pytest.approx(expected[code], abs=1e-9)
        query = f"SELECT {table_sql_probability(model, label, 'a')} FROM t AS a JOIN t AS b ON a.code = b.code"
        assert database.execute(query).fetchone()[0] == pytest.approx(expected[code], abs=1e-9)


SPELLED = ["2", "2.0", "2.00", "+2", "+2.0", "02", "20", "2.5", "-0", "0.0", "no", "no ", "-3.0", "-3", "1", "true"]


@pytest.mark.parametrize(
    "categories",
    [("2", "2.0", "no"), ("2.0", "20", "no "), ("0", "-3", "02"), ("False", "True"), ("0.0", "1.0"), ("no", "no ")],
)
@pytest.mark.parametrize("kind", TYPES)
def test_spellings_of_categories(kind, categories):
    """Texts that the encoder takes for a category are that category in SQL, and no others; so in Python source."""
    number = NumericColumn("n", 0.0, has_missing=True, is_integer=True)
    encoder = TableEncoder((CategoryColumn("c", categories, has_missing=False), number))
    rows = np.concatenate([np.eye(encoder.n_encoded)] * 4)
    y = np.arange(len(rows)) % 2
    classifier = SoftplusClassifier(inference="map", n_restarts=1, random_state=0)
    # Every encoded column has a weight of its own, by which the probability tells which one was set.
    classifier.fit(np.random.default_rng(0).normal(size=rows.shape) + rows, y)
    model = TableClassifier.from_parts(encoder, Target("y", (0, 1)), classifier)
    expected = expected_of(model, [{"c": text, "n": None} for text in SPELLED])
    database = connected(kind)
    database.execute("CREATE TABLE t (c VARCHAR, n DOUBLE)")
    database.executemany("INSERT INTO t VALUES (?, NULL)", [[text] for text in SPELLED])
    found = database.execute(sql_query(model, "t") + " ORDER BY rowid").fetchall()
    assert np.array([row[2:] for row in found]) == pytest.approx(expected, abs=1e-9)
    namespace = {}
    exec(table_python_source(model), namespace)  # noqa: S102  # our own source
    probabilities = [namespace["predict_proba_of_row"]({"c": text, "n": None}) for text in SPELLED]
    assert np.array(probabilities) == pytest.approx(expected, abs=1e-12)


def test_models_without_medians_give_null():
    """Where `predict` has nothing to take for a missing number and raises, so that no row looks decided."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    for y in (X[:, 0] > 0, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)):
        classifier = SoftplusClassifier(inference="map", n_restarts=1, random_state=0).fit(X, y)
        model = TableClassifier.from_classifier(classifier)
        database = sqlite3.connect(":memory:")
        database.execute("CREATE TABLE t (x0 DOUBLE, x1 DOUBLE)")
        database.execute("INSERT INTO t VALUES (NULL, 1.0)")
        assert database.execute(sql_query(model, "t")).fetchone()[2:] == (None,) * len(classifier.classes_)


@functools.cache
def members():
    """A bootstrap of the customers."""
    columns = {name: [raw_row(row)[name] for row in customers()] for name in FEATURES}
    classifier = SumSoftplusClassifier(random_state=0, max_experts=3, n_members=4)
    return TableClassifier(classifier).fit({**columns, "buys": [row[-1] for row in customers()]}, "buys")


def probabilities_by(model, estimate, rows):
    """Probabilities of raw rows by an estimate, which the classifier itself does not have."""
    other = copy.deepcopy(model)
    other.classifier_.set_params(estimate=estimate)
    return other.predict_proba({name: [row[name] for row in rows] for name in FEATURES})


@pytest.mark.parametrize("estimate", ["mean", "best"])
@pytest.mark.parametrize("make", [fitted, members])
def test_sql_takes_raw_columns(tmp_path, make, estimate):
    """SQLite gives the probabilities of all classes to 1e-12; so does DuckDB. NULL is missing."""
    duckdb = pytest.importorskip("duckdb")
    model = make()
    rows = [raw_row(row) for row in customers()] + [{"age": None, "income": 1.0, "color": "it's new", "children": 2.0}]
    expected = probabilities_by(model, estimate, rows)
    for database in (sqlite3.connect(tmp_path / "d"), duckdb.connect()):
        database.execute('CREATE TABLE "a t" (age DOUBLE, income DOUBLE, color VARCHAR, children DOUBLE)')
        database.executemany('INSERT INTO "a t" VALUES (?, ?, ?, ?)', [list(row.values()) for row in rows])
        found = np.array([row[-2:] for row in database.execute(sql_query(model, "a t", estimate)).fetchall()])
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("estimate", ["mean", "best"])
@pytest.mark.parametrize("make", [fitted, members])
def test_python_source_takes_raw_rows(tmp_path, make, estimate):
    """A bare interpreter gives the probabilities of dicts to 1e-12."""
    model = make()
    rows = [raw_row(row) for row in customers()]
    (tmp_path / "exported.py").write_text(table_python_source(model, estimate))
    code = f"""
import json, sys
sys.path.insert(0, {str(tmp_path)!r})
import exported
print(json.dumps([[exported.predict_proba_of_row(row), exported.predict_row(row)] for row in json.load(sys.stdin)]))
"""
    command = [sys.executable, "-I", "-S", "-c", code]
    run = subprocess.run(command, input=json.dumps(rows), capture_output=True, text=True, check=True)  # noqa: S603
    found = json.loads(run.stdout)
    expected = probabilities_by(model, estimate, rows)
    assert np.array([item[0] for item in found]) == pytest.approx(expected, abs=1e-12)
    assert [item[1] for item in found] == model.classes_[expected.argmax(axis=1)].tolist()


def test_python_source_takes_whole_floats_for_categories():
    """As pandas gives them where a column of whole numbers has holes; truth values and texts stay what they are."""
    codes, flags = [1, 2, 3, None] * 15, ["True", "False"] * 30
    table = {"c": codes, "f": flags, "y": [code == 1 for code in codes]}
    model = TableClassifier(SoftplusClassifier(random_state=0), categorical=["c"]).fit(table, "y")
    namespace = {}
    exec(table_python_source(model), namespace)  # noqa: S102  # our own source
    for value in (1, 1.0, np.float64(1.0), np.float32(1.0), np.int64(1), "1"):
        assert namespace["encode"]({"c": value, "f": True}) == [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert namespace["encode"]({"c": float("nan"), "f": np.False_}) == [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    assert namespace["encode"]({"c": 1.5, "f": None}) == [0.0] * 6
    assert namespace["encode"]({"c": float("inf"), "f": "x"}) == [0.0] * 6


def test_python_source_has_the_same_forms():
    """Of whole numbers, truth values and what is missing."""
    model = small_model(
        c=[2, 3, 10, 2, None, 3, 10, 2, None, 5] * 2, f=[True, False, True, False, None, True] * 3 + [None] * 2
    )
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
