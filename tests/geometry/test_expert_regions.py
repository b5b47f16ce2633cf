"""Polytopes of fitted classifiers as a user sees them, and the paper's theorems on random models."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from benchmarks.geometry import broken_cap, broken_converse, broken_polytope, broken_theorem, random_case
from softpolytope import SumSoftplusClassifier, load_model

SEEDS = st.integers(0, 2**32)


WEIGHTS = st.floats(-6.0, 3.0)


THRESHOLDS = st.floats(0.01, 0.99)


def test_ring_is_outside_a_bounded_polytope(sum_model, rows):
    """Four or more half-spaces enclose the disc; votes and polytope agree."""
    X, _ = rows
    ring = sum_model.polytopes()[0]
    polytope = ring.bounding_polytope()
    assert polytope.is_bounded()
    assert len(polytope.without_redundant().offsets) >= 3
    assert len(polytope.corners()) >= 3
    assert (polytope.contains(X) == (ring.n_yes(X) == 0)).all()
    assert (sum_model.predict(X[ring.n_yes(X) > 0]) == 1).all()


def test_half_spaces_are_in_the_users_units(rows):
    """For columns of any scale, an expert alone lifts P above one half exactly where normal . x > offset."""
    X, y = rows
    moved = X * [1.0, 1000.0] + [5.0, 0.0]
    model = SumSoftplusClassifier(symmetric=False, random_state=0, inference="map", n_restarts=1).fit(moved, y)
    design = np.column_stack([np.ones(len(moved)), moved])
    for region in model.polytopes()[0].regions:
        predictor = design @ model.coefficients_[0][region.expert - 1, 0]
        alone = -np.expm1(-region.weight * np.logaddexp(0.0, predictor))
        assert ((moved @ region.normals[0] > region.offsets[0]) == (alone > 0.5)).all()


def test_experts_are_numbered_by_weight(stack_model, rows):
    """Expert 1 has the largest weight in regions, explanations and arrays, whatever the order of the draw."""
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


def test_theorem_in_words(sum_model, stack_model):
    """The text names the theorem that relates half-spaces and probability, and the class."""
    assert "(theorem 2)" in sum_model.polytopes()[0].theorem
    assert "averages" not in sum_model.polytopes()[0].theorem
    assert "(theorem 5)" in stack_model.polytopes(0.7)[1].theorem
    assert "P(0) > 0.7" in stack_model.polytopes(0.7)[1].theorem
    assert "averages" in stack_model.polytopes()[0].theorem
    assert "Expert 1, weight" in str(stack_model.polytopes())


def test_feature_names_are_used(rows):
    """Half-spaces name the columns of a data frame."""
    X, y = rows
    frame = pd.DataFrame(X, columns=["north", "east"])
    model = SumSoftplusClassifier(symmetric=False, random_state=0, inference="map", n_restarts=1).fit(frame, y)
    assert "north" in str(model.polytopes())
    assert set(model.explain(frame[:3]).table()["feature"]) <= {"north", "east"}


def test_layers_leave_no_single_polytope(stack_model):
    """The error names the alternative."""
    with pytest.raises(ValueError, match=r"regions\[k\]\.faces\(\)"):
        stack_model.polytopes()[0].bounding_polytope()


def test_weak_experts_are_said_to_be_weak(stack_model):
    """At a threshold that no expert reaches in the range of the data, the text says so."""
    polytopes = stack_model.polytopes(1.0 - 1e-15)[1]
    assert all(region.faces().is_empty for region in polytopes.regions)
    assert "too weak to vote yes anywhere in the range of the training data" in polytopes.in_words()


def test_criteria_are_counted(stack_model, rows):
    """Counts range from none to all layers, and all are met only where the paper's half-spaces hold."""
    polytopes = stack_model.polytopes()[0]
    met = polytopes.n_criteria_met(rows[0])
    assert met.min() >= 0
    assert met.max() <= 3
    region = polytopes.regions[0]
    expected = (rows[0] @ region.normals.T > region.offsets).sum(axis=1)
    assert (met[region.expert - 1] == expected).all()


def test_several_classes(rng):
    """There is one entry per class and labeling."""
    X = rng.normal(size=(150, 2)) + np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], 50, axis=0)
    model = SumSoftplusClassifier(random_state=0, inference="map", n_restarts=1).fit(X, np.repeat(["a", "b", "c"], 50))
    assert [item.target for item in model.polytopes()] == ["a", "not a", "b", "not b", "c", "not c"]
    assert len(model.explain(X[:2]).table("rows")) == 12


def test_file_keeps_what_geometry_needs(stack_model, tmp_path):
    """A loaded model has the same polytopes."""
    stack_model.save(tmp_path / "model")
    assert str(load_model(tmp_path / "model").polytopes()) == str(stack_model.polytopes())


def test_batches_widen_the_range(rows):
    """`partial_fit` keeps the range and spread of all batches."""
    X, y = rows
    order = np.random.default_rng(0).permutation(300)
    X, y = X[order], y[order]
    model = SumSoftplusClassifier(random_state=0, inference="map", n_restarts=1)
    for part in range(3):
        model.partial_fit(X[part::3], y[part::3], classes=[0, 1])
    features = model.model_.features
    np.testing.assert_allclose(features.scale, X.std(axis=0), rtol=1e-9)
    assert (features.lower == X.min(axis=0)).all()


def test_sparse_rows_have_the_same_features(rows):
    """Spread and range of sparse columns include the zeros."""
    X, y = rows
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    classifier = SumSoftplusClassifier(random_state=0, inference="map", n_restarts=1)
    dense, thin = (clone(classifier).fit(kind, y) for kind in (X, sparse.csr_array(X)))
    for name in ("scale", "lower", "upper"):
        np.testing.assert_allclose(getattr(thin.model_.features, name), getattr(dense.model_.features, name), rtol=1e-9)


def test_bad_threshold_of_polytopes(stack_model):
    """The message is that of all thresholds."""
    with pytest.raises(ValueError, match="threshold must be a number between 0 and 1, both excluded; got 'a'"):
        stack_model.polytopes(threshold="a")


def test_polytopes_print_as_text(stack_model):
    """Polytopes of a model, a labeling and an expert print as text; their repr is short."""
    polytopes = stack_model.polytopes()
    assert str(polytopes[0]) == polytopes[0].in_words()
    assert str(polytopes[0].regions[0]) == polytopes[0].regions[0].in_words()
    assert max(len(repr(item)) for item in (polytopes, polytopes[0], polytopes[0].regions[0])) < 100


@given(SEEDS, st.integers(1, 20), WEIGHTS, THRESHOLDS)
@settings(max_examples=300, deadline=None)
def test_union_of_regions_is_inside(seed, n_layers, log_weight, threshold):
    """Theorem 5: where an expert alone reaches the threshold, P is above it."""
    assert broken_theorem(random_case(seed, n_layers, log_weight, threshold)) == 0


@given(SEEDS, WEIGHTS, THRESHOLDS)
@settings(max_examples=300, deadline=None)
def test_polytope_holds_the_other_side(seed, log_weight, threshold):
    """Theorem 2: outside the polytope of a sum model, P is above the threshold."""
    assert broken_polytope(random_case(seed, 1, log_weight, threshold)) == 0


@given(SEEDS)
@settings(max_examples=200, deadline=None)
def test_nobody_votes_yes_means_a_cap(seed):
    """If none of K experts reaches the threshold, P is at most 1 - (1 - p0)^K."""
    assert broken_cap(random_case(seed)) == 0


def test_converse_does_not_hold():
    """The control: the check rejects that P is below the threshold wherever no expert votes yes."""
    assert sum(broken_converse(random_case(seed)) > 0 for seed in range(50)) > 5
