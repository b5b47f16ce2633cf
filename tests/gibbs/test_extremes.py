"""Weights, rates and columns of sizes that no one should have, and rare labels that many have."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.distributions import Streams, SweepStreams
from softpolytope.gibbs import _hamiltonian as hamiltonian
from softpolytope.gibbs._chain import ChainSettings
from softpolytope.gibbs._hamiltonian import MIN_WEIGHT, Trajectory, move_by_hamiltonian
from softpolytope.gibbs._kernels import rates as _rates
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._run import run_chains
from softpolytope.gibbs._state import initial_state
from softpolytope.gibbs._sweep import Moves
from softpolytope.gibbs._trace import Schedule
from softpolytope.model._prior import Prior
from softpolytope.parallel._blocks import SerialBlocks

PRIOR = Prior(precision_shape=1.0, precision_rate=1.0)


def one_row(weight, coefficients):
    """A block of one positive row, all of whose columns are one."""
    n_columns = coefficients.shape[2]
    rows = InMemoryDataset.from_arrays(np.ones((1, n_columns)), np.array([True]), np.array([weight]))
    block = LatentBlock(rows, 0)
    block.prepare(coefficients)
    return block


def test_small_experts_keep_their_share_of_large_counts():
    """Beside an expert with 6e41 counts, one of 1e-20 of its rate has its 6e21, whoever comes first."""
    for order in ([0, 1], [1, 0]):
        log_weights = np.array([0.0, -46.0])[order]
        block = one_row(1e40, np.full((2, 1, 1), 60.0))
        counts = block.draw_counts(SweepStreams(Streams(0), 0, 0, 0), log_weights)[-1]
        assert counts == pytest.approx(1e40 * 60.0 * np.exp(log_weights), rel=1e-6)


@pytest.mark.parametrize(("weight", "log_rate"), [(1e18, np.log(1e-8)), (1e34, 0.0), (1e80, np.log(0.5))])
def test_counts_of_many_copies(weight, log_rate):
    """Each of w copies has l / (1 - e^-l) counts on average, and they are not dealt one by one."""
    block = one_row(weight, np.full((1, 1, 1), 60.0))
    rate = np.exp(log_rate)
    counts = block.draw_counts(SweepStreams(Streams(0), 0, 0, 0), np.array([log_rate - np.log(60.0)]))[-1]
    assert counts[0] == pytest.approx(weight * rate / -np.expm1(-rate), rel=1e-6)


def test_weights_beyond_all_counts_are_refused():
    """With what was seen, and what to do."""
    with pytest.raises(ValueError, match=r"row_weights must be at most 1e\+90; got 1e\+300\. Divide them"):
        InMemoryDataset.from_arrays(np.ones((1, 1)), np.array([True]), np.array([1e300]))
    rows = InMemoryDataset.from_arrays(np.ones((1, 1)), np.array([True]), np.array([1e10]))
    with pytest.raises(ValueError, match=r"keeps every copy of a positive row, and the weights make 1e\+10 of them"):
        rows.with_single_positives()


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
    chosen = hamiltonian._choose_experts
    monkeypatch.setattr(hamiltonian, "_choose_experts", lambda *given, **named: (*chosen(*given, **named)[:2], np.inf))
    assert above_pvalue(range(16), law) < 1e-3


def test_chains_move_where_positives_are_rare(rng):
    """Weights are then below the threshold, and step sizes must not be learned from moves that are not made."""
    X = rng.normal(size=(3000, 2))
    rows = InMemoryDataset.from_arrays(np.column_stack([np.ones(3000), X]), rng.random(3000) < 0.01)
    settings = ChainSettings(5, 1, Prior(), Moves(), Schedule(400, 200, 200))
    traces = run_chains(rows, settings, 0, n_chains=2).traces[0]
    mains = [[draw.coefficients[np.argmax(draw.log_weights)].tobytes() for draw in trace.draws] for trace in traces]
    n_moves = sum(one != other for main in mains for one, other in itertools.pairwise(main))
    assert n_moves > 0.5 * 400


@pytest.mark.parametrize(("scan", "size"), [("paper", 1e170), ("paper", 1e-170), ("collapsed", 1e-170)])
def test_columns_whose_squares_are_no_numbers(scan, size, rng):
    """Chains run, and see what there is to see."""
    x = rng.normal(size=80)
    rows = InMemoryDataset.from_arrays(np.column_stack([np.ones(80), size * x]), x > 0.3)
    settings = ChainSettings(2, 1, PRIOR, Moves.of(scan), Schedule(40, 20, 10))
    trace = run_chains(rows, settings, 0).traces[0][0]
    assert np.isfinite(trace.log_likelihood).all()


def latent_rates(bits, shape, n_rows, log_scale, log_activation=-1e4, log_least=-np.inf):
    """Rates of the top level with a shape and a scale, drawn by the kernel."""
    ones, rates = np.ones((n_rows, 1)), np.empty((n_rows, 1))
    _rates.draw_rates(
        bits, 0.0 * ones, np.empty((0, 0)), ones[:, 0], np.array([shape]), log_scale * ones,
        log_activation * ones, 0.0 * ones, log_least, np.zeros(1, dtype=np.intc), rates, is_log=False,
    )  # fmt: skip
    return rates[:, 0]


def test_rates_above_small_activations_are_divided(rng):
    """A rate is theta q / max(epsilon, q), whose size decides whether there is one: no variate is drawn in vain."""
    shape, seed = 1e-3, int(rng.integers(2**63))
    bits, plain = np.random.Philox(seed), np.random.Generator(np.random.Philox(seed))
    rates = latent_rates(bits, shape, 2000, 900.0, -870.0, np.log(1e-6))
    for rate in rates:
        # The scale is 1 / q where the logit, 900 - 870, is large.
        log_power = -plain.standard_exponential() / shape
        log_rate = 870.0 + log_power - 870.0 - np.log(1e-6)
        if log_power < -800.0:
            assert rate == 0.0
        else:
            expected = plain.standard_gamma(1.0 + shape) * np.exp(log_rate)
            assert rate == pytest.approx(min(expected, 1e100), rel=1e-9, abs=1e-300)
    assert 0.2 < np.mean(rates == 0.0) < 0.7
    assert bits.random_raw() == plain.bit_generator.random_raw()


def test_rates_of_small_shapes_and_large_scales(rng):
    """A factor that underflows alone may not do so times its scale; level 1e-4, and cut off alone it is rejected.

    The chance of a gamma variate of so small a shape a to be below g is g^a / Gamma(1 + a), but for g near one.
    Rates below 1e-170 may be zero.
    """
    shape, log_scale, n_rows = 1e-3, 900.0, 20_000
    rates = latent_rates(np.random.Philox(int(rng.integers(2**63))), shape, n_rows, log_scale)

    def is_the_law(rates):
        share_below = np.exp(shape * (np.log(1e-170) - log_scale)) / special.gamma(1.0 + shape)
        below = stats.binomtest(int(np.sum(rates < 1e-170)), n_rows, share_below).pvalue
        inside = rates[(rates > 1e-170) & (rates < 1e99)]
        low, high, found = (np.exp(shape * np.log(bound)) for bound in (1e-170, 1e99, inside))
        return min(below, stats.kstest(found, stats.uniform(low, high - low).cdf).pvalue) > 0.5e-4

    assert is_the_law(rates)
    assert not is_the_law(np.where(rates < np.exp(log_scale - 800.0), 0.0, rates))
