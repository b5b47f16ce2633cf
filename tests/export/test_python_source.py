"""Python source computes the probabilities of the model."""

import json
import subprocess
import sys

import numpy as np
import pytest
from exports import KINDS, POOLS, fitted

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("estimate", ["best", "mean"])
@pytest.mark.parametrize("kind", KINDS)
def test_python_source(kind, estimate, pool, tmp_path):
    """A bare interpreter without packages agrees to 1e-12."""
    model, rows = fitted(kind, estimate, pool=pool)
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
    """Text of NumPy's own type is written as plain text; labels without a literal are refused."""
    model, rows = fitted("binary")
    model.classes_ = np.array([np.str_("middle"), np.str_("other")], dtype=object)
    module = {}
    exec(model.to_python_source(), module)  # noqa: S102
    assert module["CLASSES"] == ["middle", "other"]
    assert module["predict"](rows[0]) == model.predict(rows[:1])[0]
    model.classes_ = np.array([object(), object()], dtype=object)
    with pytest.raises(ValueError, match="labels that are text or numbers"):
        model.to_python_source()
