"""SQL expressions compute the probabilities of the model."""

import sqlite3

import pytest
from exports import KINDS, POOLS, assert_same_probabilities, far_rows, fitted, run_sql
from sklearn.datasets import load_iris

from softpolytope import SoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.datasets import make_double_moon
from softpolytope.export import _sql as sql

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize(
    ("estimate", "kind"),
    [
        *((estimate, kind) for estimate in ("best", "mean") for kind in ("binary", "one side")),
        ("best", "three"),
        pytest.param("mean", "three", marks=pytest.mark.slow),
    ],
)
def test_sql(kind, estimate, pool):
    """SQLite and DuckDB agree with the model to 1e-12; column names may contain anything."""
    duckdb = pytest.importorskip("duckdb")
    model, rows = fitted(kind, estimate, n_draws=1, pool=pool)  # one of each chain
    assert model.posterior_.regressions[0].pool == pool
    columns = ["sepal length", 'a "quoted" name', "SELECT", "x"]
    for code, target in enumerate(model.classes_.tolist()):
        expression = model.to_sql(columns, target)
        expected = model.predict_proba(rows)[:, code]
        found = run_sql(sqlite3.connect(":memory:"), expression, rows, columns)
        assert found == pytest.approx(expected, abs=1e-12)
        found = run_sql(duckdb.connect(), expression, rows[::10], columns)
        assert found == pytest.approx(expected[::10], abs=1e-12)


@pytest.mark.parametrize("symmetric", [True, False])
def test_sql_keeps_small_probabilities(symmetric):
    """Ratios of probabilities far below the rounding of one decide between three classes."""
    duckdb = pytest.importorskip("duckdb")
    X, y = load_iris(return_X_y=True)
    model = SoftplusClassifier(inference="map", n_restarts=2, symmetric=symmetric, random_state=0).fit(X, y)
    rows = far_rows(X)
    expected = model.predict_proba(rows)
    assert (expected < 1e-30).any()
    for code in range(3):
        for database in (sqlite3.connect(":memory:"), duckdb.connect()):
            found = run_sql(database, model.to_sql(list("abcd"), code), rows, "abcd")
            assert_same_probabilities(found, expected[:, code])


def test_small_probabilities_of_two_classes_in_sql():
    """Neither probability is computed as one minus the other."""
    X, y = load_iris(return_X_y=True)
    model = SoftplusClassifier(inference="map", n_restarts=2, symmetric=False, random_state=0).fit(X, y == 0)
    rows = far_rows(X)
    expected = model.predict_proba(rows)
    assert (expected < 1e-20).any(axis=0).all()
    for code, target in enumerate([False, True]):
        found = run_sql(sqlite3.connect(":memory:"), model.to_sql(list("abcd"), target), rows, "abcd")
        assert_same_probabilities(found, expected[:, code])


@pytest.mark.parametrize("n_layers", [5, 10])
def test_sql_of_many_layers(n_layers):
    """Both databases parse many layers, and SQLite's work is linear in their number."""
    duckdb = pytest.importorskip("duckdb")
    X, codes = load_iris(return_X_y=True)
    model = SumStackSoftplusClassifier(inference="map", n_layers=n_layers, n_restarts=1, random_state=0)
    model.fit(X, codes == 1)
    expression = model.to_sql(list("abcd"))
    for database in (sqlite3.connect(":memory:"), duckdb.connect()):
        assert run_sql(database, expression, X, "abcd") == pytest.approx(model.predict_proba(X)[:, 1], abs=1e-12)
    program = sqlite3.connect(":memory:")
    program.execute("CREATE TABLE t (a DOUBLE, b DOUBLE, c DOUBLE, d DOUBLE)")
    n_operations = len(program.execute(f"EXPLAIN SELECT {expression} FROM t").fetchall())
    n_hyperplanes = sum(side.best.coefficients[..., 0].size for side in model.posterior_.regressions[0].labelings)
    assert n_operations < 200 * n_hyperplanes


@pytest.mark.parametrize("pool", POOLS)
def test_sql_of_more_draws_than_a_table_has_columns(monkeypatch, pool):
    """Sums over draws are carried from table to table."""
    model, rows = fitted("three", "mean", n_draws=8, pool=pool)
    rows = rows[::5]
    expected = model.predict_proba(rows)[:, 0]
    monkeypatch.setattr(sql, "MAX_COLUMNS", 6)
    found = run_sql(sqlite3.connect(":memory:"), model.to_sql(list("abcd"), 0), rows, "abcd")
    assert found == pytest.approx(expected, abs=1e-9)


def test_sql_of_default_fits_is_short():
    """That of all members of 300 rows takes at most 100 kB, that of the representatives at most 30 kB."""
    X, y = make_double_moon(300, random_state=0)
    model = SumStackSoftplusClassifier(random_state=0).fit(X, y)
    assert model.posterior_.regressions[0].pool == "logarithmic"
    for estimate, limit in (("mean", 100_000), ("best", 30_000)):
        expression = model.to_sql(["x", "y"], estimate=estimate)
        assert len(expression) <= limit
        expected = model.set_params(estimate=estimate).predict_proba(X)[:, 1]
        found = run_sql(sqlite3.connect(":memory:"), expression, X, "xy")
        assert found == pytest.approx(expected, abs=1e-12)


def test_sql_of_columns_named_like_its_own():
    """The expression's own names avoid those of the table."""
    model, rows = fitted("three")
    columns = ["softpolytope_z0", "SOFTPOLYTOPE_Z", "softpolytope__up", "softpolytope_up0"]
    found = run_sql(sqlite3.connect(":memory:"), model.to_sql(columns, 1), rows, columns)
    assert found == pytest.approx(model.predict_proba(rows)[:, 1], abs=1e-9)


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("kind", KINDS)
def test_sql_of_what_is_null(kind, pool):
    """A row with a NULL has NULL probabilities; other rows are unaffected."""
    duckdb = pytest.importorskip("duckdb")
    model, rows = fitted(kind, pool=pool)
    cells = rows[:3].tolist()
    cells[1][2] = None
    for database in (sqlite3.connect(":memory:"), duckdb.connect()):
        database.execute("CREATE TABLE t (a DOUBLE, b DOUBLE, c DOUBLE, d DOUBLE)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", cells)
        for code, target in enumerate(model.classes_.tolist()):
            query = f"SELECT {model.to_sql(list('abcd'), target)} FROM t ORDER BY rowid"
            found = [row[0] for row in database.execute(query).fetchall()]
            assert found[1] is None
            assert found[::2] == pytest.approx(model.predict_proba(rows[:3:2])[:, code], abs=1e-9)


@pytest.mark.parametrize("table", ["t", 'a "b"', "softpolytope_t0"])
def test_sql_of_the_columns_of_a_table(table):
    """A column missing from the table is an error; without the table, SQLite would take its name for a text."""
    model, rows = fitted("three")
    database = sqlite3.connect(":memory:")
    name = '"' + table.replace('"', '""') + '"'
    database.execute(f"CREATE TABLE {name} (a DOUBLE, b DOUBLE, c DOUBLE, d DOUBLE)")
    database.execute(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows[0].tolist())
    (found,) = database.execute(f"SELECT {model.to_sql(list('abcd'), 1, table)} FROM {name}").fetchone()
    assert found == pytest.approx(model.predict_proba(rows[:1])[0, 1], abs=1e-9)
    mistyped = ["aa", "b", "c", "d"]
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        database.execute(f"SELECT {model.to_sql(mistyped, 1, table)} FROM {name}")


def test_sql_asks_for_names():
    """Wrong numbers of names and unknown classes are refused."""
    model, _ = fitted("three")
    with pytest.raises(ValueError, match="columns must name the 4 features; got 0"):
        model.to_sql(target=1)
    with pytest.raises(ValueError, match=r"target must be one of the classes \[0, 1, 2\]"):
        model.to_sql(["a", "b", "c", "d"])
