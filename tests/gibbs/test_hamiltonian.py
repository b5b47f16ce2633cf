"""The Hamiltonian move on both sides of its threshold."""

import itertools

import numpy as np
import pytest
from chains import circle_rows, one_row, settings
from scipy import stats

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.gibbs import _hamiltonian as hamiltonian
from softpolytope.gibbs._chain import ChainSettings
from softpolytope.gibbs._hamiltonian import MIN_WEIGHT, Move, Trajectory, Tuning, move_by_hamiltonian
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._run import run_chains
from softpolytope.gibbs._state import initial_state
from softpolytope.gibbs._sweep import Moves
from softpolytope.gibbs._trace import Schedule
from softpolytope.model._prior import Prior
from softpolytope.parallel import RunOptions
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
        move_by_hamiltonian(after, blocks, PRIOR, Trajectory(Tuning(np.log(0.1)), 3), np.random.default_rng(seed))
        blocks.broadcast(LatentBlock.prepare, state.coefficients)
        n_moved += not np.array_equal(after.log_weights, state.log_weights)
        n_inside += (after.log_weights <= np.log(MIN_WEIGHT)).all()
    assert n_moved > 150
    # One move in ten has no threshold.
    assert 165 < n_inside < 200


def gradients(scales, n_moves, rng):
    """Moves of which the gradient by each coefficient, then by log weights, has a standard deviation."""
    return [Move(0.7, (rng.normal(size=len(scales)) / np.array(scales)) ** 2) for _ in range(n_moves)]


def test_metric_is_learned_from_gradients(rng):
    """Scales become those of the gradients' inverses, the same for every expert; the first moves are forgotten."""
    tuning = Tuning()
    for number, move in enumerate([*gradients([9.0, 9.0, 9.0], 20, rng), *gradients([0.1, 1.0, 2.0], 3000, rng)]):
        tuning.learn(move, is_last=number == 3019)
    scale = tuning.scale(2, 2)
    assert scale == pytest.approx([0.1, 1.0, 0.1, 1.0, 2.0, 2.0], rel=0.35)
    assert np.array_equal(scale[:2], scale[2:4])


def test_metric_of_constant_columns_is_finite():
    """A column without gradient has a scale, and a gradient that overflowed teaches nothing."""
    tuning = Tuning()
    tuning.learn(Move(0.7, np.array([0.0, 4.0, 1.0])), is_last=False)
    before = tuning.scale(1, 2)
    tuning.learn(Move(0.0, np.array([np.inf, np.nan, 1.0])), is_last=False)
    assert np.isfinite(before).all()
    assert np.array_equal(tuning.scale(1, 2), before)
    assert np.array_equal(Tuning().scale(1, 2), np.ones(3))


def test_metric_is_fixed_after_burn_in():
    """Sweeps after burn-in change neither the step size nor the metric."""
    found = []
    for n_sweeps in (21, 40):
        result = run_chains(
            circle_rows(),
            settings(n_sweeps=n_sweeps, n_burn_in=20, n_draws=1),
            0,
            options=RunOptions(keeps_states=True),
        )
        found.append({name: array for name, array in result.states[0].items() if name.startswith("step.")})
    assert found[0]["step.n_squares"] > 10
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[0])


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
        move_by_hamiltonian(state, blocks, PRIOR, Trajectory(Tuning(np.log(0.6)), 4), rng)
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
    model = ChainSettings(5, 1, Prior(), Moves(), Schedule(400, 200, 200))
    traces = run_chains(rows, model, 0, n_chains=2).traces[0]
    mains = [[draw.coefficients[np.argmax(draw.log_weights)].tobytes() for draw in trace.draws] for trace in traces]
    n_moves = sum(one != other for main in mains for one, other in itertools.pairwise(main))
    assert n_moves > 0.5 * 400
