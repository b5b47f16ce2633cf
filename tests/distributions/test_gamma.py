"""Logarithms of gamma variates."""

import numpy as np
import pytest
from checks import LEVEL, N_DRAWS, ks_pvalue
from scipy import special

from softpolytope.distributions import log_standard_gamma, log_standard_gamma_moments


def log_gamma_cdf(shape):
    """P(log G < x); far below 0 it is e^{shape x} / Gamma(shape + 1), which does not underflow."""

    def cdf(x):
        near = special.gammainc(shape, np.exp(np.clip(x, -30, 700)))
        return np.where(x > -30, near, np.exp(shape * np.minimum(x, -30) - special.gammaln(shape + 1)))

    return cdf


@pytest.mark.parametrize("shape", [1e-300, 1e-12, 1e-3, 0.3, 0.999, 1.0, 5.0, 1e4])
def test_draws_follow_their_law(shape, rng):
    """A million draws pass Kolmogorov-Smirnov; a shape 1 % larger is rejected."""
    draws = log_standard_gamma(shape, rng, size=N_DRAWS)
    assert np.isfinite(draws).all()
    assert ks_pvalue(draws, log_gamma_cdf(shape)) > LEVEL
    assert ks_pvalue(draws, log_gamma_cdf(1.01 * shape)) < LEVEL


def test_moments_agree_with_quadrature():
    """Mean and variance of log G are those of its density."""
    x = np.linspace(-80, 6, 200_001)
    density = np.exp(0.7 * x - np.exp(x) - special.gammaln(0.7))
    mean = np.trapezoid(x * density, x)
    moments = log_standard_gamma_moments(0.7)
    assert moments.mean == pytest.approx(mean, rel=1e-8)
    assert moments.variance == pytest.approx(np.trapezoid((x - mean) ** 2 * density, x), rel=1e-8)
    assert moments.third_cumulant == pytest.approx(np.trapezoid((x - mean) ** 3 * density, x), rel=1e-8)


def test_shape_zero(rng):
    """Shape 0 is the constant 0, whose logarithm is -inf."""
    assert log_standard_gamma(0.0, rng) == -np.inf
