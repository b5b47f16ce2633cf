"""The compiled likelihood, prior and elementary functions against the plain ones."""

import mpmath
import numpy as np
import pytest
from scipy import sparse, special

from softpolytope.model._kernels import collapsed as _collapsed
from softpolytope.model._kernels import prior as _prior
from softpolytope.model._kernels import vector_math as _vector_math
from softpolytope.model._log_posterior import CollapsedPrior, Observations, log_likelihood, log_prior
from softpolytope.model._softplus import log_softplus

ULP = np.finfo(float).eps


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


def test_exponential_to_two_rounding_units(rng):
    """From the smallest to the largest argument."""
    x = np.concatenate([rng.uniform(-700, 700, 3000), rng.uniform(-1, 1, 3000), [0.0, -700.0, 700.0]])
    out = np.empty_like(x)
    _vector_math.fill_exp(x, out)
    exact = [mpmath.exp(mpmath.mpf(float(v))) for v in x]
    assert max(abs(float((ours - e) / e)) for ours, e in zip(out, exact, strict=True)) < 2 * ULP


def test_logarithm_to_two_rounding_units(rng):
    """Near one, and for the smallest and largest normal numbers."""
    x = np.concatenate([np.exp(rng.uniform(-700, 700, 3000)), 1 + rng.uniform(-0.5, 0.5, 3000), [2.3e-308, 1.7e308]])
    out = np.empty_like(x)
    _vector_math.fill_log(x, out)
    exact = [mpmath.log(mpmath.mpf(float(v))) for v in x]
    assert max(abs(float((ours - e) / e)) for ours, e in zip(out, exact, strict=True)) < 2 * ULP
    _vector_math.fill_log(np.ones(1), out[:1])
    assert out[0] == 0.0


def test_log_positive_and_its_slope(rng):
    """log(1 - e^-l) and 1 / (e^l - 1) for rates from 1e-280 to 700 and beyond."""
    rate = np.concatenate([np.exp(rng.uniform(np.log(1e-280), np.log(690.0), 5000)), [0.34, 0.35, 0.7, 1e5]])
    out, slope = np.empty_like(rate), np.empty_like(rate)
    _vector_math.fill_log_positive(rate, out, slope)
    expected = np.where(rate < 0.7, np.log(-np.expm1(-rate)), np.log1p(-np.exp(-np.maximum(rate, 0.7))))
    assert out == pytest.approx(expected, rel=1e-14, abs=1e-15)
    with np.errstate(over="ignore"):
        assert slope == pytest.approx(1.0 / np.expm1(rate), rel=1e-13, abs=1e-300)


def test_log_softplus_and_softplus(rng):
    """Against the precise function; absolute error near its zero."""
    z = np.concatenate([rng.uniform(-50, 50, 5000), rng.uniform(-1e4, 1e4, 1000), [-1e8, 1e8, -18.0, 37.0, 0.5413]])
    logs, values = z.copy(), np.empty_like(z)
    _vector_math.fill_log_softplus(logs, values)
    assert logs == pytest.approx(log_softplus(z), rel=1e-14, abs=1e-15)
    expected = np.where(z > 37, z, special.log1p(np.exp(np.minimum(z, 37.0))))
    assert values == pytest.approx(expected, rel=1e-14, abs=1e-303)
