"""ONNX, SQL and Python source: the same probabilities elsewhere."""

import json
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softpolytope import SoftplusClassifier, SumSoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.estimators._classifiers import CLASSIFIERS
from softpolytope.export import _sql as sql
from softpolytope.export._onnx import register_with_skl2onnx

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
KINDS = ["binary", "three", "one side"]


def fitted(kind, estimate="best", n_draws=10):
    """A model of some kind, and rows near and far from those it was fitted to."""
    X, codes = load_iris(return_X_y=True)
    y = codes if kind == "three" else np.where(codes == 1, "middle", "other")
    model = SumStackSoftplusClassifier(
        inference="gibbs",
        start="random",
        n_sweeps=60,
        max_experts=5,
        random_state=0,
        estimate=estimate,
        n_draws=n_draws,
        symmetric=kind != "one side",
    )
    rows = np.concatenate([X, 10.0 * X - 20.0, [[0.0] * 4, [1e3, -1e3, 1e3, 0.0], [-300.0, 200.0, 0.0, 1e3]]])
    return model.fit(X, y), rows


def far_rows(X):
    """Rows ten standard deviations out, where the probabilities of some classes are far below the rounding of one."""
    return X.mean(axis=0) + 10.0 * X.std(axis=0) * np.random.default_rng(0).standard_normal((100, X.shape[1]))


def assert_same_probabilities(found, expected):
    """Each to 1e-11 of itself; below 1e-60 the library's own survivals end."""
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-60)


def run_sql(connection, expression, rows, columns):
    """An expression of the columns for every row."""
    names = ['"' + column.replace('"', '""') + '"' for column in columns]
    connection.execute("CREATE TABLE t (" + ", ".join(f"{name} DOUBLE" for name in names) + ")")
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows.tolist())
    return np.array([row[0] for row in connection.execute(f"SELECT {expression} FROM t ORDER BY rowid").fetchall()])


def run_onnx(model, rows):
    """Label and probabilities by onnxruntime."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return session.run(None, {name: rows})


@pytest.mark.parametrize("estimate", ["best", "mean"])
@pytest.mark.parametrize("kind", KINDS)
def test_onnx_in_doubles(kind, estimate):
    """Probabilities to 1e-12, the same labels, and no operator but standard ones."""
    pytest.importorskip("onnx")
    model, rows = fitted(kind, estimate)
    exported = model.to_onnx()
    assert {node.domain for node in exported.graph.node} == {""}
    label, probabilities = run_onnx(exported, rows)
    assert probabilities == pytest.approx(model.predict_proba(rows), abs=1e-12)
    assert label.tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("symmetric", [True, False])
def test_small_chances_elsewhere(symmetric):
    """Ratios of probabilities far below the rounding of one decide between three classes; ONNX and SQL keep them."""
    pytest.importorskip("onnx")
    duckdb = pytest.importorskip("duckdb")
    X, y = load_iris(return_X_y=True)
    model = SoftplusClassifier(inference="map", n_restarts=2, symmetric=symmetric, random_state=0).fit(X, y)
    rows = far_rows(X)
    expected = model.predict_proba(rows)
    assert (expected < 1e-30).any()
    label, probabilities = run_onnx(model.to_onnx(), rows)
    assert_same_probabilities(probabilities, expected)
    assert label.tolist() == model.predict(rows).tolist()
    for code in range(3):
        for database in (sqlite3.connect(":memory:"), duckdb.connect()):
            found = run_sql(database, model.to_sql(list("abcd"), code), rows, "abcd")
            assert_same_probabilities(found, expected[:, code])


def test_small_chances_of_two_classes_in_sql():
    """Of either class, not as one minus the other."""
    X, y = load_iris(return_X_y=True)
    model = SoftplusClassifier(inference="map", n_restarts=2, symmetric=False, random_state=0).fit(X, y == 0)
    rows = far_rows(X)
    expected = model.predict_proba(rows)
    assert (expected < 1e-20).any(axis=0).all()
    for code, target in enumerate([False, True]):
        found = run_sql(sqlite3.connect(":memory:"), model.to_sql(list("abcd"), target), rows, "abcd")
        assert_same_probabilities(found, expected[:, code])


def test_onnx_where_a_predictor_overflows():
    """An expert at infinity makes lambda infinite, and is NaN to no other draw."""
    pytest.importorskip("onnx")
    X, codes = load_iris(return_X_y=True)
    model = SumSoftplusClassifier(inference="map", n_restarts=2, random_state=0).fit(X[:, :1], codes == 0)
    rows = np.array([[1e308], [-1e308]])
    assert run_onnx(model.to_onnx(), rows)[1] == pytest.approx(model.predict_proba(rows), abs=1e-12)


def test_onnx_in_single_precision(tmp_path):
    """To 1e-5 of the model at the rows as rounded to single precision; the file is what was returned."""
    onnx = pytest.importorskip("onnx")
    model, rows = fitted("three", "mean")
    exported = model.to_onnx(tmp_path / "m.onnx", input_type="float32")
    assert onnx.load(tmp_path / "m.onnx") == exported
    single = rows.astype(np.float32)
    _, probabilities = run_onnx(exported, single)
    assert probabilities.dtype == np.float32
    assert probabilities == pytest.approx(model.predict_proba(single), abs=1e-5)
    with pytest.raises(ValueError, match="input_type"):
        model.to_onnx(input_type="half")


@pytest.mark.parametrize("kind", KINDS)
def test_onnx_of_a_pipeline(kind):
    """A scaler and a classifier through skl2onnx, in doubles and in single precision."""
    skl2onnx = pytest.importorskip("skl2onnx")
    register_with_skl2onnx(list(CLASSIFIERS.values()))
    model, _ = fitted(kind)
    X, codes = load_iris(return_X_y=True)
    y = codes if kind == "three" else np.where(codes == 1, "middle", "other")
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        for opset in (17, 18, None):  # None is skl2onnx's own choice
            start = X[:1].astype(dtype)
            exported = skl2onnx.to_onnx(pipeline, start, options={"zipmap": False}, target_opset=opset)
            label, probabilities = run_onnx(exported, X.astype(dtype))
            assert probabilities == pytest.approx(pipeline.predict_proba(X.astype(dtype)), abs=tolerance)
            assert label.tolist() == pipeline.predict(X.astype(dtype)).tolist()


@pytest.mark.parametrize(
    "labels", [np.array([3, 2**63 + 5], np.uint64), np.array([-1, 2**63 - 1]), np.array([0, 2**63 - 1], np.uint64)]
)
def test_onnx_labels_end_at_int64(labels):
    """A larger one is refused, in pipelines too; the largest that fits comes back."""
    skl2onnx = pytest.importorskip("skl2onnx")
    X, codes = load_iris(return_X_y=True)
    model = SoftplusClassifier(inference="map", n_restarts=1, random_state=0).fit(X, labels[(codes == 0).astype(int)])
    if labels.max() < 2**63:
        assert run_onnx(model.to_onnx(), X)[0].tolist() == model.predict(X).tolist()
        return
    with pytest.raises(ValueError, match=r"64-bit integers.*got 9223372036854775813\. Code the classes"):
        model.to_onnx()
    register_with_skl2onnx(list(CLASSIFIERS.values()))
    with pytest.raises(ValueError, match="64-bit integers"):
        skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})


def test_pipelines_need_skl2onnx(monkeypatch):
    """Without it, what to install is said."""
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"pip install softpolytope\[onnx\]"):
        register_with_skl2onnx([SoftplusClassifier])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimate", ["best", "mean"])
def test_sql(kind, estimate):
    """SQLite and DuckDB give the probabilities to 1e-9; column names may hold anything."""
    duckdb = pytest.importorskip("duckdb")
    model, rows = fitted(kind, estimate, n_draws=1)  # one of each chain
    columns = ["sepal length", 'a "quoted" name', "SELECT", "x"]
    for code, target in enumerate(model.classes_.tolist()):
        expression = model.to_sql(columns, target)
        expected = model.predict_proba(rows)[:, code]
        found = run_sql(sqlite3.connect(":memory:"), expression, rows, columns)
        assert found == pytest.approx(expected, abs=1e-9)
        found = run_sql(duckdb.connect(), expression, rows[::10], columns)
        assert found == pytest.approx(expected[::10], abs=1e-9)


@pytest.mark.parametrize("n_layers", [5, 10])
def test_sql_of_many_layers(n_layers):
    """Both databases parse it, and SQLite's work grows with the layers, not with a power of them."""
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


def test_sql_of_more_draws_than_a_table_has_columns(monkeypatch):
    """Sums over draws go along from table to table."""
    model, rows = fitted("three", "mean", n_draws=8)
    expected = model.predict_proba(rows)[:, 0]
    monkeypatch.setattr(sql, "MAX_COLUMNS", 6)
    found = run_sql(sqlite3.connect(":memory:"), model.to_sql(list("abcd"), 0), rows, "abcd")
    assert found == pytest.approx(expected, abs=1e-9)


def test_sql_of_columns_named_like_its_own():
    """Names of the expression's own give way to those of the table."""
    model, rows = fitted("three")
    columns = ["softpolytope_z0", "SOFTPOLYTOPE_Z", "softpolytope__up", "softpolytope_up0"]
    found = run_sql(sqlite3.connect(":memory:"), model.to_sql(columns, 1), rows, columns)
    assert found == pytest.approx(model.predict_proba(rows)[:, 1], abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_sql_of_what_is_null(kind):
    """A row with a NULL has no probability of any class; those beside it are as they were."""
    duckdb = pytest.importorskip("duckdb")
    model, rows = fitted(kind)
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
    """A column that the table has not is an error, where SQLite would take its name for a text."""
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
    """Wrong numbers of names, and classes that are not there, are told."""
    model, _ = fitted("three")
    with pytest.raises(ValueError, match="columns must name the 4 features; got 0"):
        model.to_sql(target=1)
    with pytest.raises(ValueError, match=r"target must be one of the classes \[0, 1, 2\]"):
        model.to_sql(["a", "b", "c", "d"])


@pytest.mark.parametrize("estimate", ["best", "mean"])
@pytest.mark.parametrize("kind", KINDS)
def test_python_source(kind, estimate, tmp_path):
    """A bare interpreter, without any package, gives the probabilities to 1e-12."""
    model, rows = fitted(kind, estimate)
    (tmp_path / "exported.py").write_text(model.to_python_source())
    code = f"""
import json, sys
sys.path.insert(0, {str(tmp_path)!r})
import exported
print(json.dumps([[exported.predict_proba(x), exported.predict(x)] for x in json.load(sys.stdin)]))
"""
    command = [sys.executable, "-I", "-S", "-c", code]
    run = subprocess.run(command, input=json.dumps(rows.tolist()), capture_output=True, text=True, check=True)  # noqa: S603
    found = json.loads(run.stdout)
    assert np.array([item[0] for item in found]) == pytest.approx(model.predict_proba(rows), abs=1e-12)
    assert [item[1] for item in found] == model.predict(rows).tolist()


def test_python_source_of_numpy_labels():
    """Objects of NumPy's own text are written as plain text; what Python cannot write is refused."""
    model, rows = fitted("binary")
    model.classes_ = np.array([np.str_("middle"), np.str_("other")], dtype=object)
    module = {}
    exec(model.to_python_source(), module)  # noqa: S102
    assert module["CLASSES"] == ["middle", "other"]
    assert module["predict"](rows[0]) == model.predict(rows[:1])[0]
    model.classes_ = np.array([object(), object()], dtype=object)
    with pytest.raises(ValueError, match="labels that are text or numbers"):
        model.to_python_source()
