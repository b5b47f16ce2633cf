"""The compiled likelihood and prior against the plain ones."""

import numpy as np
import pytest
from scipy import sparse

from softpolytope.model._kernels import collapsed as _collapsed
from softpolytope.model._kernels import prior as _prior
from softpolytope.model._log_posterior import CollapsedPrior, Observations, log_likelihood, log_prior


def compiled_likelihood(rows, coefficients, log_weights, offset=None, *, is_sparse=False):
    """Value and gradients by the compiled kernel."""
    n_rows = len(rows.labels)
    offset = np.zeros(n_rows) if offset is None else offset
    weight_slopes = np.zeros(len(log_weights))
    arguments = (log_weights, rows.labels.astype(np.uint8), rows.row_weights, offset)
    if is_sparse:
        thin = sparse.csr_array(rows.design)
        n_columns = thin.shape[1]
        is_wide = _collapsed.is_wide(n_columns)
        given = np.ascontiguousarray(coefficients.transpose(2, 0, 1)) if is_wide else coefficients
        slopes = np.zeros_like(given)
        value = _collapsed.add_likelihood_sparse(
            thin.data, thin.indices, thin.indptr, given, *arguments, slopes, weight_slopes, n_columns
        )
        return value, slopes.transpose(1, 2, 0) if is_wide else slopes, weight_slopes
    slopes = np.zeros_like(coefficients)
    value = _collapsed.add_likelihood_dense(rows.design, coefficients, *arguments, slopes, weight_slopes)
    return value, slopes, weight_slopes


def problem(rng, n_rows, n_experts, n_layers, scale, n_columns=4):
    """Random rows and parameters."""
    design = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, n_columns - 1))])
    rows = Observations(design, rng.random(n_rows) < 0.4, rng.uniform(0.5, 2.0, n_rows))
    return rows, scale * rng.normal(size=(n_experts, n_layers, n_columns)), rng.normal(size=n_experts)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("scale", [1.0, 20.0, 150.0, 1e4, 1e8])
@pytest.mark.parametrize("n_columns", [4, 60])
@pytest.mark.parametrize(("n_rows", "n_experts", "n_layers"), [(1, 1, 1), (127, 3, 1), (300, 2, 3), (129, 5, 5)])
def test_likelihood_is_the_plain_one(n_rows, n_experts, n_layers, n_columns, scale, is_sparse, rng):
    """Value and gradient agree with NumPy's to 1e-10, in and out of the range of the plain formulas."""
    rows, coefficients, log_weights = problem(rng, n_rows, n_experts, n_layers, scale, n_columns)
    expected = log_likelihood(rows, coefficients, log_weights)
    value, slopes, weight_slopes = compiled_likelihood(rows, coefficients, log_weights, is_sparse=is_sparse)
    size = np.abs(expected.coefficients).max() + 1.0
    assert value == pytest.approx(expected.value, rel=1e-10)
    assert slopes == pytest.approx(expected.coefficients, rel=1e-9, abs=1e-10 * size)
    assert weight_slopes == pytest.approx(expected.log_weights, rel=1e-9, abs=1e-10 * size)


@pytest.mark.parametrize("log_weights", [[-2000.0, 5.0], [-2000.0, -900.0], [-1e4, -1e5]])
def test_weights_that_underflow(log_weights, rng):
    """Weights far below the smallest double pull by their logarithms."""
    rows, coefficients, _ = problem(rng, 200, 2, 2, 5.0)
    weights = np.array(log_weights)
    expected = log_likelihood(rows, coefficients, weights)
    value, slopes, weight_slopes = compiled_likelihood(rows, coefficients, weights)
    assert value == pytest.approx(expected.value, rel=1e-10)
    assert slopes == pytest.approx(expected.coefficients, rel=1e-9, abs=1e-9)
    assert weight_slopes == pytest.approx(expected.log_weights, rel=1e-9, abs=1e-9)


def test_offset_is_a_held_expert(rng):
    """A part of the rate that is held gives the value and the gradient of the others."""
    rows, coefficients, log_weights = problem(rng, 300, 3, 2, 2.0)
    expected = log_likelihood(rows, coefficients, log_weights)
    activation = np.ones(300)
    for layer in range(2):
        activation = np.log1p(activation * np.exp(rows.design @ coefficients[0, layer]))
    offset = np.exp(log_weights[0]) * activation
    value, slopes, weight_slopes = compiled_likelihood(rows, coefficients[1:].copy(), log_weights[1:].copy(), offset)
    assert value == pytest.approx(expected.value, rel=1e-12)
    assert slopes == pytest.approx(expected.coefficients[1:], rel=1e-10, abs=1e-10)
    assert weight_slopes == pytest.approx(expected.log_weights[1:], rel=1e-10, abs=1e-10)


def test_prior_is_the_plain_one(rng):
    """Differences of the value, and the gradient, agree with NumPy's; coefficients may be huge."""
    rates = rng.uniform(0.1, 2.0, (3, 2))
    values = []
    for scale in (1.0, 1e60):
        coefficients, log_weights = scale * rng.normal(size=(3, 2, 4)), rng.normal(size=3)
        expected = log_prior(CollapsedPrior(1.8, 0.7, 0.9, rates), coefficients, log_weights)
        slopes, weight_slopes = np.zeros_like(coefficients), np.zeros(3)
        value = _prior.add_prior(coefficients, log_weights, rates, 0.9, 0.6, 0.7, slopes, weight_slopes)
        values.append(value - expected.value)
        assert slopes == pytest.approx(expected.coefficients, rel=1e-12)
        assert weight_slopes == pytest.approx(expected.log_weights, rel=1e-12)
    assert values[0] == pytest.approx(values[1], rel=1e-9)
