"""Model files of earlier versions: they load and predict what they did."""

import json

import numpy as np
import pytest
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
