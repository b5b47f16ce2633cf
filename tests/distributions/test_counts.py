"""Binomial and Poisson draws of any size."""

import numpy as np
import pytest
from checks import LEVEL, N_DRAWS, chi_square_pvalue, ks_pvalue, variance_pvalue
from scipy import stats

from softpolytope.distributions import _counts


def binomial(count, probability, rng):
    """Draw N_DRAWS binomials."""
    draws = np.empty(N_DRAWS, dtype=np.int64)
    counts, probabilities = np.full(N_DRAWS, count), np.full(N_DRAWS, float(probability))
    _counts.fill_binomial(rng.bit_generator, counts, probabilities, draws)
    return draws


def poisson(rate, rng):
    """Draw N_DRAWS Poisson variates."""
    draws = np.empty(N_DRAWS, dtype=np.int64)
    _counts.fill_poisson(rng.bit_generator, np.full(N_DRAWS, float(rate)), draws)
    return draws


@pytest.mark.parametrize(
    ("count", "probability"),
    [(1, 0.3), (40, 0.9), (2**27, 3e-8), (2**27, 2e-7), (2**40, 1e-10), (10**18, 9e-18), (2**62, 2.0**-55)],
)
def test_binomial_follows_its_law(count, probability, rng):
    """Binomial draws on either side of the switches have the exact pmf; 3 % more is rejected."""
    draws = binomial(count, probability, rng)
    values = np.arange(int(count * probability + 12 * np.sqrt(count * probability) + 12))
    # For huge counts the binomial is Poisson to within its tiny probability.
    law = (
        (lambda p: stats.binom.pmf(values, count, p))
        if count < 2**30
        else (lambda p: stats.poisson.pmf(values, count * p))
    )
    assert chi_square_pvalue(draws, law(probability)) > LEVEL
    assert chi_square_pvalue(draws, law(probability * 1.03)) < LEVEL


@pytest.mark.parametrize(
    ("count", "probability"), [(2**27, 0.3), (10**12, 0.999), (10**15, 1e-4), (10**18, 0.5), (10**18, 1e-8)]
)
def test_large_binomial_is_normal(count, probability, rng):
    """Where the skewness is below 1e-3 / sqrt(draws), the law is normal; 0.5 % more spread is rejected."""
    draws = binomial(count, probability, rng)
    spread = np.sqrt(count * probability * (1 - probability))
    z = (draws - count * probability) / spread
    skewness = (1 - 2 * probability) / spread

    def cdf(x):
        return stats.norm.cdf(x) - skewness / 6 * (x**2 - 1) * stats.norm.pdf(x)

    # Whole numbers are spread over their unit interval, which makes them continuous.
    z = z + (rng.random(N_DRAWS) - 0.5) / spread
    assert ks_pvalue(z, cdf) > LEVEL
    assert variance_pvalue(z, 0.0, 1.0) > LEVEL
    assert variance_pvalue(z * 1.005, 0.0, 1.0) < LEVEL


def test_numpy_binomial_is_rejected(rng):
    """Control: the test rejects NumPy's binomial at 1e18 trials, the reason for having our own."""
    draws = rng.binomial(10**18, 1e-15, N_DRAWS)
    pmf = stats.poisson.pmf(np.arange(2000), 1000.0)
    assert chi_square_pvalue(draws, pmf) < LEVEL
    assert chi_square_pvalue(binomial(10**18, 1e-15, rng), pmf) > LEVEL


@pytest.mark.parametrize("rate", [0.3, 9.0, 3000.0])
def test_poisson_follows_its_law(rate, rng):
    """Small rates have the exact pmf; 3 % more is rejected."""
    draws = poisson(rate, rng)
    values = np.arange(int(rate + 12 * np.sqrt(rate) + 12))
    assert chi_square_pvalue(draws, stats.poisson.pmf(values, rate)) > LEVEL
    assert chi_square_pvalue(draws, stats.poisson.pmf(values, rate * 1.03)) < LEVEL


@pytest.mark.parametrize("rate", [2.0**20 + 1, 1e9, 1e12, 1e15, 1e18])
def test_large_poisson_is_normal(rate, rng):
    """Large rates are normal with their skewness; NumPy's draws at 1e15 are the control it rejects."""

    def cdf(x):
        return stats.norm.cdf(x) - rate**-0.5 / 6 * (x**2 - 1) * stats.norm.pdf(x)

    z = (poisson(rate, rng) - rate + rng.random(N_DRAWS) - 0.5) / np.sqrt(rate)
    assert ks_pvalue(z, cdf) > LEVEL
    assert variance_pvalue(z, 0.0, 1.0) > LEVEL
    if rate == 1e15:
        z = (rng.poisson(rate, N_DRAWS) - rate) / np.sqrt(rate)
        assert variance_pvalue(z, 0.0, 1.0) < LEVEL
    assert variance_pvalue(z * 1.005, 0.0, 1.0) < LEVEL


def test_degenerate_binomials(rng):
    """No trials, certain failure and certain success."""
    counts = np.array([0, 10**18, 10**18])
    draws = np.empty(3, dtype=np.int64)
    _counts.fill_binomial(rng.bit_generator, counts, np.array([0.5, 0.0, 1.0]), draws)
    assert draws.tolist() == [0, 0, 10**18]
