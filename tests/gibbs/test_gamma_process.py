"""Conditionals of the gamma process against their laws."""

import numpy as np
import pytest
from scipy import stats

from softpolytope.gibbs._gamma_process import (
    TopSums,
    draw_log_weights,
    resample_concentration,
    resample_expert_weights,
    resample_mass,
)
from softpolytope.gibbs._state import initial_state
from softpolytope.model import Prior

N_DRAWS = 4000
PRIOR = Prior(3.0, 1.5, 2.0, 0.7, 1.0, 1.0)


@pytest.fixture
def state():
    """Two experts of weights 0.5 and 2, mass 1.2, concentration 0.8."""
    found = initial_state(2, 1, 2, PRIOR)
    found.log_weights, found.mass, found.concentration = np.log([0.5, 2.0]), 1.2, 0.8
    return found


def test_concentration_follows_its_conditional(state, rng):
    """Gamma(e_0 + gamma_0, rate f_0 + sum r), level 1e-3; with e_0 as shape it is rejected."""
    draws = []
    for _ in range(N_DRAWS):
        resample_concentration(state, PRIOR, rng)
        draws.append(state.concentration)
    assert stats.kstest(draws, stats.gamma(2.0 + 1.2, scale=1.0 / (0.7 + 2.5)).cdf).pvalue > 1e-3
    assert stats.kstest(draws, stats.gamma(2.0, scale=1.0 / (0.7 + 2.5)).cdf).pvalue < 1e-6


def test_mass_without_counts_follows_its_conditional(state, rng):
    """Without counts there are no tables: Gamma(a_0, rate b_0 + sum log(1 + Q / c_0) / K); without Q it is rejected."""
    top, draws = TopSums(np.zeros(2), np.array([3.0, 10.0])), []
    for _ in range(N_DRAWS):
        resample_mass(state, PRIOR, top, rng)
        draws.append(state.mass)
    rate = 1.5 + np.log1p(top.activations / 0.8).sum() / 2
    assert stats.kstest(draws, stats.gamma(3.0, scale=1.0 / rate).cdf).pvalue > 1e-3
    assert stats.kstest(draws, stats.gamma(3.0, scale=1.0 / 1.5).cdf).pvalue < 1e-6


def test_mass_grows_with_the_tables(state, rng):
    """One count in each expert is one table each: Gamma(a_0 + 2, ...)."""
    top, draws = TopSums(np.ones(2), np.zeros(2)), []
    for _ in range(N_DRAWS):
        resample_mass(state, PRIOR, top, rng)
        draws.append(state.mass)
    assert stats.kstest(draws, stats.gamma(5.0, scale=1.0 / 1.5).cdf).pvalue > 1e-3
    assert stats.kstest(draws, stats.gamma(3.0, scale=1.0 / 1.5).cdf).pvalue < 1e-6


def test_weights_follow_their_conditional(state, rng):
    """Gamma(gamma_0 / K + l_k, rate c_0 + Q_k), level 1e-3; with the counts exchanged it is rejected."""
    top, draws = TopSums(np.array([0.0, 7.0]), np.array([1.0, 4.0])), []
    for _ in range(N_DRAWS):
        resample_expert_weights(state, top, rng)
        draws.append(np.exp(state.log_weights))
    for expert, shares in enumerate(np.array(draws).T):
        law = stats.gamma(0.6 + top.counts[expert], scale=1.0 / (0.8 + top.activations[expert]))
        assert stats.kstest(shares, law.cdf).pvalue > 1e-3
        other = stats.gamma(0.6 + top.counts[1 - expert], scale=1.0 / (0.8 + top.activations[expert]))
        assert stats.kstest(shares, other.cdf).pvalue < 1e-6


def test_logarithms_of_tiny_weights_are_finite(rng):
    """Gamma variates of shape 1e-300 underflow; their logarithms do not."""
    assert np.isfinite(draw_log_weights(np.full(5, 1e-300), np.ones(5), rng)).all()
