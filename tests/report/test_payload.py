"""Data for the page's script: exact enough, complete and small."""

import base64
import json

import numpy as np
import pytest
from scipy.special import softmax

from softpolytope.report import _payload as payload
from softpolytope.report._payload import encode_column, kept_draws, make_payload, max_difference
from softpolytope.report._summary import ReportOptions, summarize_model

NOTHING = ReportOptions()


def decoded(item):
    """Decode base64 as the page does."""
    return np.frombuffer(base64.b64decode(item["data"]), dtype="<" + item["type"])


def test_intervals_are_those_of_predict_interval(chains, several):
    """They are about the second of two classes, or about the predicted class."""
    for model, X, y in (chains, several):
        rows = make_payload(summarize_model(model, X, y, NOTHING))["rows"]
        wanted = model.predict_interval(X)
        if wanted.ndim == 3:
            wanted = wanted[np.arange(len(X)), np.searchsorted(model.classes_, model.predict(X))]
        np.testing.assert_allclose(np.column_stack([decoded(rows["low"]), decoded(rows["high"])]), wanted, atol=1e-7)


def test_rows_travel_nearly_exactly(any_model):
    """Values to single precision of their range, labels and decisions exactly."""
    model, X, y = any_model
    rows = make_payload(summarize_model(model, X, y, NOTHING))["rows"]
    for column, wanted in zip(rows["values"], X.T, strict=True):
        found = decoded(column)
        found = np.array(column["list"])[found] if "list" in column else column["start"] + found.astype(float)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * np.ptp(wanted))
    assert model.classes_[decoded(rows["labels"])].tolist() == list(y)
    assert model.classes_[decoded(rows["decisions"])].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("column", "kind", "listed"),
    [
        (np.array([3.0, 1.0, 3.0]), "u1", [1, 3]),
        (np.array(["b", None, "a"], dtype=object), "u1", ["", "a", "b"]),
        (np.array([True, False], dtype=object), "u1", ["False", "True"]),
        (np.array([1.5, np.nan], dtype=object), "u1", [1.5, None]),
        (np.array([None, 10.0, 9.0, None], dtype=object), "u1", [9, 10, None]),
        (np.array([None, None], dtype=object), "u1", [""]),
        (np.array([1.5, np.inf], dtype=object), "u1", ["1.5", "inf"]),
        (np.array(["x" * 100], dtype=object), "u1", ["x" * 59 + "\u2026"]),
        (np.arange(300) + 1.6e9, "f4", None),
        (1e305 * np.arange(300.0), "f8", None),
    ],
)
def test_columns_take_little_room(column, kind, listed):
    """Few distinct values are listed; many numbers are relative to the smallest."""
    found = encode_column(column)
    assert found["type"] == kind
    assert found.get("list") == listed
    if kind == "f4":
        assert (found["start"] + decoded(found).astype(float)).tolist() == column.tolist()


def test_many_numbers_with_holes_stay_numbers():
    """Missing values are NaN among the numbers."""
    column = np.array([None, *range(300), None], dtype=object)
    found = encode_column(column)
    assert (found["type"], found["start"]) == ("f4", 0.0)
    np.testing.assert_array_equal(decoded(found), [np.nan, *range(300), np.nan])


def test_no_number_is_nan(any_model):
    """The data are JSON that every browser reads."""
    json.dumps(make_payload(summarize_model(*any_model, NOTHING)), allow_nan=False)


def test_too_many_rows_leave_the_certain_ones_out(modes, monkeypatch):
    """Misclassified and the least certain rows stay, with their numbers."""
    monkeypatch.setattr(payload, "MAX_CHARACTERS_OF_PROBABILITY", 900)
    monkeypatch.setattr(payload, "MAX_CHARACTERS_OF_VALUES", 200)
    summary = summarize_model(*modes, NOTHING)
    rows = make_payload(summary)["rows"]
    numbers = decoded(rows["numbers"])
    assert rows["n"] == len(numbers) < rows["nAll"] == len(summary.codes)
    assert set(np.flatnonzero(summary.is_wrong)) <= set(numbers.tolist())
    assert rows["nValues"] < rows["n"]
    assert sum(len(column["data"]) for column in rows["values"]) <= 200
    left = np.setdiff1d(np.arange(rows["nAll"]), numbers)
    certainty = np.abs(summary.probabilities[:, 1] - 0.5)
    right = numbers[~summary.is_wrong[numbers]]
    assert certainty[left].min() >= certainty[right].max()


def test_many_draws_are_thinned(chains, monkeypatch):
    """Evenly spaced draws are kept, and the resulting difference is computed."""
    summary = summarize_model(*chains, NOTHING)
    assert len(kept_draws(summary)) == summary.n_draws
    assert max_difference(summary) == 0.0
    monkeypatch.setattr(payload, "MAX_HYPERPLANES", 40)
    kept = kept_draws(summary)
    assert 1 <= len(kept) < summary.n_draws
    assert kept[0] == 0
    model, X, _ = chains
    page = [np.zeros(len(X)), np.zeros(len(X))]
    for side, labeling in enumerate(model.posterior_.regressions[0].labelings):
        rates = labeling.draws.rates(X)[kept]
        page[side] = -np.expm1(-rates).mean(axis=0)
    shown = 0.5 * (page[0] + 1.0 - page[1])
    expected = np.abs(shown - model.predict_proba(X)[:, 1]).max()
    assert max_difference(summary) == pytest.approx(expected, abs=1e-12)
    assert expected > 0.0


def test_members_without_room_on_the_page(members, monkeypatch):
    """The difference is that of the pooled probabilities, not of their means over draws."""
    summary = summarize_model(*members, NOTHING)
    assert max_difference(summary) == 0.0
    monkeypatch.setattr(payload, "MAX_HYPERPLANES", 60)
    kept = kept_draws(summary)
    assert 1 <= len(kept) < summary.n_draws
    model, X, _ = members
    scores = []
    for regression in model.posterior_.regressions:
        rates = [labeling.draws.rates(X)[kept] for labeling in regression.labelings]
        own, other = (np.log(np.expm1(np.minimum(rate, 700.0))).clip(-12.0, 12.0).mean(axis=0) for rate in rates)
        scores.append((own - other) / 2.0)
    shown = softmax(np.array(scores), axis=0).T
    expected = np.abs(shown - model.predict_proba(X)).max()
    assert max_difference(summary) == pytest.approx(expected, abs=2e-6)  # at the limit, 12 is log(e^12 - 1) + 6e-6
    assert expected > 1e-3
