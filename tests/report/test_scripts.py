"""The page's scripts against Python, by Node where it is installed."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from softpolytope.report._page import script_text
from softpolytope.report._payload import make_payload
from softpolytope.report._summary import ReportOptions, summarize_model

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node, which is not installed")

# The parts of the program before the first that touches the page.
PROGRAM = script_text().split("// Level lines of a grid")[0]
ASK = """
const { data, rows } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const model = modelOf(data);
const scale = data.features.scale;
const tell = (x, k) => model.regressions[k].map((item) => explained(item.best, x, model.nLayers, scale, 0.5));
process.stdout.write(JSON.stringify({
  average: rows.map((x) => probabilities(model, x, "average")),
  best: rows.map((x) => probabilities(model, x, "best")),
  explained: rows.map((x) => model.regressions.map((_, k) => tell(x, k))),
}));
})();
"""


def asked(model, X, y, rows):
    """Return the results of the scripts for rows."""
    data = make_payload(summarize_model(model, X, y, ReportOptions()))
    text = json.dumps({"data": data, "rows": np.asarray(rows).tolist()})
    done = subprocess.run([NODE, "-e", PROGRAM + ASK], input=text, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_probabilities_agree(any_model):
    """To 1e-9 with `predict_proba`, at test rows and far beyond them."""
    model, X, y = any_model
    rows = np.concatenate([X, 30.0 * X[:20], -500.0 * X[:5]])
    found = asked(model, X, y, rows)
    np.testing.assert_allclose(found["average"], model.predict_proba(rows), rtol=0, atol=1e-9)


def test_best_draws_agree(any_model):
    """The view "best" agrees with `estimate="best"`."""
    model, X, y = any_model
    found = asked(model, X, y, X)["best"]
    before = model.estimate
    try:
        np.testing.assert_allclose(found, model.set_params(estimate="best").predict_proba(X), rtol=0, atol=1e-9)
    finally:
        model.set_params(estimate=before)


def test_explanations_agree(any_model):
    """Shares, votes, criteria, margins and changes are those of `explain`."""
    model, X, y = any_model
    found = asked(model, X, y, X)["explained"]
    table = model.explain(X).table()
    targets = list(dict.fromkeys(zip(table["target"], table["labeling"], strict=True)))
    names = model.polytopes()[0].features.names
    for row in range(len(X)):
        sides = [side for regression in found[row] for side in regression]
        for (target, labeling), side in zip(targets, sides, strict=True):
            own = table[(table["row"] == row) & (table["target"] == target) & (table["labeling"] == labeling)]
            experts = sorted(side["experts"], key=lambda item: item["expert"])
            for name, key in (("share", "share"), ("margin_sd", "marginSd"), ("change", "change")):
                wanted = [value if np.isfinite(value) else None for value in own[name]]
                assert [item[key] for item in experts] == pytest.approx(wanted, rel=1e-6, abs=1e-9)
            assert [item["expert"] for item in experts] == own["expert"].tolist()
            assert [item["votesYes"] for item in experts] == own["votes_yes"].tolist()
            assert [item["criterion"] for item in experts] == own["criterion"].tolist()
            assert [names[item["feature"]] for item in experts] == own["feature"].tolist()
