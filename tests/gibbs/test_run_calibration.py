"""Simulation-based calibration of whole runs: burn-in with its tuning, then the retained draws.

Parameters are drawn from the prior and labels from the model. Among the draws of a chain given those labels, the rank
of what the parameters give is uniform (Cook, Gelman and Rubin 2006; Talts et al. 2018), for every function of labels
and parameters. The functions here do not depend on the order of the experts. Draws are 20 sweeps apart, which makes
them nearly independent; had they been correlated, extreme ranks would be too frequent, and the test fail.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.gibbs._chain import ChainSettings
from softpolytope.gibbs._run import run_chains
from softpolytope.gibbs._state import prior_state
from softpolytope.gibbs._sweep import Moves
from softpolytope.gibbs._trace import Schedule
from softpolytope.model import Prior, positive_probability
from softpolytope.model import _log_posterior as target

# Proper laws without heavy tails, so that chains forget their start within burn-in.
PRIOR = Prior(3.0, 1.5, 3.0, 2.0, 4.0, 8.0)
WRONG = Prior(3.0, 1.5, 3.0, 2.0, 4.0, 1.0)  # coefficients of about a third of the size
N_EXPERTS, N_ROWS, N_DRAWS, N_CELLS = 3, 25, 19, 10
SCHEDULE = Schedule(n_sweeps=200 + 20 * N_DRAWS, n_burn_in=200, n_draws=N_DRAWS)
PROBES = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, -1.0], [1.0, -2.0, 0.5]])
N_LAYERS = (1, 2)
# False alarms: one in a thousand runs of this file.
LEVEL = 1e-3


def quantities(coefficients, log_weights, design, labels):
    """Log-likelihood, P at the probes and the logarithm of the total weight."""
    weights = np.exp(log_weights)
    positive = positive_probability(coefficients @ design.T, weights)
    likelihood = np.where(labels, np.log(np.maximum(positive, 1e-300)), np.log1p(-np.minimum(positive, 1.0 - 1e-16)))
    return np.array(
        [likelihood.sum(), *positive_probability(coefficients @ PROBES.T, weights), np.log(weights.sum() + 1e-300)]
    )


def draw_data(n_layers, rng):
    """Draw parameters from PRIOR, and rows of both labels given them.

    Runs need both labels. That is a condition on the data alone, which leaves the law of the parameters given the data,
    and with it that of the ranks, as it is.
    """
    while True:
        design = np.column_stack([np.ones(N_ROWS), rng.normal(size=(N_ROWS, 2))])
        truth = prior_state(N_EXPERTS, n_layers, 3, PRIOR, rng)
        labels = rng.random(N_ROWS) < positive_probability(truth.coefficients @ design.T, np.exp(truth.log_weights))
        if 0 < labels.sum() < N_ROWS:
            return truth, design, labels


def ranks_of_a_run(n_layers, prior, replicate, rng):
    """Ranks, from 0 to N_DRAWS, of the quantities of parameters drawn from PRIOR, in a chain with another prior."""
    truth, design, labels = draw_data(n_layers, rng)
    rows = InMemoryDataset.from_arrays(design, labels)
    settings = ChainSettings(N_EXPERTS, n_layers, prior, Moves(), SCHEDULE)
    draws = run_chains(rows, settings, replicate).traces[0][0].draws
    found = np.array([quantities(draw.coefficients, draw.log_weights, design, labels) for draw in draws])
    return (found < quantities(truth.coefficients, truth.log_weights, design, labels)).sum(axis=0)


def smallest_pvalue(n_layers, prior, n_replicates, rng):
    """Of chi-square tests of uniform ranks, one for each quantity, after Bonferroni over quantities and models."""
    ranks = np.array([ranks_of_a_run(n_layers, prior, replicate, rng) for replicate in range(n_replicates)])
    cells = ranks * N_CELLS // (N_DRAWS + 1)
    counts = np.array([np.bincount(own, minlength=N_CELLS) for own in cells.T])
    return stats.chisquare(counts, axis=1).pvalue.min() * len(counts) * len(N_LAYERS)


@pytest.mark.slow
@pytest.mark.parametrize("n_layers", N_LAYERS)
def test_ranks_are_uniform(n_layers, rng):
    """Chains with the prior that the parameters were drawn from are calibrated."""
    assert smallest_pvalue(n_layers, PRIOR, 300, rng) > LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("n_layers", N_LAYERS)
def test_a_wrong_prior_is_rejected(n_layers, rng):
    """Chains with another prior are not calibrated."""
    assert smallest_pvalue(n_layers, WRONG, 150, rng) < LEVEL


@pytest.mark.slow
def test_a_broken_sweep_is_rejected(rng, monkeypatch):
    """Neither are chains whose Hamiltonian move forgets the Jacobian of log r."""
    original = target._prior.add_prior

    def wrong(coefficients, log_weights, rates, shape, weight_shape, *rest):
        return original(coefficients, log_weights, rates, shape, weight_shape - 1.0, *rest)

    monkeypatch.setattr(target, "_prior", SimpleNamespace(add_prior=wrong))
    assert smallest_pvalue(1, PRIOR, 150, rng) < LEVEL
