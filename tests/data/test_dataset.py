"""Datasets in memory: merging, canonical order, blocks, and errors."""

import numpy as np
import pytest
from scipy import sparse

from softpolytope.data._dataset import InMemoryDataset


def table(rng, n_rows=200, n_columns=4):
    """Return rows with many repeats, and labels."""
    design = np.column_stack([np.ones(n_rows), rng.integers(-1, 2, (n_rows, n_columns))]).astype(float)
    return design, rng.random(n_rows) < 0.5


def assert_same(first, second):
    """Assert that two datasets are equal entry by entry."""
    dense = [d.design.toarray() if sparse.issparse(d.design) else d.design for d in (first, second)]
    assert np.array_equal(dense[0], dense[1])
    assert np.array_equal(first.labels, second.labels)
    assert np.array_equal(first.row_weights, second.row_weights)


def test_order_of_rows_does_not_matter(rng):
    """A permutation of the rows gives the same data."""
    design, labels = table(rng)
    order = rng.permutation(len(labels))
    assert_same(InMemoryDataset.from_arrays(design, labels), InMemoryDataset.from_arrays(design[order], labels[order]))


def test_repeats_and_weights_are_the_same(rng):
    """Rows given twice, and rows of weight two, are the same data."""
    design, labels = table(rng, 50)
    twice = InMemoryDataset.from_arrays(np.repeat(design, 2, axis=0), np.repeat(labels, 2))
    assert_same(twice, InMemoryDataset.from_arrays(design, labels, np.full(50, 2.0)))


def test_sparse_and_dense_are_the_same(rng):
    """A CSR design, unsorted and with explicit zeros, gives the rows of the dense one in the same order."""
    design, labels = table(rng)
    thin = sparse.csr_array(design)
    thin.data[3] = 0.0
    design[tuple(np.argwhere(design != 0)[3])] = -0.0
    assert_same(InMemoryDataset.from_arrays(thin, labels), InMemoryDataset.from_arrays(design, labels))


def test_merging_keeps_rows_and_total_weight(rng):
    """Distinct rows are all there once, with the sum of their weights; weight 0 drops a row."""
    design, labels = table(rng)
    weights = rng.integers(0, 3, len(labels)).astype(float)
    data = InMemoryDataset.from_arrays(design, labels, weights)
    expected = {}
    for row, label, weight in zip(design, labels, weights, strict=True):
        if weight:
            key = (*row, label)
            expected[key] = expected.get(key, 0.0) + weight
    found = {
        (*row, label): weight for row, label, weight in zip(data.design, data.labels, data.row_weights, strict=True)
    }
    assert found == expected


def test_labels_separate_equal_rows():
    """Equal rows of different labels stay apart, and flipping the labels flips them all."""
    data = InMemoryDataset.from_arrays(np.ones((4, 2)), np.array([True, False, True, True]))
    assert sorted(zip(data.labels.tolist(), data.row_weights.tolist(), strict=True)) == [(False, 1.0), (True, 3.0)]
    assert np.array_equal(data.flipped().labels, ~data.labels)


def test_blocks_cover_all_rows(rng):
    """Blocks are consecutive and of the given length, except the last."""
    design = rng.normal(size=(25, 3))
    data = InMemoryDataset.from_arrays(design, rng.random(25) < 0.5, block_rows=10)
    blocks = list(data.split())
    assert [block.n_rows for block in blocks] == [10, 10, 5]
    assert np.array_equal(np.concatenate([block.design for block in blocks]), data.design)


def test_single_positives():
    """For the paper's scan, positive rows are repeated and negative ones keep their weights."""
    data = InMemoryDataset(np.array([[1.0], [2.0]]), np.ones(1), np.array([True, False]), np.array([3.0, 2.5]))
    single = data.with_single_positives()
    assert single.row_weights.tolist() == [1.0, 1.0, 1.0, 2.5]
    with pytest.raises(ValueError, match="integer weights"):
        data.flipped().with_single_positives()


@pytest.mark.parametrize(
    ("design", "labels", "weights", "message"),
    [
        (np.array([[1.0], [np.nan]]), [True, False], None, "NaN or infinite"),
        (np.array([[1.0], [np.inf]]), [True, False], None, "NaN or infinite"),
        (np.zeros((2, 0)), [True, False], None, "at least one column"),
        (np.ones((2, 1)), [True], None, "one entry for each of the 2 rows"),
        (np.ones((2, 1)), [True, False], [1.0, -1.0], "finite and >= 0; got -1"),
        (np.ones((2, 1)), [True, False], [1.0, np.nan], "finite and >= 0; got nan"),
    ],
)
def test_bad_input_is_refused(design, labels, weights, message):
    """NaN, infinite values, no columns, wrong lengths and bad weights raise clear errors."""
    with pytest.raises(ValueError, match=message):
        InMemoryDataset.from_arrays(design, np.array(labels), None if weights is None else np.array(weights))
