"""Blocks of rows, and random samples of rows in memory."""

import numpy as np
import pytest

from softpolytope.data._dataset import InMemoryDataset
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


def test_bootstrap_keeps_the_total_weight(data):
    """Bootstrap weights differ from the row weights but have the same sum, so the likelihood keeps its scale."""
    coefficients, log_weights = np.zeros((1, 1, 2)), np.zeros(1)
    sampler = data.sampler(lambda **_: np.random.default_rng(0))
    flat = [
        sampler.blocks(200, is_flipped=flipped, rng=np.random.default_rng(1)).sum(
            RowBlock.gradient, coefficients, log_weights
        )[0]
        for flipped in (False, True)
    ]
    # At zero coefficients, a row of label l has the log likelihood log p_l, whatever its features.
    plain = [
        sampler.blocks(200, is_flipped=flipped).sum(RowBlock.gradient, coefficients, log_weights)[0]
        for flipped in (False, True)
    ]
    assert flat[0] != plain[0]
    np.testing.assert_allclose(sum(flat), sum(plain))
