"""The split of a count over experts."""

import numpy as np
import pytest
from checks import LEVEL, N_DRAWS, chi_square_pvalue, mean_pvalue, variance_pvalue
from scipy import stats

from softpolytope.distributions import split_counts, split_counts_moments


@pytest.mark.parametrize("count", [1, 4, 5, 30])
@pytest.mark.parametrize("offset", [0.0, -5000.0, 300.0])
def test_each_expert_has_a_binomial_count(count, offset, rng):
    """Every expert's count is binomial, wherever the log rates lie; another expert's share is rejected."""
    log_rates = offset + np.log([0.15, 0.5, 0.05, 0.3])
    draws = split_counts(np.full(N_DRAWS // 4, count), log_rates, rng)
    assert (draws.sum(axis=1) == count).all()
    for expert, share in enumerate([0.15, 0.5, 0.05, 0.3]):
        pmf = stats.binom.pmf(np.arange(count + 1), count, share)
        assert chi_square_pvalue(draws[:, expert], pmf) > LEVEL
        assert chi_square_pvalue(draws[:, (expert + 1) % 4], pmf) < LEVEL


@pytest.mark.parametrize("count", [3, 12])
def test_pairs_of_experts_are_multinomial(count, rng):
    """Two experts together have a binomial count, which independent draws would not."""
    draws = split_counts(np.full(N_DRAWS // 4, count), np.log([0.2, 0.3, 0.5]), rng)
    pmf = stats.binom.pmf(np.arange(count + 1), count, 0.5)
    assert chi_square_pvalue(draws[:, 0] + draws[:, 1], pmf) > LEVEL
    shuffled = rng.permutation(draws[:, 0]) + draws[:, 1]
    assert chi_square_pvalue(np.minimum(shuffled, count), pmf) < LEVEL


def test_huge_counts_and_tiny_shares(rng):
    """A share of 1e-17 of 1e18 counts is a Poisson of 10, on either side of a dominant expert."""
    log_rates = np.array([-17 * np.log(10), 0.0, -17 * np.log(10)])
    draws = split_counts(np.full(100_000, 10**18), log_rates, rng)
    for expert in (0, 2):
        assert chi_square_pvalue(draws[:, expert], stats.poisson.pmf(np.arange(80), 10.0)) > LEVEL
        assert chi_square_pvalue(draws[:, expert], stats.poisson.pmf(np.arange(80), 10.3)) < LEVEL


def test_moments(rng):
    """Draws have the stated mean and variance; a neighbor's are rejected."""
    log_rates = np.array([-1000.0, -1001.0, -1002.5, -np.inf])
    draws = split_counts(np.full(N_DRAWS // 4, 40), log_rates, rng).astype(float)
    moments = split_counts_moments(40, log_rates)
    for expert in range(3):
        mean, variance = moments.mean[expert], moments.variance[expert]
        assert mean_pvalue(draws[:, expert], mean, variance) > LEVEL
        assert variance_pvalue(draws[:, expert], mean, variance) > LEVEL
        assert mean_pvalue(draws[:, (expert + 1) % 3], mean, variance) < LEVEL
    assert (draws[:, 3] == 0).all()
    assert moments.third_cumulant[3] == 0.0


@pytest.mark.parametrize("count", [1, 100])
def test_experts_without_rate_get_nothing(count, rng):
    """-inf gives nothing, also at the ends."""
    draws = split_counts(np.full(1000, count), [-np.inf, -3000.0, -np.inf, -3001.0, -np.inf], rng)
    assert (draws[:, [0, 2, 4]] == 0).all()
    assert draws[:, 3].sum() > 0
