"""The Hamiltonian move on both sides of its threshold."""

import itertools

import numpy as np
import pytest
from chains import one_row
from scipy import stats

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.gibbs import _hamiltonian as hamiltonian
from softpolytope.gibbs._chain import ChainSettings
from softpolytope.gibbs._hamiltonian import MIN_WEIGHT, Trajectory, move_by_hamiltonian
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._run import run_chains
from softpolytope.gibbs._state import initial_state
from softpolytope.gibbs._sweep import Moves
from softpolytope.gibbs._trace import Schedule
from softpolytope.model._prior import Prior
from softpolytope.parallel._blocks import SerialBlocks

PRIOR = Prior(precision_shape=1.0, precision_rate=1.0)


def test_experts_of_little_weight_move_below_the_threshold():
    """Where no weight is above it, all experts move; the way back would choose them all again."""
    state = initial_state(3, 1, 1, PRIOR)
    state.log_weights[:] = np.log(MIN_WEIGHT) - 0.05
    blocks = SerialBlocks([one_row(1.0, state.coefficients)])
    n_inside = n_moved = 0
    for seed in range(200):
        after = state.copy()
        move_by_hamiltonian(after, blocks, PRIOR, Trajectory(np.log(0.1), 3), np.random.default_rng(seed))
        blocks.broadcast(LatentBlock.prepare, state.coefficients)
        n_moved += not np.array_equal(after.log_weights, state.log_weights)
        n_inside += (after.log_weights <= np.log(MIN_WEIGHT)).all()
    assert n_moved > 150
    # One move in ten has no threshold.
    assert 165 < n_inside < 200


def weights_by_hamiltonian(n_moves, seed):
    """Weights of one expert along moves of it alone, without rows: draws from their gamma law."""
    rows = InMemoryDataset.from_arrays(np.zeros((0, 1)), np.zeros(0, dtype=bool))
    blocks = SerialBlocks([LatentBlock(rows, 0)])
    state = initial_state(1, 1, 1, PRIOR)
    state.mass, state.concentration = 2.0, 1.5
    blocks.broadcast(LatentBlock.prepare, state.coefficients)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_moves):
        move_by_hamiltonian(state, blocks, PRIOR, Trajectory(np.log(0.6), 4), rng)
        found.append(float(np.exp(state.log_weights[0])))
    return np.array(found[100:])


def above_pvalue(seeds, law):
    """Of a t test that half of the weights, over independent chains, are above the median of their law."""
    shares = [np.mean(weights_by_hamiltonian(1500, seed) > law.median()) for seed in seeds]
    return stats.ttest_1samp(shares, 0.5).pvalue


@pytest.mark.slow
def test_reflection_on_both_sides_of_the_threshold(monkeypatch):
    """With a threshold amid the weights they keep their law, level 1e-3; without reflection from below they do not."""
    law = stats.gamma(2.0, scale=1.0 / 1.5)
    monkeypatch.setattr(hamiltonian, "MIN_WEIGHT", law.median())
    assert above_pvalue(range(16), law) > 1e-3
    chosen = hamiltonian._select_experts
    monkeypatch.setattr(hamiltonian, "_select_experts", lambda *given, **named: (*chosen(*given, **named)[:2], np.inf))
    assert above_pvalue(range(16), law) < 1e-3


@pytest.mark.slow
def test_chains_move_where_positives_are_rare(rng):
    """Weights are then below the threshold, and step sizes must not be learned from moves that are not made."""
    X = rng.normal(size=(3000, 2))
    rows = InMemoryDataset.from_arrays(np.column_stack([np.ones(3000), X]), rng.random(3000) < 0.01)
    settings = ChainSettings(5, 1, Prior(), Moves(), Schedule(400, 200, 200))
    traces = run_chains(rows, settings, 0, n_chains=2).traces[0]
    mains = [[draw.coefficients[np.argmax(draw.log_weights)].tobytes() for draw in trace.draws] for trace in traces]
    n_moves = sum(one != other for main in mains for one, other in itertools.pairwise(main))
    assert n_moves > 0.5 * 400
