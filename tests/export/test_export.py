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

from softpolytope import SumStackSoftplusClassifier
from softpolytope.estimators.classifiers import CLASSIFIERS
from softpolytope.export.onnx import register_with_skl2onnx

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
    label, chances = run_onnx(exported, rows)
    assert chances == pytest.approx(model.predict_proba(rows), abs=1e-12)
    assert label.tolist() == model.predict(rows).tolist()


def test_onnx_in_single_precision(tmp_path):
    """To 1e-5 of the model at the rows as rounded to single precision; the file is what was returned."""
    onnx = pytest.importorskip("onnx")
    model, rows = fitted("three", "mean")
    exported = model.to_onnx(tmp_path / "m.onnx", input_type="float32")
    assert onnx.load(tmp_path / "m.onnx") == exported
    single = rows.astype(np.float32)
    _, chances = run_onnx(exported, single)
    assert chances.dtype == np.float32
    assert chances == pytest.approx(model.predict_proba(single), abs=1e-5)
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
        exported = skl2onnx.to_onnx(pipeline, X[:1].astype(dtype), options={"zipmap": False}, target_opset=17)
        label, chances = run_onnx(exported, X.astype(dtype))
        assert chances == pytest.approx(pipeline.predict_proba(X.astype(dtype)), abs=tolerance)
        assert label.tolist() == pipeline.predict(X.astype(dtype)).tolist()


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
        create = "CREATE TABLE t (" + ", ".join('"' + c.replace('"', '""') + '" DOUBLE' for c in columns) + ")"
        lite = sqlite3.connect(":memory:")
        lite.execute(create)
        lite.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows.tolist())
        found = [row[0] for row in lite.execute(f"SELECT {expression} FROM t ORDER BY rowid")]
        assert found == pytest.approx(expected, abs=1e-9)
        if kind == "three" and estimate == "mean":
            continue  # DuckDB takes seconds to plan so many correlated subqueries
        duck = duckdb.connect()
        duck.execute(create)
        duck.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows[::10].tolist())
        found = [row[0] for row in duck.execute(f"SELECT {expression} FROM t ORDER BY rowid").fetchall()]
        assert found == pytest.approx(expected[::10], abs=1e-9)


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
