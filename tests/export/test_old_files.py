"""Model files of earlier versions: they load and predict what they did."""

import json
import sqlite3

import numpy as np
import pytest
from exports import run_sql
from model_fixtures import FIXTURES, fixture_module

from softpolytope import load_model


def asked_rows(name):
    """The rows whose probabilities `expected.json` has."""
    made = fixture_module()
    if name != "table":
        return made.rows()[0][:8]
    asked = made.table(8)
    del asked["inside"]
    return asked


@pytest.mark.parametrize("name", ["map", "gibbs", "table"])
def test_an_old_file_predicts_as_it_did(name):
    """Files written before models kept the state of their fit."""
    expected = json.loads((FIXTURES / "expected.json").read_text())[name]
    found = load_model(FIXTURES / f"{name}.softpolytope").predict_proba(asked_rows(name))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["map", "gibbs"])
def test_exports_of_an_old_file_predict_as_it_did(name):
    """Their draws have a linear pool, in SQL and in Python source too."""
    model, rows = load_model(FIXTURES / f"{name}.softpolytope"), asked_rows(name)
    assert {regression.pool for regression in model.posterior_.regressions} == {"linear"}
    expected = np.array(json.loads((FIXTURES / "expected.json").read_text())[name])
    namespace = {}
    exec(model.to_python_source(), namespace)  # noqa: S102  # our own source
    np.testing.assert_allclose([namespace["predict_proba"](row) for row in rows], expected, rtol=1e-11, atol=1e-15)
    columns = [f"c{number}" for number in range(rows.shape[1])]
    for code, target in enumerate(model.classes_.tolist()):
        found = run_sql(sqlite3.connect(":memory:"), model.to_sql(columns, target), rows, columns)
        np.testing.assert_allclose(found, expected[:, code], rtol=1e-11, atol=1e-15)
