"""Training by minibatches: row weights, order of rows, threads, held-out rows, and the search as a whole."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from checks import LEVEL, ks_pvalue, mean_pvalue, variance_pvalue
from optimize.minibatches import make_members, make_rows, make_target
from optimize.searches import stop_after
from scipy import sparse, stats

from softpolytope.data import InMemoryDataset
from softpolytope.datasets import make_circle
from softpolytope.distributions import Streams
from softpolytope.model import Prior
from softpolytope.optimize._basis import Basis
from softpolytope.optimize._fit import DEFAULT_PRIOR, find_modes
from softpolytope.optimize._minibatch import (
    Crew,
    Schedule,
    Trainer,
    cut_batches,
    log_likelihood,
    mean_and_error,
    train_members,
)
from softpolytope.optimize._minibatch_rows import (
    LOADED_ROWS,
    BlockRows,
    FloatRows,
    MemberKey,
    MemoryRows,
    fill_member_weights,
    hold_out,
)
from softpolytope.optimize._minibatch_search import find_members, make_schedule
from softpolytope.optimize._mode import ModeSettings
from softpolytope.optimize._model_group import make_groups
from softpolytope.parallel import Reporting, RunOptions

SETTINGS = ModeSettings(6, 2, DEFAULT_PRIOR)
KEYS = [MemberKey(0, 0), MemberKey(1, 0), MemberKey(0, 1)]


def circle(n_rows=1500, seed=0):
    """Return a disc and its surroundings."""
    X, y = make_circle(n_rows, random_state=seed)
    return InMemoryDataset.from_arrays(np.column_stack([np.ones(len(y)), X]), y.astype(bool))


def positions(result):
    """Return the flat arrays of all modes."""
    return [found.mode.position() for modes in result.modes.modes for found in modes]


@pytest.mark.parametrize("weight", [1.0, 0.3, 4.0])
def test_row_weights_follow_their_law(weight):
    """A row of weight w has a weight ~ Gamma(w) in a member; another shape is rejected (level 1e-4)."""
    out = np.empty((200_000, 1), dtype=np.float32)
    fill_member_weights(out, np.full(len(out), weight), Streams(8), [MemberKey(1, 5)], block=2)
    drawn = out[:, 0].astype(float)
    assert ks_pvalue(drawn, stats.gamma(weight).cdf) > LEVEL
    assert mean_pvalue(drawn, weight, weight) > LEVEL
    assert variance_pvalue(drawn, weight, weight) > LEVEL
    assert ks_pvalue(drawn, stats.gamma(1.1 * weight).cdf) < LEVEL


def test_row_weights_are_named_by_member_and_block():
    """Weights are the same beside other members; blocks, members and labelings have different ones."""
    ones, streams = np.ones(50), Streams(1)
    together, alone = np.empty((50, 3), dtype=np.float32), np.empty((50, 1), dtype=np.float32)
    fill_member_weights(together, ones, streams, KEYS, block=4)
    fill_member_weights(alone, ones, streams, KEYS[2:], block=4)
    assert np.array_equal(together[:, 2:], alone)
    assert len({column.tobytes() for column in together.T}) == 3
    fill_member_weights(alone, ones, streams, KEYS[2:], block=5)
    assert not (together[:, 2:] == alone).any()


def test_rows_loaded_by_blocks_have_the_weights_of_rows_in_memory(rng):
    """The same rows as blocks of a loader get the same weights in every epoch, in another order."""
    data = replace(make_rows(rng, 200), block_rows=64)
    basis = Basis(np.ones(data.n_columns), None)
    blocks = list(data.split())

    class Loader:
        n_blocks, n_rows, total_weight = len(blocks), data.n_rows, data.total_weight

        def __call__(self, block):
            return blocks[block]

    streams = Streams(2)
    memory = FloatRows.from_dataset(data, basis).with_members(streams, KEYS, 64)
    expected = np.column_stack([memory.design, memory.labels, memory.row_weights, memory.member_weights])
    loaded = BlockRows(Loader(), basis, streams, KEYS)
    orders = []
    for epoch in (0, 1):
        parts = list(loaded.epoch(epoch))
        rows = np.concatenate(
            [np.column_stack([part.design, part.labels, part.row_weights, part.member_weights]) for part in parts]
        )
        orders.append(rows)
        assert np.array_equal(rows[np.lexsort(rows.T)], expected[np.lexsort(expected.T)])
    assert not np.array_equal(*orders)


def test_an_epoch_has_every_row_once(rng):
    """Epochs are different permutations, the same for the same seed, in parts of a fixed size."""
    n_rows = LOADED_ROWS + 100
    none = np.zeros((n_rows, 0), dtype=np.float32)
    design = np.arange(n_rows, dtype=np.float32)[:, None]
    source = MemoryRows(FloatRows(design, np.zeros(n_rows, dtype=np.uint8), np.ones(n_rows), none), Streams(0))
    first, again, second = (
        [part.design[:, 0] for part in source.epoch(number)] for number in (0, 0, int(rng.integers(1, 9)))
    )
    assert [len(part) for part in first] == [LOADED_ROWS, 100]
    first, again, second = map(np.concatenate, (first, again, second))
    assert np.array_equal(np.sort(first), design[:, 0])
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)


def test_held_out_rows_are_no_neighbors_of_training_rows(rng):
    """Rows that differ only in their label are on the same side; the rest is divided without loss."""
    X = np.column_stack([np.ones(400), rng.integers(0, 60, 400)])
    for design in (X, sparse.csr_array(X)):
        data = InMemoryDataset.from_arrays(design, rng.random(400) < 0.5)
        trained, unseen = hold_out(data, 30, Streams(5))
        assert np.array_equal(np.sort(np.concatenate([trained, unseen])), np.arange(data.n_rows))
        assert 20 <= len(unseen) <= 40
        values = np.asarray(data.design[:, [1]].todense() if sparse.issparse(data.design) else data.design[:, 1:])
        assert not set(values[trained, 0]) & set(values[unseen, 0])


def test_rotated_coefficients_give_the_same_predictors(rng):
    """A basis and its inverse agree, and its columns are uncorrelated."""
    data = make_rows(rng)
    mixed = replace(data, design=data.design @ (np.eye(6) + 0.7 * rng.standard_normal((6, 6))))
    basis = Basis.from_dataset(mixed)
    coefficients = rng.standard_normal((2, 3, 6))
    inside = basis.to_basis(coefficients)
    assert basis.to_original(inside) == pytest.approx(coefficients, rel=1e-9, abs=1e-9)
    rows = basis.transform(mixed.design, mixed.column_scale).astype(float)
    assert rows @ inside[0, 0] == pytest.approx(mixed.design @ coefficients[0, 0], abs=1e-4)
    before, after = (np.linalg.cond((x * data.row_weights[:, None]).T @ x) for x in (mixed.design, rows))
    assert after < 0.5 * before


@pytest.mark.parametrize("n_rows", [1, 63, 1000, 32_768])
def test_batches_cover_all_rows(n_rows):
    """Batches are neighbors of nearly equal sizes."""
    bounds = cut_batches(n_rows, 64)
    assert bounds[0] == 0
    assert bounds[-1] == n_rows
    assert np.ptp(np.diff(bounds)) <= 1


def test_threads_and_groups_change_no_bit():
    """One, two and five threads, and thus other groups of members, give the same modes."""
    rows = circle()
    results = [
        find_members(rows, SETTINGS, 6, seed=4, options=RunOptions(n_threads=n_threads)) for n_threads in (1, 2, 5)
    ]
    for result in results[1:]:
        assert all(np.array_equal(*pair) for pair in zip(positions(results[0]), positions(result), strict=True))
        assert result.modes.held_out_loss == results[0].modes.held_out_loss
    other = find_members(rows, SETTINGS, 6, seed=5)
    assert not np.array_equal(positions(other)[0], positions(results[0])[0])


def test_order_of_rows_and_copies_change_no_bit(rng):
    """Permuted rows, and a row given twice instead of weight two, give the same modes."""
    X, y = make_circle(600, random_state=3)
    design = np.column_stack([np.ones(600), X])
    weights = np.ones(600)
    weights[:50] = 2.0
    copies = np.concatenate([np.arange(600), np.arange(50)])
    order = rng.permutation(copies)
    first = InMemoryDataset.from_arrays(design, y.astype(bool), weights)
    second = InMemoryDataset.from_arrays(design[order], y[order].astype(bool))
    results = [positions(find_members(rows, SETTINGS, 4, seed=1)) for rows in (first, second)]
    assert all(np.array_equal(*pair) for pair in zip(*results, strict=True))


def test_groups_have_members_for_all_threads(rng):
    """Members are divided among a multiple of the threads, each member in one group."""
    members, target = make_members(rng, 6, (4,) * 7), make_target(make_rows(rng))
    groups = make_groups(members, target, 3)
    assert len(groups) == 3
    assert sum(len(group.modes()) for group in groups) == 7


def test_modes_predict_like_those_of_all_rows_at_once():
    """Log likelihoods of new rows are those of modes found by L-BFGS; those of fewer epochs are not."""
    test = circle(2000, seed=1)

    def mean_values(result):
        """Return the mean log likelihood of a row in each labeling."""
        return np.array(
            [
                np.mean([log_likelihood(found.mode, test, labeling) for found in modes])
                for labeling, modes in enumerate(result.modes)
            ]
        ) / len(test.labels)

    ours = find_members(circle(4000), SETTINGS, 6, seed=0)
    expected = mean_values(find_modes(circle(4000), replace(SETTINGS, n_restarts=3), 0, (0, 1)))
    assert [len(modes) for modes in ours.modes.modes] == [3, 3]
    assert ours.modes.is_complete
    assert mean_values(ours.modes) == pytest.approx(expected, abs=0.02)
    stopped = find_members(circle(4000), SETTINGS, 6, seed=0, options=RunOptions(callback=lambda _: True))
    assert mean_values(stopped.modes) != pytest.approx(expected, abs=0.02)


def test_a_given_rate_is_used():
    """Without a learned rate there is no search for one, and a tight prior makes small coefficients."""
    sizes = []
    for rate in (1e-4, 10.0):
        settings = replace(SETTINGS, prior=Prior(precision_shape=0.5, precision_rate=rate))
        result = find_members(circle(), settings, 2, seed=0)
        assert result.modes.held_out_loss == {}
        sizes.append(np.median([np.abs(position).mean() for position in positions(result)]))
    assert sizes[0] < sizes[1]


def test_cycles_end_when_held_out_rows_gain_too_little(rng):
    """A gain that no cycle can make ends the training after two cycles; a gain below any makes all cycles."""
    data = circle()
    target = make_target(data)
    rows = FloatRows.from_dataset(data, target.basis)
    members = make_members(rng, 3)
    n_cycles = []
    with ThreadPoolExecutor(1) as pool:
        for gain in (0.99, -1e9):
            source = MemoryRows(rows.with_equal_members(3, np.arange(data.n_rows)), Streams(0))
            trainer = Trainer(members, target, source, Crew(pool, 1, Reporting(None)))
            schedule = Schedule((1, 1, 1, 2), 64, 0.1, gain, min_errors=-np.inf)
            reports = train_members(trainer, schedule, data, rows.take(slice(0, 200)))
            n_cycles.append(len(reports))
            assert trainer.n_epochs == reports[-1].n_epochs
    assert n_cycles == [2, 4]


def test_cycles_end_when_the_gain_is_noise():
    """The standard error of a mean is that of its law, with unequal weights too, and a large one ends the training."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, 200)
    means, errors = np.transpose([mean_and_error(rng.standard_normal(200), weights) for _ in range(2000)])
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(means.std(), rel=0.1)  # six standard errors of the ratio
    data = circle()
    target = make_target(data)
    rows = FloatRows.from_dataset(data, target.basis)
    with ThreadPoolExecutor(1) as pool:
        source = MemoryRows(rows.with_equal_members(3, np.arange(data.n_rows)), Streams(0))
        trainer = Trainer(make_members(rng, 3), target, source, Crew(pool, 1, Reporting(None)))
        reports = train_members(
            trainer, Schedule((1, 1, 1), 64, 0.1, -np.inf, np.inf, 1e6), data, rows.take(slice(0, 200))
        )
    assert len(reports) == 2
    schedule = Schedule((1,), 64, 0.1)
    gains = [(0.02, 0.05), (0.005, 0.05), (0.005, 0.001), (0.001, 0.0)]
    assert [schedule.is_worthwhile(*pair, 1.0) for pair in gains] == [True, False, True, False]


def test_a_callback_stops_the_training():
    """A callback that returns True ends the search with the modes reached, marked as incomplete."""
    result = find_members(circle(), SETTINGS, 4, seed=0, options=RunOptions(callback=stop_after(1)))
    assert not result.modes.is_complete
    assert all(np.isfinite(position).all() for position in positions(result))
    assert len(positions(result)) == 4


def test_sparse_rows_have_larger_batches_and_dense_ones_small_steps():
    """Batches grow with the columns per entry, and steps shrink with the size of the rows."""
    thin = sparse.random_array((500, 400), density=0.02, format="csr", rng=np.random.default_rng(0))
    assert make_schedule(thin).batch_rows > 256
    dense = np.random.default_rng(0).standard_normal((500, 40)).astype(np.float32)
    assert make_schedule(dense).batch_rows == 64
    assert make_schedule(dense).max_step < make_schedule(dense[:, :10]).max_step
