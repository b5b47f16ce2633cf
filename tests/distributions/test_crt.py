"""Tables of the Chinese restaurant."""

import numpy as np
import pytest
from checks import LEVEL, N_DRAWS, chi_square_pvalue, mean_pvalue, variance_pvalue
from mpmath import mp, mpf

from softpolytope.distributions import crt, crt_moments, crt_pmf
from softpolytope.distributions._kernels import crt as _crt

# Counts and concentrations that go through the loop, the walk over tables (c below and above 1), and the
# walk over returns.
CASES = [(2, 0.7), (20, 1.3), (24, 30.0), (25, 1e-3), (400, 0.2), (3000, 1.0), (400, 7.5), (200, 3e3), (2000, 1e6)]


@pytest.mark.parametrize(("count", "concentration"), [*CASES, pytest.param(5000, 7.5, marks=pytest.mark.slow)])
def test_draws_follow_their_law(count, concentration, rng):
    """A million draws have the pmf of a sum of Bernoulli(c / (c + j)); 3 % more concentration is rejected."""
    draws = crt(count, concentration, rng, size=N_DRAWS)
    wrong = 1.03 * concentration if concentration > 0.01 else 2.0 * concentration
    if concentration > 1e5:  # here only the few who return vary
        wrong = 2.0 * concentration
    assert chi_square_pvalue(draws, crt_pmf(count, concentration)) > LEVEL
    assert chi_square_pvalue(draws, crt_pmf(count, wrong)) < LEVEL


def test_pmf_is_that_of_stirling_numbers():
    """P(2 tables | 4 customers) = |s(4, 2)| c^2 / (c (c + 1) (c + 2) (c + 3)), |s(4, 2)| = 11."""
    c = 0.37
    assert crt_pmf(4, c)[2] == pytest.approx(11 * c**2 / (c * (c + 1) * (c + 2) * (c + 3)), rel=1e-14)


@pytest.mark.parametrize(
    ("count", "concentration"),
    [
        (17_000, 4000.0),
        pytest.param(20_000, 700.0, marks=pytest.mark.slow),
        pytest.param(20_000, 3e6, marks=pytest.mark.slow),
    ],
)
def test_bins_are_within_their_stated_error(count, concentration):
    """The binomials of the binned sampler have the exact law up to a total variation of 1e-9."""
    size = 1 << 15
    roots = np.exp(-2j * np.pi * np.arange(size) / size)
    log_transform = sum(n * np.log(r + (1 - r) * roots) for n, r in _crt.bins(count, concentration) if n)
    binned = np.fft.ifft(np.exp(log_transform)).real[: count + 1]
    assert abs(binned - crt_pmf(count, concentration)).sum() / 2 < 1e-9
    # Control: one bin for all customers, with the mean probability, is far off.
    groups = [(count, 1 - crt_moments(count, concentration).mean / count)]
    log_transform = sum(n * np.log(r + (1 - r) * roots) for n, r in groups)
    coarse = np.fft.ifft(np.exp(log_transform)).real[: count + 1]
    assert abs(coarse - crt_pmf(count, concentration)).sum() / 2 > 1e-4


@pytest.mark.parametrize(
    ("count", "concentration"), [(20_000, 3e6), (10**9, 1e4), (10**12, 1e11), (10**18, 1e18), (10**18, 1e30)]
)
def test_huge_restaurants_have_exact_moments(count, concentration, rng):
    """Binned draws have the exact mean and variance; 0.3 standard deviations off is rejected."""
    draws = crt(count, concentration, rng, size=20_000)
    moments = crt_moments(count, concentration)
    # A double cannot hold the mean of 1e18 customers to one table, so what is compared is those who return.
    with mp.workdps(60):
        c, m = mpf(concentration), mpf(count)
        returns = float(m - c * (mp.digamma(c + m) - mp.digamma(c)))
    deviations = (count - draws).astype(float) - returns
    assert mean_pvalue(deviations, 0.0, moments.variance) > LEVEL
    assert variance_pvalue(deviations, 0.0, moments.variance) > LEVEL
    assert mean_pvalue(deviations + 0.3 * np.sqrt(moments.variance), 0.0, moments.variance) < LEVEL
    assert variance_pvalue(1.1 * deviations, 0.0, moments.variance) < LEVEL


@pytest.mark.parametrize(("count", "concentration"), [(3000, 0.3), (10**5, 1e-9), (10**9, 1e4), (10**7, 1e15)])
def test_moments_agree_with_polygamma(count, concentration):
    """Mean and variance are differences of polygamma functions, here in 60 digits."""
    with mp.workdps(60):
        c, m = mpf(concentration), mpf(count)
        new = c * (mp.digamma(c + m) - mp.digamma(c))
        square = c**2 * (mp.polygamma(1, c) - mp.polygamma(1, c + m))
        cube = -(c**3) / 2 * (mp.polygamma(2, c) - mp.polygamma(2, c + m))
        expected = [new, new - square, new - 3 * square + 2 * cube]
        for ours, exact in zip(crt_moments(count, concentration), expected, strict=True):
            assert abs((mpf(float(ours)) - exact) / exact) < 1e-11


def test_edges(rng):
    """Nobody takes no table, one customer one, and without concentration all sit together."""
    assert crt([0, 1, 10**12, 0], [2.0, 1e-300, 0.0, 0.0], rng).tolist() == [0, 1, 1, 0]
    assert crt(10**18, 1e-300, rng) == 1
    assert crt(10**6, 1e300, rng) == 10**6
    assert crt_pmf(0, 1.0).tolist() == [1.0]
    assert crt_moments([0, 5], 0.0).mean.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("count", "concentration"), [(3 * 10**7, 1e24), (10**18, 1e45), (25, 1e300)])
def test_far_more_tables_than_customers(count, concentration, rng):
    """Nobody sits down at an old table, and nobody is asked one by one."""
    assert crt(count, concentration, rng) == count
