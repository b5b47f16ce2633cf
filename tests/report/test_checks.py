"""Findings for and against trusting a model, also when it was trained on the rows of the report."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from softpolytope import SumStackSoftplusClassifier, load_model
from softpolytope.report import Calibration, write_report
from softpolytope.report._checks import _check_calibration, check_model
from softpolytope.report._payload import make_payload
from softpolytope.report._summary import ReportOptions, summarize_model

HELD_OUT = {
    "softpolytope": {"error": 0.12, "log_loss": 0.3},
    "majority vote": {"error": 0.4, "log_loss": 0.68},
    "logistic regression": {"error": 0.2, "log_loss": 0.5},
}


def ring(n_rows):
    """Rows of a ring around a disc, some of them on the wrong side."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    return X, np.where((X**2).sum(axis=1) + 0.5 * rng.normal(size=n_rows) > 1.4, "ring", "disc")


@pytest.fixture(scope="module")
def trained():
    """A model, its training rows, and others."""
    X, y = ring(400)
    model = SumStackSoftplusClassifier(inference="map", n_restarts=2, random_state=0).fit(X[:200], y[:200])
    return model, (X[:200], y[:200]), (X[200:], y[200:])


def checks_for(model, X, y, **given):
    """Return the findings of a report."""
    return check_model(summarize_model(model, X, y, ReportOptions(**given)))


def test_training_rows_come_first_and_get_no_tick(trained):
    """Scores on them say nothing in favor; without held-out scores, the page says how to get some."""
    model, (X, y), _ = trained
    checks = checks_for(model, X, y, baselines={"LR": {"error": 0.5, "log_loss": 1.0}})
    assert checks[0].mark == "bad"
    assert checks[0].text.startswith("These are rows the model was trained on")
    assert "no scores on held-out rows" in checks[1].text
    assert "`softpolytope fit`" in checks[1].text
    assert not any(check.mark == "good" for check in checks)
    assert not any("test row" in check.text for check in checks)


def test_held_out_scores_are_the_verdict(trained):
    """They come second, before the training error, and are bad if no better than the majority vote."""
    model, (X, y), _ = trained
    checks = checks_for(model, X, y, held_out=HELD_OUT)
    assert "Its error on rows held out from the fit was 12.0%" in checks[1].text
    assert "always predicting the most frequent class gives 40.0%" in checks[1].text
    assert checks[1].mark == "look"
    assert checks[2].text.startswith("Its error on the training rows is ")
    assert not any(check.mark == "good" for check in checks)
    worse = HELD_OUT | {"softpolytope": {"error": 0.45, "log_loss": 0.7}}
    assert checks_for(model, X, y, held_out=worse)[1].mark == "bad"
    alone = {"softpolytope": HELD_OUT["softpolytope"]}
    assert checks_for(model, X, y, held_out=alone)[1].text.endswith("12.0%.")
    names = [score.name for score in summarize_model(model, X, y, ReportOptions(held_out=HELD_OUT)).scores]
    assert "logistic regression, on held-out rows" in names


def test_new_rows_get_their_tick(trained):
    """Training rows are not mentioned, and held-out scores have no influence."""
    model, _, (X, y) = trained
    checks = checks_for(model, X, y, held_out=HELD_OUT)
    assert checks[0].mark == "good"
    assert checks[0].text.startswith("Its error on the test rows is ")
    assert not any("trained on" in check.text for check in checks)


def test_new_rows_among_training_rows_decide(trained):
    """Number and error are those of the new rows alone."""
    model, (old, old_labels), (new, new_labels) = trained
    X, y = np.concatenate([old[:150], new[:60]]), np.concatenate([old_labels[:150], new_labels[:60]])
    checks = checks_for(model, X, y)
    assert checks[0].text.startswith("150 of these 210 rows (71%) are rows the model was trained on")
    error = 100.0 * np.mean(model.predict(new[:60]) != new_labels[:60])
    assert checks[1].text.startswith(f"Its error on the 60 rows it was not trained on is {error:.1f}%")
    assert not any(check.mark == "good" for check in checks)
    summary = summarize_model(model, X, y, ReportOptions())
    assert summary.n_new_rows == 60
    assert summary.row_noun == "row"


def test_few_old_rows_among_many_do_not_count(trained):
    """One training row among two hundred does not change the findings."""
    model, (old, old_labels), (new, new_labels) = trained
    checks = checks_for(model, np.concatenate([old[:1], new]), np.concatenate([old_labels[:1], new_labels]))
    assert checks[0].text.startswith("Its error on the test rows is ")


def test_without_a_fingerprint_the_page_says_so(trained, tmp_path):
    """It is unknown whether the model was trained on these rows."""
    model, _, (X, y) = trained
    model.save(tmp_path / "m", fingerprint=False)
    checks = checks_for(load_model(tmp_path / "m"), X, y)
    assert any("no fingerprint of its training rows" in check.text for check in checks)
    model.save(tmp_path / "m")
    assert not any("fingerprint" in check.text for check in checks_for(load_model(tmp_path / "m"), X, y))


def test_number_of_training_rows_may_be_an_estimate(trained):
    """New rows cannot be identified, so held-out scores decide."""
    model, (X, y), _ = trained
    summary = summarize_model(model, X, y, ReportOptions(held_out=HELD_OUT))
    vague = replace(summary, overlap=replace(summary.overlap, n_known=100, share=0.5, is_known=None))
    checks = check_model(vague)
    assert checks[0].text.startswith("About 100 of these 200 rows (50%)")
    assert "held out" in checks[1].text


def test_page_calls_them_training_rows(trained, tmp_path):
    """Titles, figures, tables and map do not call them test rows."""
    model, (X, y), (new, new_labels) = trained
    write_report(model, X, y, tmp_path / "r.html", held_out=HELD_OUT)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    page = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert "test row" not in page.lower()
    assert "The training rows" in page
    assert "Error on held-out rows" in page
    assert page.index("Error on held-out rows") < page.index("Error on training rows")
    write_report(model, new, new_labels, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The test rows" in text
    assert "trained on" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


@pytest.mark.slow
def test_few_bootstrapped_modes_give_a_warning(modes):
    """Intervals are shown with a warning; with enough modes there is none."""
    model, X, y = modes
    for n_members, is_few in ((4, True), (18, False)):
        fitted = clone(model).set_params(inference="bootstrap", n_restarts=5, n_members=n_members).fit(X, y)
        summary = summarize_model(fitted, X, y, ReportOptions())
        assert "low" in make_payload(summary)["rows"]
        text = check_model(summary)[-1].text
        assert ("4 members are too few for 89% intervals; refit with n_members=18 or more" in text) is is_few


def test_findings_name_problems(modes):
    """A model no better than the majority, few rows, a single class."""
    model, X, y = modes
    swapped = np.where(y == "ring", "disc", "ring")
    first = checks_for(model, X, swapped)[0]
    assert first.text.startswith("Its error on the test rows is 9")
    assert first.text.endswith("In error or in log-loss it is no better than that.")
    assert first.mark == "bad"
    assert any("only 150 test rows" in check.text for check in checks_for(model, X, y))
    is_ring = y == "ring"
    assert checks_for(model, X[is_ring], y[is_ring])[0].text.startswith("All test rows are “ring”")


@pytest.mark.parametrize(
    ("n_missed", "agreement", "tail"),
    [
        (0, "10 of 10 bins", ""),
        (1, "9 of 10 bins", "; chance can explain the other 1"),
        (2, "8 of 10 bins", "; chance can explain the other 2"),
        (8, "only 2 of 10 bins", ""),
    ],
)
def test_bins_may_miss_by_chance(n_missed, agreement, tail):
    """Even those of a perfectly calibrated model do."""
    predicted = np.linspace(0.05, 0.95, 10)
    bands = np.column_stack([predicted - 0.01, predicted + 0.01])
    bands[:n_missed] += 0.02
    calibration = Calibration(predicted - 0.05, np.full(10, 50), predicted, predicted, bands)
    found = _check_calibration(SimpleNamespace(calibration=calibration, has_training_rows=False))
    assert found.text == f"Its probabilities agree with the observed shares in {agreement}{tail}."
    assert (found.mark == "good") == (n_missed <= 3)
