"""Polytopes and explanations of fitted classifiers, as a user sees them."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from softpolytope import SumSoftplusClassifier, SumStackSoftplusClassifier, load_model
from softpolytope.datasets import make_circle
from softpolytope.geometry._explanation import needed_predictors
from softpolytope.geometry._faces import Box, bounding_faces
from softpolytope.geometry._features import inequality
from softpolytope.geometry._regions import linear_predictors, log_contributions_at
from softpolytope.geometry._wording import in_deviations
from softpolytope.model import Features


@pytest.fixture(scope="module")
def rows():
    """The circle."""
    return make_circle(300, random_state=0)


@pytest.fixture(scope="module")
def sum_model(rows):
    """One layer, one labeling."""
    return SumSoftplusClassifier(symmetric=False, random_state=0, n_restarts=2).fit(*rows)


@pytest.fixture(scope="module")
def stack_model(rows):
    """Three layers, both labelings."""
    return SumStackSoftplusClassifier(random_state=0, n_restarts=2).fit(*rows)


def test_ring_is_outside_a_bounded_polytope(sum_model, rows):
    """Four or more half-spaces close around the disc; votes and polytope agree."""
    X, _ = rows
    ring = sum_model.polytopes()[0]
    polytope = ring.bounding_polytope()
    assert polytope.is_bounded()
    assert len(polytope.without_redundant().offsets) >= 3
    assert len(polytope.corners()) >= 3
    assert (polytope.contains(X) == (ring.n_yes(X) == 0)).all()
    assert (sum_model.predict(X[ring.n_yes(X) > 0]) == 1).all()


def test_half_spaces_are_in_the_users_units(rows):
    """With columns of any size and place, an expert alone lifts P over a half just where normal . x > offset."""
    X, y = rows
    moved = X * [1.0, 1000.0] + [5.0, 0.0]
    model = SumSoftplusClassifier(symmetric=False, random_state=0, n_restarts=1).fit(moved, y)
    design = np.column_stack([np.ones(len(moved)), moved])
    for region in model.polytopes()[0].regions:
        predictor = design @ model.coefficients_[0][region.expert - 1, 0]
        alone = -np.expm1(-region.weight * np.logaddexp(0.0, predictor))
        assert ((moved @ region.normals[0] > region.offsets[0]) == (alone > 0.5)).all()


def test_experts_are_numbered_by_weight(stack_model, rows):
    """In regions, explanations and arrays expert 1 is the heaviest and comes first, whatever the order of the draw."""
    best = [item.best.expert_weights for item in stack_model.posterior_.regressions[0].labelings]
    assert any((np.diff(weights) > 0.0).any() for weights in best)  # else the test would show nothing
    table = stack_model.explain(rows[0][:5]).table()
    arrays = zip(stack_model.expert_weights_, stack_model.coefficients_, strict=True)
    for item, (weights, coefficients) in zip(stack_model.polytopes(), arrays, strict=True):
        assert (np.diff(weights) <= 0.0).all()
        assert [region.expert for region in item.regions] == list(range(1, len(weights) + 1))
        assert [region.weight for region in item.regions] == weights.tolist()
        np.testing.assert_array_equal([region.coefficients for region in item.regions], coefficients)
        own = table[table["labeling"] == item.labeling]
        np.testing.assert_array_equal(own["weight"], weights[own["expert"] - 1])
        np.testing.assert_array_equal(item.votes(rows[0][:5]).T.ravel(), own["votes_yes"])
        said = [line.split(",")[0].strip() for line in item.in_words().splitlines()[1:] if "Expert" in line]
        assert said == [f"Expert {number}" for number in range(1, len(said) + 1)]


def test_criteria_are_numbered_from_one(stack_model, rows):
    """Three layers are the criteria 1, 2 and 3."""
    assert set(stack_model.explain(rows[0]).table()["criterion"]) <= {1, 2, 3}


def test_theorem_in_words(sum_model, stack_model):
    """Each says which theorem relates half-spaces and probability, and of what."""
    assert "(theorem 2)" in sum_model.polytopes()[0].theorem
    assert "averages" not in sum_model.polytopes()[0].theorem
    assert "(theorem 5)" in stack_model.polytopes(0.7)[1].theorem
    assert "P(0) > 0.7" in stack_model.polytopes(0.7)[1].theorem
    assert "averages" in stack_model.polytopes()[0].theorem
    assert "Expert 1, weight" in str(stack_model.polytopes())


@pytest.mark.parametrize("size", [1e-12, 1e9, 1e12])
def test_faces_of_features_of_any_size(stack_model, size):
    """The same half-spaces whatever a feature is measured in, and however far from zero it is."""
    for region in stack_model.polytopes()[0].regions:
        plain = region.faces()
        moved = region.coefficients / [1.0, size, 1.0]
        moved[:, 0] -= moved[:, 1] * size
        box = Box(region.features.lower * [size, 1.0] + [size, 0.0], region.features.upper * [size, 1.0] + [size, 0.0])
        found = bounding_faces(moved, region.log_needed, box)
        np.testing.assert_allclose(found.normals * [size, 1.0], plain.normals, rtol=1e-9)
        assert len(found.offsets) > 0


def test_feature_names_are_used(rows):
    """Half-spaces name the columns of a data frame."""
    X, y = rows
    frame = pd.DataFrame(X, columns=["north", "east"])
    model = SumSoftplusClassifier(symmetric=False, random_state=0, n_restarts=1).fit(frame, y)
    assert "north" in str(model.polytopes())
    assert set(model.explain(frame[:3]).table()["feature"]) <= {"north", "east"}


def test_layers_leave_no_single_polytope(stack_model):
    """Asking for one is refused, with what to ask for instead."""
    with pytest.raises(ValueError, match=r"regions\[k\]\.faces\(\)"):
        stack_model.polytopes()[0].bounding_polytope()


def test_weak_experts_are_said_to_be_weak(stack_model):
    """At a threshold that no expert reaches in range, nobody votes yes."""
    polytopes = stack_model.polytopes(1.0 - 1e-15)[1]
    assert all(region.faces().is_empty for region in polytopes.regions)
    assert "too weak to vote yes anywhere in range" in polytopes.in_words()


def test_criteria_are_counted(stack_model, rows):
    """Between none and all layers of every expert; all of them only where the paper's half-spaces hold."""
    polytopes = stack_model.polytopes()[0]
    met = polytopes.n_criteria_met(rows[0])
    assert met.min() >= 0
    assert met.max() <= 3
    region = polytopes.regions[0]
    expected = (rows[0] @ region.normals.T > region.offsets).sum(axis=1)
    assert (met[region.expert - 1] == expected).all()


def test_several_classes(rng):
    """One entry per class and labeling."""
    X = rng.normal(size=(150, 2)) + np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], 50, axis=0)
    model = SumSoftplusClassifier(random_state=0, n_restarts=1).fit(X, np.repeat(["a", "b", "c"], 50))
    assert [item.target for item in model.polytopes()] == ["a", "not a", "b", "not b", "c", "not c"]
    assert len(model.explain(X[:2]).table("rows")) == 12


def test_file_keeps_what_geometry_needs(stack_model, tmp_path):
    """A model read from a file tells the same."""
    stack_model.save(tmp_path / "model")
    assert str(load_model(tmp_path / "model").polytopes()) == str(stack_model.polytopes())


def test_batches_widen_the_range(rows):
    """`partial_fit` remembers the range and spread of all batches."""
    X, y = rows
    order = np.random.default_rng(0).permutation(300)
    X, y = X[order], y[order]
    model = SumSoftplusClassifier(random_state=0, n_restarts=1)
    for part in range(3):
        model.partial_fit(X[part::3], y[part::3], classes=[0, 1])
    features = model.model_.features
    np.testing.assert_allclose(features.scale, X.std(axis=0), rtol=1e-9)
    assert (features.lower == X.min(axis=0)).all()


def test_sparse_rows_have_the_same_features(rows):
    """Spread and range of sparse columns, zeros included."""
    X, y = rows
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    classifier = SumSoftplusClassifier(random_state=0, n_restarts=1)
    dense, thin = (clone(classifier).fit(kind, y) for kind in (X, sparse.csr_array(X)))
    for name in ("scale", "lower", "upper"):
        np.testing.assert_allclose(getattr(thin.model_.features, name), getattr(dense.model_.features, name), rtol=1e-9)


@pytest.mark.parametrize(
    ("normal", "offset", "text"),
    [
        ([2.0, 0.8], 6.2, "income + 0.4 age > 3.1"),
        ([-1.0, 0.5], 1.0, "income - 0.5 age < -1"),
        ([0.0, -3.0], 6.0, "age < -2"),
        ([0.0, 0.0], -1.0, "any x"),
        ([0.0, 0.0], 1.0, "no x"),
        ([1.0, 1e-5], 0.0, "income > 0"),
        ([1.0, 0.0], np.inf, "income beyond any number"),
        ([1.0, 50.0], 12345.0, "age + 0.02 income > 247"),
        ([1.0, 0.5], 123456.0, "income + 0.5 age > 123000"),
        ([1.0, 0.5], 1e-9, "income + 0.5 age > 1e-09"),
    ],
)
def test_inequalities_read_well(normal, offset, text):
    """The leading feature first and without a factor; what is too small to matter left out."""
    features = Features(("income", "age"), np.ones(2), np.zeros(2), np.ones(2))
    assert inequality(np.array(normal), offset, features) == text


def test_long_inequalities_are_cut():
    """Five terms, and how many more there are."""
    features = Features(tuple("abcdefgh"), np.ones(8), np.zeros(8), np.ones(8))
    assert inequality(np.ones(8), 1.0, features).endswith("+ 3 smaller terms > 1")
    assert inequality(np.r_[np.ones(6), 0.0, 0.0], 1.0, features).endswith("+ 1 smaller term > 1")


# Explanations.


def test_explanation_adds_up(stack_model, rows):
    """Rates of the experts add up to lambda of the best draw, shares to one."""
    table = stack_model.explain(rows[0]).table()
    for labeling, side in enumerate(stack_model.posterior_.regressions[0].labelings):
        own = table[table["labeling"] == labeling].groupby("row")
        rates = side.best.rate_function()(rows[0])[0]
        np.testing.assert_allclose(own["rate"].sum(), rates, rtol=1e-12)
        np.testing.assert_allclose(own["share"].sum(), 1.0, rtol=1e-14)


def test_margins_have_the_sign_of_the_vote(stack_model, rows):
    """Beyond the binding criterion where the expert votes yes, short of it where not."""
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
    """A share of e^-800 is no double, but its logarithm is."""
    needed = needed_predictors(np.array([[[5.0], [800.0], [2.0]]]), np.ones(1), 0.5)[0, :, 0]
    # The top layer needs log(e^log 2 - 1) = 0, and far below zero log softplus is the identity.
    upper = np.log(np.expm1(np.exp(-2.0)))
    np.testing.assert_allclose(needed[0], upper - 800.0, rtol=1e-14)


def test_change_is_in_the_features_unit(sum_model):
    """With one layer, the change named flips the vote: a little more does, a little less does not."""
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
    """With chains, rows have intervals of lambda and the share of draws with a yes."""
    model = SumSoftplusClassifier(inference="gibbs", n_sweeps=60, n_chains=1, random_state=0).fit(*rows)
    table = model.explain(rows[0][:20]).table("rows")
    assert (table["rate_low"] <= table["rate_high"]).all()
    assert table["yes_share"].between(0.0, 1.0).all()


def test_modes_claim_no_posterior(stack_model, rows):
    """Plain modes have no such columns."""
    assert "rate_low" not in stack_model.explain(rows[0][:2]).rows


def test_explanation_without_pandas(stack_model, rows, monkeypatch):
    """A structured array takes the place of the data frame."""
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    table = stack_model.explain(rows[0][:2]).table()
    assert isinstance(table, np.ndarray)
    assert "share" in table.dtype.names


def test_underflowing_rows_have_shares(stack_model):
    """Far away, where every rate underflows, shares still add up to one."""
    columns = stack_model.explain([[1e4, -1e4]]).experts
    assert np.isfinite(columns["share"]).all()


@pytest.mark.parametrize("name", ["level", "threshold"])
@pytest.mark.parametrize("value", [1.5, 0.0, "a", None, float("nan"), [0.5]])
def test_bad_levels(stack_model, name, value):
    """Levels and thresholds are probabilities, and the message names the one that is not."""
    message = re.escape(f"{name} must be a number between 0 and 1, both excluded; got {value!r}.")
    with pytest.raises(ValueError, match=message):
        stack_model.explain([[0.0, 0.0]], **{name: value})


def test_bad_threshold_of_polytopes(stack_model):
    """The same message."""
    with pytest.raises(ValueError, match="threshold must be a number between 0 and 1, both excluded; got 'a'"):
        stack_model.polytopes(threshold="a")


def test_explanations_are_read_row_by_row(stack_model, rows):
    """Printed they are text, and they have a length, rows, slices and an end."""
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
    """The first five are told, and how many more there are; of five, all are told and nothing is counted."""
    printed = str(stack_model.explain(rows[0][:20])).splitlines()
    assert printed[-1] == "... and 15 more rows: [i] or in_words(i) has one, table() all."
    assert {line.split(",")[0] for line in printed if line.startswith("Row")} == {f"Row {row}" for row in range(5)}
    assert "more row" not in str(stack_model.explain(rows[0][:5]))
    assert "and 1 more row:" in str(stack_model.explain(rows[0][:6]))


@pytest.mark.parametrize("row", [2, -3])
def test_rows_that_do_not_exist(stack_model, rows, row):
    """Asking for one is an error that says which rows there are."""
    explanation = stack_model.explain(rows[0][:2])
    message = f"there is no row {row}: this result has the rows 0 to 1"
    with pytest.raises(IndexError, match=message):
        explanation.in_words(row)
    with pytest.raises(IndexError, match=message):
        explanation[row]


def test_unknown_tables(stack_model):
    """The message names those there are."""
    with pytest.raises(ValueError, match='takes "experts" or "rows"; got \'columns\''):
        stack_model.explain([[0.0, 0.0]]).table("columns")


def test_one_is_singular(stack_model, rows):
    """No "1 experts" and no "1 standard deviations" anywhere."""
    told = [line for row in range(60) for line in stack_model.explain(rows[0][:60]).in_words(row).splitlines()]
    heads = [line for line in told if line.startswith("Row")]
    assert all(re.search(r", yes from \d of ([02-9] experts|1 expert) ", line) for line in heads)
    assert not any(re.search(r"(?<![.\d])1 (experts|standard deviations)", line) for line in told)
    assert (in_deviations(0.996), in_deviations(1.04)) == ("1 standard deviation", "1 standard deviation")
    assert (in_deviations(0.5), in_deviations(10.0)) == ("0.5 standard deviations", "10 standard deviations")


def test_polytopes_print_as_text(stack_model):
    """Of the model, of a labeling and of an expert; what a notebook shows is short."""
    polytopes = stack_model.polytopes()
    assert str(polytopes[0]) == polytopes[0].in_words()
    assert str(polytopes[0].regions[0]) == polytopes[0].regions[0].in_words()
    assert max(len(repr(item)) for item in (polytopes, polytopes[0], polytopes[0].regions[0])) < 100


def test_predictors_of_sparse_rows(stack_model, rows):
    """Dense and sparse rows have the same predictors."""
    coefficients = stack_model.coefficients_[0]
    dense = linear_predictors(coefficients, rows[0])
    np.testing.assert_allclose(
        linear_predictors(coefficients, sparse.csr_array(rows[0])), dense, rtol=1e-12, atol=1e-12
    )
