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
PROGRAM = script_text().split("// Draws a map on a canvas")[0]
ASK = """
const { data, rows } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const model = modelOf(data);
const scale = data.features.scale;
const tell = (x, k) => model.regressions[k].map((item) => explained(item.best, x, model.nLayers, scale, 0.5));
// The map of the first two features around the first row, at three times two points.
const drawn = (code, view) => {
  const state = { first: 0, second: model.nFeatures > 1 ? 1 : -1, view, code };
  const bounds = { left: -1, right: 1, bottom: -2, top: 2 };
  const steps = surfaceSteps(specOf(model, state, bounds, Float64Array.from(rows[0])), 3, model.nFeatures > 1 ? 2 : 1);
  let step = steps.next();
  while (!step.done) step = steps.next();
  return Array.from(view === "best" ? expertProbabilities(step.value, () => true) : step.value.probabilities);
};
process.stdout.write(JSON.stringify({
  average: rows.map((x) => probabilities(model, x, "average")),
  best: rows.map((x) => probabilities(model, x, "best")),
  explained: rows.map((x) => model.regressions.map((_, k) => tell(x, k))),
  surfaces: rows.length > 3 ? [] : data.classes.map((_, code) => ["average", "best"].map((view) => drawn(code, view))),
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
    """To 1e-12 with `predict_proba`, at test rows and far beyond them."""
    model, X, y = any_model
    rows = np.concatenate([X, 30.0 * X[:20], -500.0 * X[:5]])
    found = asked(model, X, y, rows)
    np.testing.assert_allclose(found["average"], model.predict_proba(rows), rtol=0, atol=1e-12)


def test_best_draws_agree(any_model):
    """The view "best" agrees with `estimate="best"`."""
    model, X, y = any_model
    found = asked(model, X, y, X)["best"]
    before = model.estimate
    try:
        np.testing.assert_allclose(found, model.set_params(estimate="best").predict_proba(X), rtol=0, atol=1e-12)
    finally:
        model.set_params(estimate=before)


def test_maps_agree(any_model):
    """The map shows `predict_proba` of each class, and the sum of all experts that of `estimate="best"`."""
    model, X, y = any_model
    points = np.tile(X[0], (6 if X.shape[1] > 1 else 3, 1))
    points[:, 0] = np.tile([-1.0, 0.0, 1.0], len(points) // 3)
    if X.shape[1] > 1:
        points[:, 1] = np.repeat([-2.0, 2.0], 3)
    surfaces = np.array(asked(model, X, y, X[:1])["surfaces"])
    before = model.estimate
    # With two classes, the page shows the second.
    codes = [1] if len(model.classes_) == 2 else range(len(model.classes_))
    try:
        for place, estimate in enumerate([before, "best"]):
            expected = model.set_params(estimate=estimate).predict_proba(points)
            for code in codes:
                np.testing.assert_allclose(surfaces[code, place], expected[:, code], rtol=0, atol=1e-12)
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
