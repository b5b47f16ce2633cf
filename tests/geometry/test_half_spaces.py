"""Offsets of criteria against high precision, contributions at rows, and inequalities as text."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from benchmarks.geometry import random_case
from softpolytope.geometry._half_spaces import (
    criterion_offsets,
    inequality,
    layer_derivatives,
    linear_predictors,
    log_contributions,
    log_contributions_at,
    log_expm1,
    needed_rate,
)
from softpolytope.model import Features

SEEDS = st.integers(0, 2**32)


def plain_offsets(weight, threshold, n_layers):
    """Compute the recursions of g and h in the paper with 60 digits."""
    with mpmath.workdps(60):
        h = [(1 - mpmath.mpf(threshold)) ** (-1 / mpmath.mpf(weight)) - 1]
        g = [mpmath.mpf(1)]
        for _ in range(n_layers - 1):
            h.append(mpmath.exp(h[-1]) - 1)
            g.append(mpmath.log(1 + g[-1]))
        return [float(mpmath.log(a) - mpmath.log(b)) for a, b in zip(h[::-1], g, strict=True)]


@pytest.mark.parametrize("weight", [1e-2, 0.3, 1.0, 1e3])
@pytest.mark.parametrize("threshold", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("n_layers", [1, 2])
def test_offsets_follow_the_recursions(weight, threshold, n_layers):
    """Offsets equal log h - log g as printed."""
    expected = plain_offsets(weight, threshold, n_layers)
    np.testing.assert_allclose(criterion_offsets([weight], threshold, n_layers)[0], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n_layers", [1, 2, 4])
def test_one_layer_alone_reaches_the_threshold(n_layers):
    """At the offset, with all other predictors at zero, an expert just reaches the threshold."""
    offsets = criterion_offsets([2.0], 0.3, n_layers)[0]
    predictors = np.diag(offsets)[None]  # one row per layer
    reached = np.exp(log_contributions_at(predictors, np.array([2.0])))
    np.testing.assert_allclose(reached, needed_rate(0.3), rtol=1e-10)


def test_what_no_row_can_meet_is_infinite():
    """Offsets that overflow, and those of experts without weight, are +inf."""
    offsets = criterion_offsets([0.1, 1e-6, 0.0], 0.5, 4)
    assert np.isinf(offsets[0, :2]).all()
    assert np.isinf(offsets[1, :3]).all()
    assert np.isinf(offsets[2]).all()
    assert np.isfinite(offsets[0, 2:]).all()


@pytest.mark.parametrize("value", [1e-300, 1e-8, 0.5, 29.9, 30.1, 800.0])
def test_log_expm1(value):
    """It is the inverse of softplus for small and large arguments."""
    with mpmath.workdps(400):
        expected = float(mpmath.log(mpmath.expm1(mpmath.mpf(value))))
    np.testing.assert_allclose(log_expm1(value), expected, rtol=1e-13)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -1.0, 2.0, float("nan")])
def test_threshold_is_a_probability(threshold):
    """0, 1 and numbers outside are refused."""
    with pytest.raises(ValueError, match="threshold must be a number between 0 and 1, both excluded"):
        needed_rate(threshold)


@pytest.mark.parametrize(
    ("normal", "offset", "text"),
    [
        ([2.0, 0.8], 6.2, "income + 0.4 age > 3.1"),
        ([-1.0, 0.5], 1.0, "income - 0.5 age < -1"),
        ([0.0, -3.0], 6.0, "age < -2"),
        ([0.0, 0.0], -1.0, "any x"),
        ([0.0, 0.0], 1.0, "no x"),
        ([1.0, 1e-5], 0.0, "income > 0"),
        ([1.0, 0.0], np.inf, "income > inf"),
        ([1.0, 50.0], 12345.0, "age + 0.02 income > 247"),
        ([1.0, 0.5], 123456.0, "income + 0.5 age > 123000"),
        ([1.0, 0.5], 1e-9, "income + 0.5 age > 1e-09"),
    ],
)
def test_inequalities_read_well(normal, offset, text):
    """The feature of the largest effect comes first without a factor; negligible terms are left out."""
    features = Features(("income", "age"), np.ones(2), np.zeros(2), np.ones(2))
    assert inequality(np.array(normal), offset, features) == text


def test_long_inequalities_are_cut():
    """Five terms are written and the others counted."""
    features = Features(tuple("abcdefgh"), np.ones(8), np.zeros(8), np.ones(8))
    assert inequality(np.ones(8), 1.0, features).endswith("+ 3 smaller terms > 1")
    assert inequality(np.r_[np.ones(6), 0.0, 0.0], 1.0, features).endswith("+ 1 smaller term > 1")


def test_predictors_of_sparse_rows(stack_model, rows):
    """Dense and sparse rows have the same predictors."""
    coefficients = stack_model.coefficients_[0]
    dense = linear_predictors(coefficients, rows[0])
    np.testing.assert_allclose(
        linear_predictors(coefficients, sparse.csr_array(rows[0])), dense, rtol=1e-12, atol=1e-12
    )


@given(SEEDS, st.integers(2, 20))
@settings(max_examples=100, deadline=None)
def test_regions_are_convex(seed, n_layers):
    """log q is concave: halfway between two rows it is at least the mean of both."""
    case = random_case(seed, n_layers)
    ends, others = case.rows, case.rows[::-1]
    values = [log_contributions(case.polytopes.draw, rows) for rows in (ends, others, 0.5 * (ends + others))]
    assert (values[2] >= 0.5 * (values[0] + values[1]) - 1e-10 * (1.0 + np.abs(values[2]))).all()


@pytest.mark.parametrize("n_layers", [1, 2, 5])
def test_layer_derivatives_agree_with_differences(n_layers, rng):
    """Derivatives of log q by the predictors agree with differences."""
    predictors = rng.normal(size=(3, n_layers, 7)) * 3.0
    ones = np.ones(3)
    for layer in range(n_layers):
        up, down = predictors.copy(), predictors.copy()
        up[:, layer] += 1e-5
        down[:, layer] -= 1e-5
        difference = (log_contributions_at(up, ones) - log_contributions_at(down, ones)) / 2e-5
        np.testing.assert_allclose(layer_derivatives(predictors)[:, layer], difference, atol=1e-8)


def test_rows_of_another_width_are_refused():
    """Rows with another number of features are refused."""
    case = random_case(0)
    with pytest.raises(ValueError, match="features; got rows of 9"):
        linear_predictors(case.polytopes.draw.coefficients, np.zeros((2, 9)))
