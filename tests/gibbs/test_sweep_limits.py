"""What must come out where the answer is known: no data, and logistic regression."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.joint_distribution import FIXED, SCANS
from softpolytope.data._dataset import InMemoryDataset
from softpolytope.distributions import Streams, SweepStreams
from softpolytope.gibbs._chain import ChainSettings
from softpolytope.gibbs._hamiltonian import Tuning
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._run import run_chains
from softpolytope.gibbs._state import GibbsState, initial_state, prior_state
from softpolytope.gibbs._sweep import Moves, sweep
from softpolytope.gibbs._trace import Schedule
from softpolytope.model._prior import Prior
from softpolytope.parallel._blocks import SerialBlocks

N_REPLICATES = 600
# False alarms: one in a thousand runs of this file.
LEVEL = 1e-3


def parameters(state):
    """One number per parameter, on scales without heavy tails."""
    positive = [state.mass, state.concentration, *state.precisions.reshape(-1)]
    weights = np.clip(state.log_weights, -12.0, None)
    return np.concatenate([np.log(positive), weights, np.arcsinh(state.coefficients).reshape(-1)])


def swept(rows, moves, n_sweeps, replicate, streams):
    """Parameters after sweeps from the paper's start, which is not a draw from the prior."""
    state = initial_state(2, 2, 2, FIXED)
    blocks = SerialBlocks([LatentBlock(block, index) for index, block in enumerate(rows.split())])
    blocks.broadcast(LatentBlock.prepare, state.coefficients)
    for number in range(n_sweeps):
        sweep(state, blocks, FIXED, SweepStreams(streams, 0, replicate, number), moves, Tuning(np.log(0.5)))
    return parameters(state)


def smallest_pvalue(rows, moves, rng):
    """Of two-sample tests against the prior, one per parameter, after Bonferroni."""
    streams = Streams(11)
    ours = np.array([swept(rows, moves, 40, replicate, streams) for replicate in range(N_REPLICATES)])
    prior = np.array([parameters(prior_state(2, 2, 2, FIXED, rng)) for _ in range(4 * N_REPLICATES)])
    found = [stats.ks_2samp(a, b).pvalue for a, b in zip(ours.T, prior.T, strict=True)]
    return min(found) * len(found) * (len(SCANS) + 1)


@pytest.mark.slow
@pytest.mark.parametrize("scan", SCANS)
def test_no_data_returns_the_prior(scan, rng):
    """Forty sweeps over no rows, from a start far from it, end in the prior."""
    rows = InMemoryDataset.from_arrays(np.zeros((0, 2)), np.zeros(0, dtype=bool))
    assert smallest_pvalue(rows, SCANS[scan], rng) > LEVEL


@pytest.mark.slow
def test_a_few_rows_do_not_return_the_prior(rng):
    """The control: three rows are enough to be told from none."""
    rows = InMemoryDataset.from_arrays(np.array([[1.0, -1.0], [1.0, 0.5], [1.0, 2.0]]), np.array([False, True, True]))
    assert smallest_pvalue(rows, Moves(), rng) < LEVEL


def logistic_regression(design, labels, prior, n_sweeps, rng):
    """Polya-Gamma Gibbs of Bayesian logistic regression by its textbook recipe, sharing no code with the library."""
    place = np.arange(400) + 0.5
    beta, draws = np.zeros(design.shape[1]), []
    for _ in range(n_sweeps):
        tilt = design @ beta
        scales = 1.0 / (2.0 * np.pi**2 * (place**2 + (tilt[:, None] / (2.0 * np.pi)) ** 2))
        omega = (scales * rng.standard_exponential(scales.shape)).sum(axis=1)
        precision = rng.standard_gamma(prior.precision_shape + 0.5, len(beta)) / (prior.precision_rate + beta**2 / 2)
        covariance = np.linalg.inv(design.T @ (omega[:, None] * design) + np.diag(precision))
        beta = rng.multivariate_normal(covariance @ design.T @ (labels - 0.5), covariance)
        draws.append(beta)
    return np.array(draws)


@pytest.mark.slow
@pytest.mark.parametrize("moves", [Moves.of("paper"), Moves(polya_gamma=True, hamiltonian_steps=0), Moves()])
def test_one_expert_of_weight_one_is_logistic_regression(moves, rng):
    """Means and second moments over 12 chains each agree within four standard errors; those of other labels do not."""
    prior = Prior(precision_shape=3.0, precision_rate=3.0)
    design = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    labels = rng.random(60) < 1.0 / (1.0 + np.exp(-(0.5 + 1.5 * design[:, 1])))
    other = np.array([statistics_of(logistic_regression(design, labels, prior, 700, rng)[100:]) for _ in range(12)])

    start = GibbsState(np.zeros((1, 1, 3)), np.ones((1, 1, 3)), np.full((1, 1), 3.0), np.zeros(1), 1.0, 1.0)
    held = Moves(moves.scan, moves.polya_gamma, moves.hamiltonian_steps, refresh=False, fit_weights=False)
    settings = ChainSettings(1, 1, prior, held, Schedule(1200, 200, 1000))

    def gap(some_labels):
        rows = InMemoryDataset.from_arrays(design, some_labels)
        traces = run_chains(rows, settings, 4, 12, start=start).traces[0]
        ours = np.array([statistics_of(np.array([d.coefficients[0, 0] for d in t.draws])) for t in traces])
        errors = np.sqrt(ours.var(axis=0, ddof=1) / 12 + other.var(axis=0, ddof=1) / 12)
        return abs(ours.mean(axis=0) - other.mean(axis=0)) / errors

    assert (gap(labels) < 4.0).all()
    flipped = labels.copy()
    flipped[:6] = ~flipped[:6]
    assert (gap(flipped) > 4.0).any()


def statistics_of(beta):
    """Means of the coefficients and of their products."""
    return np.concatenate([beta.mean(axis=0), (beta.T @ beta / len(beta))[np.triu_indices(beta.shape[1])]])
