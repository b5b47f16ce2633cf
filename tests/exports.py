"""Fitted models, and functions that run their exports."""

import copy
import functools

import numpy as np
import pytest
from sklearn.datasets import load_iris

from softpolytope import SumStackSoftplusClassifier

KINDS = ["binary", "three", "one side"]
POOLS = ["linear", "logarithmic"]


def fitted(kind, estimate="best", n_draws=10, pool="linear"):
    """Return a model of some kind, and rows near and far from those it was fitted to.

    Draws of chains have a linear pool, members of a bootstrap a logarithmic one.
    """
    return copy.deepcopy(_fit(kind, estimate, n_draws, pool))


@functools.cache
def _fit(kind, estimate, n_draws, pool):
    X, codes = load_iris(return_X_y=True)
    y = codes if kind == "three" else np.where(codes == 1, "middle", "other")
    chains = {"inference": "gibbs", "start": "random", "n_sweeps": 30, "n_draws": n_draws}
    members = {"inference": "bootstrap", "n_members": n_draws * (1 if kind == "one side" else 2)}
    model = SumStackSoftplusClassifier(
        max_experts=5,
        random_state=0,
        estimate=estimate,
        symmetric=kind != "one side",
        **(chains if pool == "linear" else members),
    )
    rows = np.concatenate([X, 10.0 * X - 20.0, [[0.0] * 4, [1e3, -1e3, 1e3, 0.0], [-300.0, 200.0, 0.0, 1e3]]])
    return model.fit(X, y), rows


def far_rows(X):
    """Return rows ten standard deviations out, where some probabilities are far below the rounding of one."""
    return X.mean(axis=0) + 10.0 * X.std(axis=0) * np.random.default_rng(0).standard_normal((100, X.shape[1]))


def assert_same_probabilities(found, expected):
    """Compare to a relative error of 1e-11; the library itself has no probabilities below 1e-60."""
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-60)


def run_sql(connection, expression, rows, columns):
    """Evaluate an expression of the columns for every row."""
    names = ['"' + column.replace('"', '""') + '"' for column in columns]
    connection.execute("CREATE TABLE t (" + ", ".join(f"{name} DOUBLE" for name in names) + ")")
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows.tolist())
    return np.array([row[0] for row in connection.execute(f"SELECT {expression} FROM t ORDER BY rowid").fetchall()])


def run_onnx(model, rows):
    """Return labels and probabilities computed by onnxruntime."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return session.run(None, {name: rows})
