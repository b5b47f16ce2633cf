"""Explanations of rows by fitted classifiers: tables and text."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.geometry import ROUNDING, broken_shares, random_case
from softpolytope import SumSoftplusClassifier
from softpolytope._format import format_deviations
from softpolytope.geometry._explanation import needed_predictors
from softpolytope.geometry._half_spaces import log_contributions_at


def test_explanation_adds_up(stack_model, rows):
    """Rates of the experts sum to lambda of the best draw, shares to one."""
    table = stack_model.explain(rows[0]).table()
    for labeling, side in enumerate(stack_model.posterior_.regressions[0].labelings):
        own = table[table["labeling"] == labeling].groupby("row")
        rates = side.best.rates(rows[0])[0]
        np.testing.assert_allclose(own["rate"].sum(), rates, rtol=1e-12)
        np.testing.assert_allclose(own["share"].sum(), 1.0, rtol=1e-14)


def test_margins_have_the_sign_of_the_vote(stack_model, rows):
    """A row is beyond the binding criterion if and only if the expert votes yes."""
    table = stack_model.explain(rows[0]).table()
    assert ((table["margin_sd"] > 0.0) == table["votes_yes"]).all()


def test_change_brings_the_criterion_to_its_limit(rng):
    """A predictor set to what is needed makes its expert just reach the threshold."""
    predictors, weights = rng.normal(size=(4, 3, 20)), rng.gamma(2.0, size=4)
    needed = needed_predictors(predictors, weights, 0.4)
    for layer in range(3):
        moved = predictors.copy()
        moved[:, layer] = needed[:, layer]
        is_possible = np.isfinite(moved).all(axis=1)
        reached = np.exp(log_contributions_at(np.where(np.isfinite(moved), moved, 0.0), weights))
        np.testing.assert_allclose(reached[is_possible], -np.log1p(-0.4), rtol=1e-8)


def test_needed_predictors_below_all_numbers():
    """A share of e^-800 underflows, but its logarithm does not."""
    needed = needed_predictors(np.array([[[5.0], [800.0], [2.0]]]), np.ones(1), 0.5)[0, :, 0]
    # The top layer needs log(e^log 2 - 1) = 0, and far below zero log softplus is the identity.
    upper = np.log(np.expm1(np.exp(-2.0)))
    np.testing.assert_allclose(needed[0], upper - 800.0, rtol=1e-14)


def test_change_is_in_the_features_unit(sum_model):
    """With one layer, slightly more than the stated change flips the vote, and slightly less does not."""
    explanation = sum_model.explain([[0.3, 0.2]])
    columns = explanation.experts
    polytopes = sum_model.polytopes()[0]
    for index, expert in enumerate(columns["expert"]):
        feature = int(columns["feature"][index][1:])
        for share, is_flipped in ((0.999, False), (1.001, True)):
            row = np.array([[0.3, 0.2]])
            row[0, feature] += share * columns["change"][index]
            assert (polytopes.votes(row)[expert - 1, 0] != columns["votes_yes"][index]) == is_flipped


@pytest.mark.slow
def test_draws_tell_how_sure(rows):
    """With chains, rows have intervals of lambda and the fraction of draws with a yes vote."""
    model = SumSoftplusClassifier(inference="gibbs", n_sweeps=60, n_chains=1, random_state=0).fit(*rows)
    table = model.explain(rows[0][:20]).table("rows")
    assert (table["rate_low"] <= table["rate_high"]).all()
    assert table["yes_share"].between(0.0, 1.0).all()


def test_modes_claim_no_posterior(stack_model, rows):
    """Explanations by plain modes have no columns about the posterior."""
    assert "rate_low" not in stack_model.explain(rows[0][:2]).rows


def test_explanation_without_pandas(stack_model, rows, monkeypatch):
    """The table is a structured array if pandas is not installed."""
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    table = stack_model.explain(rows[0][:2]).table()
    assert isinstance(table, np.ndarray)
    assert "share" in table.dtype.names


def test_underflowing_rows_have_shares(stack_model):
    """Far away, where all rates underflow, shares still sum to one."""
    columns = stack_model.explain([[1e4, -1e4]]).experts
    assert np.isfinite(columns["share"]).all()


@pytest.mark.parametrize("name", ["level", "threshold"])
@pytest.mark.parametrize("value", [1.5, 0.0, "a", None, float("nan"), [0.5]])
def test_bad_levels(stack_model, name, value):
    """Levels and thresholds must be probabilities, and the message names the wrong one."""
    message = re.escape(f"{name} must be a number between 0 and 1, both excluded; got {value!r}.")
    with pytest.raises(ValueError, match=message):
        stack_model.explain([[0.0, 0.0]], **{name: value})


def test_explanations_are_read_row_by_row(stack_model, rows):
    """They print as text and support length, indexing, slices and iteration."""
    explanation = stack_model.explain(rows[0][:20])
    assert len(explanation) == 20
    third = explanation[3]
    assert len(third) == 1
    assert str(third) == third.in_words() == explanation.in_words(3)
    assert str(third).startswith("Row 3, class ")
    assert set(third.table()["row"]) == set(third.table("rows")["row"]) == {3}
    np.testing.assert_allclose(third.experts["share"], stack_model.explain(rows[0][3:4]).experts["share"])
    assert explanation.in_words(-1) == explanation.in_words(19) == str(explanation[-1])
    assert [str(item) for item in explanation] == [explanation.in_words(row) for row in range(20)]
    assert str(explanation[4:2:-1]).splitlines()[0] == explanation.in_words(4).splitlines()[0]
    assert str(explanation[4:4]) == ""
    assert len(repr(explanation)) < 80


def test_many_explained_rows_are_counted(stack_model, rows):
    """The first five rows are printed and the others counted; five rows are printed without a count."""
    printed = str(stack_model.explain(rows[0][:20])).splitlines()
    assert printed[-1] == "... and 15 more rows: use [i] or in_words(i) for one, table() for all."
    assert {line.split(",")[0] for line in printed if line.startswith("Row")} == {f"Row {row}" for row in range(5)}
    assert "more row" not in str(stack_model.explain(rows[0][:5]))
    assert "and 1 more row:" in str(stack_model.explain(rows[0][:6]))


@pytest.mark.parametrize("row", [2, -3])
def test_rows_that_do_not_exist(stack_model, rows, row):
    """The error names the rows that exist."""
    explanation = stack_model.explain(rows[0][:2])
    message = f"there is no row {row}: this result has the rows 0 to 1"
    with pytest.raises(IndexError, match=message):
        explanation.in_words(row)
    with pytest.raises(IndexError, match=message):
        explanation[row]


def test_unknown_tables(stack_model):
    """The message names the tables that exist."""
    with pytest.raises(ValueError, match='takes "experts" or "rows"; got \'columns\''):
        stack_model.explain([[0.0, 0.0]]).table("columns")


def test_one_is_singular(stack_model, rows):
    """The text never contains "1 experts" or "1 standard deviations"."""
    lines = [line for row in range(60) for line in stack_model.explain(rows[0][:60]).in_words(row).splitlines()]
    heads = [line for line in lines if line.startswith("Row")]
    assert all(re.search(r", yes votes from \d of ([02-9] experts|1 expert) ", line) for line in heads)
    assert not any(re.search(r"(?<![.\d])1 (experts|standard deviations)", line) for line in lines)
    assert (format_deviations(0.996), format_deviations(1.04)) == ("1 standard deviation", "1 standard deviation")
    assert (format_deviations(0.5), format_deviations(10.0)) == ("0.5 standard deviations", "10 standard deviations")


def test_criteria_are_numbered_from_one(stack_model, rows):
    """Three layers are the criteria 1, 2 and 3."""
    assert set(stack_model.explain(rows[0]).table()["criterion"]) <= {1, 2, 3}


@given(st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_shares_add_up(seed):
    """Contributions of the experts sum to lambda within 1e-12, shares to one."""
    assert broken_shares(random_case(seed)) <= ROUNDING
