"""Sums over rows for the coefficients: every sum in its order, to the last bit."""

import numpy as np
import pytest
from products import SHAPES, one_by_one, thin

from softpolytope.gibbs._kernels import activation as _activation
from softpolytope.gibbs._kernels import gram as _gram


@pytest.mark.parametrize(("n_rows", "n_columns", "n_experts"), SHAPES)
def test_linear_sums_add_rows_in_order(n_rows, n_columns, n_experts, rng):
    """sum_i slope_i x_i is added to what is there, row after row."""
    design = rng.normal(size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.7)
    slopes = 10.0 ** rng.uniform(-8, 8, (n_rows, n_experts))
    before = rng.normal(size=(n_columns, n_experts))
    expected = np.array(
        [
            one_by_one([1.0, *column], [start, *slopes], n_experts)
            for column, start in zip(design.T, before, strict=True)
        ]
    )
    dense, scattered = before.copy(), before.copy()
    _gram.add_linear_dense(design, slopes, dense)
    _gram.add_linear_sparse(*thin(design), slopes, scattered)
    assert np.array_equal(dense, expected)
    assert np.array_equal(scattered, expected)


def weighted_squares(design, weights):
    """sum_i (w_i x_ia) x_ib, b <= a, one row after the other, as (pairs, experts)."""
    n_columns = design.shape[1]
    pairs = [(a, b) for a in range(n_columns) for b in range(a + 1)]
    total = np.zeros((len(pairs), weights.shape[1]))
    for row, weight in zip(design, weights, strict=True):
        total = total + np.array([(weight * row[b]) * row[a] for a, b in pairs])
    return total


@pytest.mark.parametrize(("n_rows", "n_columns", "n_experts"), [*SHAPES, (200, 49, 3)])
def test_gram_sums_add_rows_in_order(n_rows, n_columns, n_experts, rng):
    """Sums of squares have the bits of a plain loop over the rows, those without weight left out; sparse rows too."""
    design = rng.normal(size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.7)
    weights = 10.0 ** rng.uniform(-8, 8, (n_rows, n_experts)) * (rng.random((n_rows, n_experts)) < 0.6)
    expected = weighted_squares(design, weights)
    dense, scattered = np.zeros(expected.shape), np.zeros(expected.shape)
    _gram.add_dense(design, weights, dense)
    _gram.add_sparse(*thin(design), n_columns, weights, scattered)
    assert np.array_equal(dense, expected)
    # Wide sparse rows multiply their entries before the weight.
    assert scattered == pytest.approx(expected, rel=1e-9, abs=1e-6)
    assert n_columns > 48 or np.array_equal(scattered, expected)


@pytest.mark.slow
def test_gram_sums_are_added_to_what_is_there(rng):
    """Blocks add up, of more experts and columns than have room together."""
    design, weights = rng.normal(size=(70, 130)), rng.random((70, 6))
    out = np.ones((130 * 131 // 2, 6))
    _gram.add_dense(design, weights, out)
    assert np.array_equal(out, 1.0 + weighted_squares(design, weights))


def test_nothing_is_done_with_nothing():
    """No rows, no experts, or for Gram sums no columns, is not an error."""
    _gram.add_dense(np.ones((3, 0)), np.ones((3, 2)), np.zeros((0, 2)))
    for n_rows, n_experts in ((0, 2), (2, 0)):
        out, linear, pairs = np.empty((n_rows, n_experts)), np.zeros((3, n_experts)), np.zeros((6, n_experts))
        _activation.predict_dense(np.ones((n_rows, 3)), np.ones((3, n_experts)), out)
        _gram.add_linear_dense(np.ones((n_rows, 3)), np.ones((n_rows, n_experts)), linear)
        _gram.add_dense(np.ones((n_rows, 3)), np.ones((n_rows, n_experts)), pairs)
        assert not linear.any()
        assert not pairs.any()
