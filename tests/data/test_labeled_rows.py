"""Labeled rows before inference: their number, and the prepared data."""

import numpy as np
import pytest

from softpolytope.data import DataSummary, InMemoryRows, PartitionedRows, open_source
from softpolytope.parallel import open_partition_store


def arrays(rng, n_rows=80):
    """Return features of a few values, labels and weights."""
    X = rng.integers(0, 4, (n_rows, 2)).astype(float) * [1.0, 1e3]
    return X, np.arange(n_rows) % 2, rng.integers(1, 3, n_rows).astype(float)


def in_memory(X, y, weights):
    """Return labeled rows in memory."""
    return InMemoryRows(np.column_stack([np.ones(len(X)), X]), y == 1, weights)


@pytest.mark.parametrize("standardize", [False, True])
def test_partitions_are_prepared_like_memory(standardize, tmp_path, rng):
    """Units, features and sizes of one partition agree with those of rows in memory."""
    X, y, weights = arrays(rng)
    for name, array in {"X": X, "y": y, "w": weights}.items():
        np.save(tmp_path / f"{name}.npy", array)
    source = open_source(*(tmp_path / f"{name}.npy" for name in "Xyw"), has_client=False, is_limited=True)
    memory = in_memory(X, y, weights).prepare(standardize=standardize)
    with open_partition_store(source, None, 2**31, 1) as store:
        summary = DataSummary.from_store(store, None)
        classes, totals = summary.classes()
        found = PartitionedRows(store, summary, classes, np.ones(2), 1).prepare(standardize=standardize)
    assert classes.tolist() == [0, 1]
    assert totals.sum() == found.data.total_weight == memory.data.total_weight
    assert found.data.n_columns == memory.data.n_columns == 3
    np.testing.assert_allclose(found.transform.scale, memory.transform.scale, rtol=1e-12)
    np.testing.assert_allclose(found.transform.center, memory.transform.center, rtol=1e-12)
    np.testing.assert_allclose(found.features.deviation, memory.features.deviation, rtol=1e-9)
    np.testing.assert_allclose(found.data.column_size(), memory.data.column_size(), rtol=1e-9)
    np.testing.assert_allclose(found.data.root_mean_square(), memory.data.root_mean_square(), rtol=1e-9)


def test_digest_depends_on_rows_and_model(rng):
    """The digest changes with the model and with the rows, but not with their order."""
    X, y, weights = arrays(rng)
    order = rng.permutation(len(X))
    digests = [
        in_memory(X, y, weights).prepare(standardize=True).get_digest("model"),
        in_memory(X[order], y[order], weights[order]).prepare(standardize=True).get_digest("model"),
        in_memory(X, y, weights).prepare(standardize=True).get_digest("another"),
        in_memory(X + 1.0, y, weights).prepare(standardize=True).get_digest("model"),
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
