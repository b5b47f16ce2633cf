"""The paper's theorems, and ours, on random models; `benchmarks/geometry.py` runs as many as one likes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.geometry import (
    ROUNDING,
    broken_cap,
    broken_converse,
    broken_faces,
    broken_polytope,
    broken_shares,
    broken_theorem,
    random_case,
)
from softpolytope.geometry._regions import layer_slopes, linear_predictors, log_contributions, log_contributions_at

SEEDS = st.integers(0, 2**32)
WEIGHTS = st.floats(-6.0, 3.0)
THRESHOLDS = st.floats(0.01, 0.99)


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
    """Where none of K experts reaches the threshold, P is at most 1 - (1 - p0)^K."""
    assert broken_cap(random_case(seed)) == 0


def test_converse_does_not_hold():
    """The control: that P is below the threshold where nobody votes yes is seen to be wrong."""
    assert sum(broken_converse(random_case(seed)) > 0 for seed in range(50)) > 5


@given(SEEDS)
@settings(max_examples=200, deadline=None)
def test_shares_add_up(seed):
    """Contributions of the experts add up to lambda within 1e-12, shares to one."""
    assert broken_shares(random_case(seed)) <= ROUNDING


@pytest.mark.parametrize("n_layers", [1, 2, 3, 5, 20])
def test_faces_hold_the_region(n_layers):
    """Within the box, an expert votes yes only where all its faces hold."""
    assert all(broken_faces(random_case(seed, n_layers, threshold=0.5)) == 0 for seed in range(6))


def test_wrong_faces_are_seen():
    """The control: faces moved in by a tenth of the box cut off rows that vote yes."""
    n_cut = 0
    for seed in range(40):
        case = random_case(seed, 3, 0.0, 0.5)
        faces = case.polytopes.regions[0].faces()
        votes = case.polytopes.votes(case.rows)[0] & (np.abs(case.rows) <= 3.0).all(axis=1)
        moved = faces.offsets + 0.6 * np.abs(faces.normals).sum(axis=1)
        n_cut += int((votes & ~(case.rows @ faces.normals.T > moved).all(axis=1)).sum())
    assert n_cut > 0


@given(SEEDS, st.integers(2, 20))
@settings(max_examples=100, deadline=None)
def test_regions_are_convex(seed, n_layers):
    """log q is concave: half way between two rows it is no less than the mean of both."""
    case = random_case(seed, n_layers)
    ends, others = case.rows, case.rows[::-1]
    values = [log_contributions(case.polytopes.draw, rows) for rows in (ends, others, 0.5 * (ends + others))]
    assert (values[2] >= 0.5 * (values[0] + values[1]) - 1e-10 * (1.0 + np.abs(values[2]))).all()


@pytest.mark.parametrize("n_layers", [1, 2, 5])
def test_layer_slopes_are_derivatives(n_layers, rng):
    """Slopes of log q by the predictors agree with differences."""
    predictors = rng.normal(size=(3, n_layers, 7)) * 3.0
    ones = np.ones(3)
    for layer in range(n_layers):
        up, down = predictors.copy(), predictors.copy()
        up[:, layer] += 1e-5
        down[:, layer] -= 1e-5
        difference = (log_contributions_at(up, ones) - log_contributions_at(down, ones)) / 2e-5
        np.testing.assert_allclose(layer_slopes(predictors)[:, layer], difference, atol=1e-8)


def test_rows_of_another_width_are_refused():
    """Rows must have the model's features."""
    case = random_case(0)
    with pytest.raises(ValueError, match="features; got rows of 9"):
        linear_predictors(case.polytopes.draw.coefficients, np.zeros((2, 9)))
