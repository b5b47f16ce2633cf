"""Benchmark sets, read from a folder."""

import numpy as np
import pytest
from scipy import sparse

from softpolytope.datasets import load_benchmark


@pytest.fixture
def folder(tmp_path, rng):
    """Files of the three layouts."""
    X, y = rng.standard_normal((10, 2)), np.arange(10) % 2
    np.savez(
        tmp_path / "banana.npz",
        X=X.astype(np.float32),
        y=y.astype(np.int8),
        train_index=[[0, 1, 2], [7, 8, 9]],
        test_index=[[3, 4], [5, 6]],
    )
    np.savez(tmp_path / "ripley.npz", X_train=X[:6], y_train=y[:6], X_test=X[6:], y_test=y[6:])
    np.savez(
        tmp_path / "a9a.npz",
        train_indices=[0, 3, 1],
        train_indptr=[0, 2, 3],
        y_train=[1, 0],
        test_indices=[2],
        test_indptr=[0, 0, 1],
        y_test=[0, 1],
        n_features=4,
    )
    return tmp_path, X, y


def test_partitions_are_rows_of_the_file(folder, monkeypatch):
    """By number; the folder may come from the environment."""
    path, X, y = folder
    split = load_benchmark("banana", 1, path)
    assert np.array_equal(split.X_train, X[[7, 8, 9]].astype(np.float32).astype(float))
    assert np.array_equal(split.y_train, y[[7, 8, 9]])
    assert np.array_equal(split.y_test, y[[5, 6]])
    assert split.X_train.dtype == np.float64
    monkeypatch.setenv("SOFTPOLYTOPE_DATA", str(path))
    assert np.array_equal(load_benchmark("ripley").X_test, X[6:])


def test_rows_of_ones_are_sparse(folder):
    """They are never made dense."""
    split = load_benchmark("a9a", data_home=folder[0])
    assert sparse.issparse(split.X_train)
    assert split.X_train.toarray().tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    assert split.X_test.toarray().tolist() == [[0, 0, 0, 0], [0, 0, 1, 0]]


def test_what_is_missing_is_named(folder, monkeypatch):
    """Set, partition, folder and file."""
    path = folder[0]
    monkeypatch.delenv("SOFTPOLYTOPE_DATA", raising=False)
    with pytest.raises(ValueError, match=r"name must be one of banana, .*; got 'apple'"):
        load_benchmark("apple", data_home=path)
    with pytest.raises(ValueError, match="banana has the partitions 0 to 1; got 2"):
        load_benchmark("banana", 2, path)
    with pytest.raises(FileNotFoundError, match=r"there is no file image\.npz in"):
        load_benchmark("image", data_home=path)
    with pytest.raises(FileNotFoundError, match="the variable SOFTPOLYTOPE_DATA"):
        load_benchmark("banana")
