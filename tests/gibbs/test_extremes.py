"""Weights, rates and columns of sizes that no one should have, and rare labels that many have."""

import itertools

import numpy as np
import pytest

from softpolytope.distributions import Streams
from softpolytope.gibbs.block import LatentBlock
from softpolytope.gibbs.chain import ChainSettings
from softpolytope.gibbs.hamiltonian import StepSize, Trajectory, move_by_hamiltonian
from softpolytope.gibbs.names import SweepName
from softpolytope.gibbs.run import run_chains
from softpolytope.gibbs.state import initial_state
from softpolytope.gibbs.sweep import Moves
from softpolytope.gibbs.trace import Schedule
from softpolytope.model.data import TrainingData
from softpolytope.model.prior import Prior
from softpolytope.parallel.homes import SerialHome

PRIOR = Prior(precision_shape=1.0, precision_rate=1.0)


def one_row(weight, coefficients):
    """A block of one positive row, all of whose columns are one."""
    n_columns = coefficients.shape[2]
    rows = TrainingData.from_arrays(np.ones((1, n_columns)), np.array([True]), np.array([weight]))
    block = LatentBlock(rows, 0)
    block.prepare(coefficients)
    return block


def test_small_experts_keep_their_share_of_large_counts():
    """Beside an expert with 6e41 counts, one of 1e-20 of its rate has its 6e21, whoever comes first."""
    for order in ([0, 1], [1, 0]):
        log_weights = np.array([0.0, -46.0])[order]
        block = one_row(1e40, np.full((2, 1, 1), 60.0))
        counts = block.draw_counts(SweepName(Streams(0), 0, 0, 0), log_weights)[-1]
        assert counts == pytest.approx(1e40 * 60.0 * np.exp(log_weights), rel=1e-6)


@pytest.mark.parametrize(("weight", "log_rate"), [(1e18, np.log(1e-8)), (1e34, 0.0), (1e80, np.log(0.5))])
def test_counts_of_many_copies(weight, log_rate):
    """Each of w copies has l / (1 - e^-l) counts on average, and they are not dealt one by one."""
    block = one_row(weight, np.full((1, 1, 1), 60.0))
    rate = np.exp(log_rate)
    counts = block.draw_counts(SweepName(Streams(0), 0, 0, 0), np.array([log_rate - np.log(60.0)]))[-1]
    assert counts[0] == pytest.approx(weight * rate / -np.expm1(-rate), rel=1e-6)


def test_weights_beyond_all_counts_are_refused():
    """With what was seen, and what to do."""
    with pytest.raises(ValueError, match=r"row_weights must be at most 1e\+90; got 1e\+300\. Divide them"):
        TrainingData.from_arrays(np.ones((1, 1)), np.array([True]), np.array([1e300]))
    rows = TrainingData.from_arrays(np.ones((1, 1)), np.array([True]), np.array([1e10]))
    with pytest.raises(ValueError, match=r"keeps every copy of a positive row, and the weights make 1e\+10 of them"):
        rows.with_single_positives()


def test_a_move_that_is_not_made_teaches_nothing():
    """Where no weight is above the threshold, the step size stays as it is."""
    state = initial_state(3, 1, 1, PRIOR)
    state.log_weights[:] = -10.0
    home = SerialHome([one_row(1.0, state.coefficients)])
    found = [
        move_by_hamiltonian(state.copy(), home, PRIOR, Trajectory(np.log(0.1), 3), np.random.default_rng(seed))
        for seed in range(40)
    ]
    assert found.count(None) > 20
    assert all(0.0 <= acceptance <= 1.0 for acceptance in found if acceptance is not None)


def test_chains_move_where_positives_are_rare(rng):
    """Weights are then below the threshold of most moves; the few that are made are not too long to be accepted."""
    X = rng.normal(size=(1500, 2))
    labels = rng.random(1500) < 0.012
    rows = TrainingData.from_arrays(np.column_stack([np.ones(1500), X]), labels)
    settings = ChainSettings(5, 1, Prior(), Moves(), Schedule(500, 250, 250))
    trace = run_chains(rows, settings, 0).traces[0][0]
    main = [draw.coefficients[np.argmax(draw.log_weights)].tobytes() for draw in trace.draws]
    n_moves = sum(one != other for one, other in itertools.pairwise(main))
    assert n_moves > 0.3 * len(main)


def test_steps_that_are_always_accepted_grow_no_further_than_their_bound():
    """The control of the test above: a step size that is told of acceptance only runs away."""
    step = StepSize()
    for _ in range(200):
        step.learn(1.0)
    assert step.log_step == 2.0


@pytest.mark.parametrize(("scan", "size"), [("paper", 1e170), ("paper", 1e-170), ("collapsed", 1e-170)])
def test_columns_whose_squares_are_no_numbers(scan, size, rng):
    """Chains run, and see what there is to see."""
    x = rng.normal(size=80)
    rows = TrainingData.from_arrays(np.column_stack([np.ones(80), size * x]), x > 0.3)
    settings = ChainSettings(2, 1, PRIOR, Moves.of(scan), Schedule(40, 20, 10))
    trace = run_chains(rows, settings, 0).traces[0][0]
    assert np.isfinite(trace.log_likelihood).all()
