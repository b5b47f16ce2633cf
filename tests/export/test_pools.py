"""Every export pools draws as the model does, between and beyond the limits of the log odds of a draw."""

import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from exports import run_onnx, run_sql

from softpolytope import SumStackSoftplusClassifier
from softpolytope.model import MAX_LOG_ODDS, Posterior


@pytest.fixture(scope="module")
def members():
    """Members of a bootstrap of one feature, and rows from certainty of one class to certainty of the other."""
    x = np.linspace(-2.0, 2.0, 120)[:, None]
    y = np.sin(40.0 * x[:, 0]) + 2.0 * x[:, 0] > 0.0
    model = SumStackSoftplusClassifier(max_experts=3, n_members=6, estimate="mean", random_state=0).fit(x, y)
    return model, np.linspace(-30.0, 30.0, 1201)[:, None]


def in_sqlite(model, rows):
    """Evaluate the SQL of both classes by SQLite."""
    found = [run_sql(sqlite3.connect(":memory:"), model.to_sql(["x"], target), rows, "x") for target in (False, True)]
    return np.column_stack(found)


def in_duckdb(model, rows):
    """Evaluate the SQL of both classes by DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    return np.column_stack(
        [run_sql(duckdb.connect(), model.to_sql(["x"], target), rows, "x") for target in (False, True)]
    )


def in_onnx(model, rows):
    """Evaluate the graph by onnxruntime."""
    pytest.importorskip("onnx")
    return run_onnx(model.to_onnx(), rows)[1]


def in_python(model, rows):
    """Evaluate the module by this interpreter."""
    namespace = {}
    exec(model.to_python_source(), namespace)  # noqa: S102  # our own source
    return np.array([namespace["predict_proba"](row) for row in rows])


@pytest.mark.parametrize("evaluate", [in_sqlite, in_duckdb, in_onnx, in_python])
def test_both_pools(members, evaluate):
    """Equal to a relative error of 1e-11, in each pool; the pools themselves differ."""
    model, rows = members
    (regression,) = model.posterior_.regressions
    rates = np.concatenate([labeling.draws.rates(rows) for labeling in regression.labelings])
    assert (rates > MAX_LOG_ODDS).any()
    assert (rates < np.exp(-MAX_LOG_ODDS)).any()
    assert ((rates > np.exp(-MAX_LOG_ODDS)) & (rates < 1e-4)).any()
    found = []
    try:
        for pool in ("logarithmic", "linear"):
            model.posterior_ = Posterior((replace(regression, pool=pool),))
            found.append(evaluate(model, rows))
            np.testing.assert_allclose(found[-1], model.predict_proba(rows), rtol=1e-11, atol=1e-15)
    finally:
        model.posterior_ = Posterior((regression,))
    assert np.abs(found[0] - found[1]).max() > 0.01
