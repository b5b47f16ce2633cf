"""Compiled elementary functions to a few rounding units."""

import mpmath
import numpy as np
import pytest
from scipy import special

from softpolytope.model._kernels import vector_math as _vector_math
from softpolytope.model._softplus import log_softplus

ULP = np.finfo(float).eps


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
