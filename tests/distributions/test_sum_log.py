"""Sums of logarithmic variates."""

import numpy as np
import pytest
from checks import LEVEL, N_DRAWS, chi_square_pvalue, mean_pvalue, variance_pvalue
from scipy import stats

from softpolytope.distributions import sum_log, sum_log_moments, sum_log_pmf
from softpolytope.distributions._kernels import sum_log as _sum_log


@pytest.mark.parametrize(
    ("count", "probability"),
    [(1, 0.9), (1, 1e-3), (3, 0.6), (64, 0.4), (65, 0.4), (200, 0.97), (500, 1e-2), (1000, 0.2)],
)
def test_draws_follow_their_law(count, probability, rng):
    """Short (one by one) and long (quadrature) sums have the exact pmf; a slightly larger p is rejected."""
    draws = sum_log(count, probability, rng, size=N_DRAWS if count < 64 else N_DRAWS // 5)
    moments = sum_log_moments(count, probability)
    largest = int(moments.mean + 14 * np.sqrt(moments.variance) + 30)
    wrong = probability * 1.5 if probability < 0.05 else probability + 0.05 * (1 - probability)
    assert chi_square_pvalue(draws, sum_log_pmf(count, probability, largest)) > LEVEL
    assert chi_square_pvalue(draws, sum_log_pmf(count, wrong, largest)) < LEVEL


@pytest.mark.parametrize("exponent", [1e-3, 0.9, 1.0, 7.3, 20.7, 36.7])
def test_quadrature_is_within_its_stated_error(exponent):
    """The characteristic function of a summand is right to 1e-12 at every frequency; 2 nodes would not do."""
    # Frequencies of all sizes: the law has structure from 1 to e^exponent.
    frequencies = np.concatenate([np.geomspace(1e-17, np.pi, 400), [0.0]])
    s = np.exp(1j * frequencies)
    gap = 2j * np.exp(0.5j * frequencies) * np.sin(frequencies / 2)  # s - 1, without cancellation
    # log(1 - p s) = log(1 - p) + log(1 - p / (1 - p) (s - 1))
    exact = 1.0 - np.log(1.0 - np.expm1(exponent) * gap) / exponent
    nodes, weights = _sum_log.gauss_legendre_rule()
    n_panels = int(np.ceil(exponent))

    def transform(nodes, weights):
        u = (np.arange(n_panels)[:, None] + nodes) / n_panels
        odds = np.expm1(exponent * u).reshape(-1, 1)
        # s times the transform of a geometric with these odds, averaged over the rule
        terms = s / (1.0 - odds * gap)
        return np.tile(weights, n_panels) @ terms / n_panels

    assert abs(transform(nodes, weights) - exact).max() < 1e-12
    if exponent > 0.5:
        coarse, coarse_weights = np.polynomial.legendre.leggauss(2)
        assert abs(transform(0.5 * (coarse + 1), 0.5 * coarse_weights) - exact).max() > 1e-9


@pytest.mark.parametrize(("count", "probability"), [(10**9, 1 - 1e-9), (10**9, 0.5), (10**15, 1e-6), (300, 1 - 1e-12)])
def test_long_sums_have_exact_moments(count, probability, rng):
    """Very long sums are normal with the exact mean and variance; 0.3 deviations off is rejected."""
    draws = sum_log(count, probability, rng, size=20_000)
    moments = sum_log_moments(count, probability)
    z = (draws - moments.mean) / np.sqrt(moments.variance)
    assert mean_pvalue(z, 0.0, 1.0) > LEVEL
    assert variance_pvalue(z, 0.0, 1.0) > LEVEL
    assert mean_pvalue(z + 0.3, 0.0, 1.0) < LEVEL


@pytest.mark.parametrize("probability", [0.0, 1e-12, 0.3, 0.999])
def test_moments_are_those_of_the_logarithmic_law(probability):
    """One summand has the mean and variance SciPy gives for the logarithmic law."""
    moments = sum_log_moments(1, probability)
    if probability == 0.0:
        assert moments == (1.0, 0.0, 0.0)
    elif probability == 1e-12:
        assert moments.variance == pytest.approx(0.5e-12, rel=1e-9)
    else:
        mean, variance, skewness = stats.logser.stats(probability, moments="mvs")
        assert moments.mean == pytest.approx(mean, rel=1e-12)
        assert moments.variance == pytest.approx(variance, rel=1e-11)
        assert moments.third_cumulant == pytest.approx(skewness * variance**1.5, rel=1e-10)


def test_negative_binomial_identity():
    """A Poisson number of logarithmic variates is negative binomial: the two routes to one pmf agree."""
    p, r = 0.45, 1.7
    rate = -r * np.log1p(-p)
    mixture = sum(stats.poisson.pmf(n, rate) * sum_log_pmf(n, p, 30) for n in range(60))
    assert mixture == pytest.approx(stats.nbinom.pmf(np.arange(31), r, 1 - p), rel=1e-10)


def test_edges(rng):
    """No summands give 0, and p = 0 gives ones."""
    assert sum_log([0, 10**18], [0.5, 0.0], rng).tolist() == [0, 10**18]
    assert sum_log_pmf(0, 0.5, 2).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("exponent", [650.0, 701.0, 5000.0])
def test_exponents_beyond_what_can_be_raised(exponent, rng):
    """P(1) = p / q of one variate, where e^q is no number too; the law of an exponent cut at 700 is told apart."""
    draws = np.empty(N_DRAWS)
    _sum_log.fill_real(rng.bit_generator, np.ones(N_DRAWS), np.full(N_DRAWS, exponent), draws)
    ones = int((draws == 1.0).sum())
    assert stats.binomtest(ones, N_DRAWS, 1.0 / exponent).pvalue > LEVEL
    if exponent == 5000.0:
        assert stats.binomtest(ones, N_DRAWS, 1.0 / 700.0).pvalue < LEVEL
