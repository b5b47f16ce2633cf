"""The Poisson law without zero."""

import numpy as np
import pytest
from checks import LEVEL, N_DRAWS, chi_square_pvalue
from mpmath import mp, mpf

from softpolytope.distributions import truncated_poisson, truncated_poisson_moments, truncated_poisson_pmf


@pytest.mark.parametrize("rate", [1e-3, 0.1, 1.0, 1.0 + 1e-9, 4.0, 30.0, 2000.0])
def test_draws_follow_their_law(rate, rng):
    """Draws on both sides of rate 1 have the exact pmf; 5 % more (50 % for small rates) is rejected."""
    draws = truncated_poisson(rate, rng, size=N_DRAWS)
    values = np.arange(int(rate + 12 * np.sqrt(rate) + 12))
    wrong = rate * (1.5 if rate < 0.05 else 1.05)
    assert chi_square_pvalue(draws, truncated_poisson_pmf(values, rate)) > LEVEL
    assert chi_square_pvalue(draws, truncated_poisson_pmf(values, wrong)) < LEVEL


def test_rates_of_all_sizes(rng):
    """From 1e-300 to 1e15 every draw is at least one and within 9 standard deviations of its mean."""
    rates = np.repeat(10.0 ** np.arange(-300, 16), 1000)
    draws = truncated_poisson(rates, rng)
    assert draws.min() == 1
    assert (draws[rates < 1e-9] == 1).all()
    large = rates > 100
    assert (abs(draws[large] - rates[large]) < 9 * np.sqrt(rates[large])).all()


@pytest.mark.parametrize("rate", [1e-300, 1e-8, 0.0499, 0.0501, 1.0, 60.0, 1e4, 1e15])
def test_moments(rate):
    """Mean, variance and third cumulant agree with 60-digit arithmetic to 1e-9 or better."""
    with mp.workdps(700):
        r = mpf(rate)
        factorial = [r**n / (1 - mp.exp(-r)) for n in (1, 2, 3)]
        raw = [factorial[0], factorial[1] + factorial[0], factorial[2] + 3 * factorial[1] + factorial[0]]
        exact = [raw[0], raw[1] - raw[0] ** 2, raw[2] - 3 * raw[1] * raw[0] + 2 * raw[0] ** 3]
        for ours, truth in zip(truncated_poisson_moments(rate), exact, strict=True):
            assert abs((mpf(float(ours)) - truth) / truth) < 1e-9


def test_limit_of_no_rate(rng):
    """Rate 0 is the limit: always 1."""
    assert truncated_poisson(0.0, rng) == 1
    assert truncated_poisson_pmf([0, 1, 2], 0.0).tolist() == [0.0, 1.0, 0.0]
    assert truncated_poisson_moments(0.0) == (1.0, 0.0, 0.0)
