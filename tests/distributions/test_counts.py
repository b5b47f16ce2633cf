"""Binomial and Poisson draws of any size."""

import numpy as np
import pytest
from checks import LEVEL, N_DRAWS, chi_square_pvalue, ks_pvalue, variance_pvalue
from scipy import stats

from softpolytope.distributions._kernels import counts as _counts


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
    [
        (1, 0.3), (40, 0.9), (59, 0.5), (61, 0.5), (100, 0.31), (100, 0.69), (1000, 0.0301), (2**20, 200 / 2**20),
        (2**26, 29 / 2**26), (2**26, 31 / 2**26), (2**27, 3e-8), (2**27, 2e-7), (2**40, 1e-10), (10**18, 9e-18),
        (2**62, 2.0**-55),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(("count", "probability"), [(310, 0.1), (2**20, 40 / 2**20)])
def test_binomial_is_not_normal(count, probability, rng):
    """Control: rounded normals of the same mean and variance are rejected where skewness is all that tells."""
    mean, values = count * probability, np.arange(count + 1 if count < 1000 else 300)
    pmf = stats.binom.pmf(values, count, probability)
    normals = rng.normal(mean, np.sqrt(mean * (1.0 - probability)), N_DRAWS)
    assert chi_square_pvalue(np.clip(np.rint(normals), 0, count).astype(np.int64), pmf) < LEVEL
    assert chi_square_pvalue(binomial(count, probability, rng), pmf) > LEVEL


def real_binomial(count, probability, rng):
    """Draw N_DRAWS binomials of a count kept in a double."""
    draws = np.empty(N_DRAWS)
    _counts.fill_real_binomial(rng.bit_generator, np.full(N_DRAWS, count), np.full(N_DRAWS, probability), draws)
    return draws


@pytest.mark.parametrize(
    ("count", "probability"),
    [(3.9e18, 0.07), (4.2e18, 0.095), (5e18, 0.07), (5e18, 0.09), (4e24, 9.9e-8), (4e24, 1.1e-7), (1e25, 0.3)],
)
def test_binomials_beyond_whole_numbers(count, probability, rng):
    """Mean and spread on either side of every switch; 0.5 % more spread, less than a Poisson has, is rejected."""
    mean, spread = count * probability, np.sqrt(count * probability * (1.0 - probability))
    # Sums of large numbers lose digits; those of deviations do not.
    z = (real_binomial(count, probability, rng) - mean) / spread
    assert ks_pvalue(z, stats.norm.cdf) > LEVEL
    assert variance_pvalue(z, 0.0, 1.0) > LEVEL
    assert variance_pvalue(z * 1.005, 0.0, 1.0) < LEVEL


def test_rare_successes_beyond_whole_numbers(rng):
    """Few among many are Poisson; 3 % more is rejected."""
    draws = real_binomial(1e30, 2e-29, rng).astype(np.int64)
    assert chi_square_pvalue(draws, stats.poisson.pmf(np.arange(90), 20.0)) > LEVEL
    assert chi_square_pvalue(draws, stats.poisson.pmf(np.arange(90), 20.6)) < LEVEL


def test_what_is_no_number_ends(rng):
    """Nobody asks for it, but a loop without end could not even be stopped."""
    nothing, draws = np.array([np.nan, -1.0]), np.full(2, -1)
    _counts.fill_poisson(rng.bit_generator, nothing, draws)
    assert draws.tolist() == [0, 0]
    draws[:] = -1
    _counts.fill_binomial(rng.bit_generator, np.array([10, 2**40]), nothing, draws)
    assert draws.tolist() == [0, 0]


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
