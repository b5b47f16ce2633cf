"""Blocks of rows, and random samples of rows in memory."""

import numpy as np
import pytest

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.data._random_weights import RandomWeights
from softpolytope.data._row_block import RowBlock


@pytest.fixture
def data(rng):
    """Two hundred distinct rows with weights."""
    design = np.column_stack([np.ones(200), rng.normal(size=200)])
    return InMemoryDataset.from_arrays(design, rng.random(200) < 0.5, rng.integers(1, 4, 200).astype(float))


def values(rows):
    """Return the feature of each row."""
    return set(rows.design[:, 1].tolist())


def test_samples_are_nested_and_disjoint_from_unseen_rows(data, rng):
    """A larger sample has all rows of a smaller one, and unseen rows are in none of them."""
    sampler = data.sampler(lambda **_: rng)
    small, large = sampler.sample(40), sampler.sample(90)
    assert (small.n_rows, large.n_rows) == (40, 90)
    assert values(small) < values(large)
    assert not values(large) & values(sampler.unseen(90))
    assert sampler.unseen(200).n_rows == 0
    assert sampler.sample(200) is data


def test_samples_keep_the_canonical_order(data, rng):
    """Rows of a sample are in the order of all rows."""
    kept = data.sampler(lambda **_: rng).sample(50).design[:, 1]
    places = [data.design[:, 1].tolist().index(value) for value in kept.tolist()]
    assert places == sorted(places)


def test_blocks_have_the_rows_of_the_sample(data, rng):
    """The log likelihood of the blocks is that of the sample, for both labelings."""
    sampler = data.sampler(lambda **_: rng)
    coefficients, log_weights = rng.normal(size=(2, 1, 2)), rng.normal(size=2)
    for is_flipped in (False, True):
        rows = sampler.sample(70).flipped() if is_flipped else sampler.sample(70)
        expected = RowBlock(rows).gradient(coefficients, log_weights)
        blocks = sampler.blocks(70, is_flipped=is_flipped)
        np.testing.assert_allclose(blocks.sum(RowBlock.gradient, coefficients, log_weights), expected)


def test_random_weights_are_those_of_the_rows(data):
    """Reweighted rows are in the same samples; both labelings have the weights of the same rows."""
    weights = RandomWeights(3)
    sampler = data.sampler(lambda **_: np.random.default_rng(0))
    reweighted = sampler.reweighted(weights)
    assert values(reweighted.sample(40)) == values(sampler.sample(40))
    expected = weights.draw(np.arange(200, dtype=np.uint64), data.row_weights)
    assert np.array_equal(reweighted.sample(200).row_weights, expected)
    assert not np.array_equal(sampler.sample(200).row_weights, expected)
    # At zero coefficients a row of label l has the log likelihood log p_l, whatever its features.
    coefficients, log_weights = np.zeros((1, 1, 2)), np.zeros(1)
    logs = np.log(np.array([0.5, 0.5])) * [expected[data.labels].sum(), expected[~data.labels].sum()]
    for is_flipped in (False, True):
        blocks = reweighted.blocks(200, is_flipped=is_flipped)
        found = blocks.sum(RowBlock.gradient, coefficients, log_weights)[0]
        assert found == pytest.approx(logs.sum())
