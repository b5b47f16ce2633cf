"""Benchmark sets in files of a folder."""

import numpy as np
import pytest
from scipy import sparse

from softpolytope.datasets import load_benchmark
from softpolytope.exceptions import ContentError


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
    """A partition is chosen by number, and the folder may come from the environment."""
    path, X, y = folder
    split = load_benchmark("banana", 1, path)
    assert np.array_equal(split.X_train, X[[7, 8, 9]].astype(np.float32).astype(float))
    assert np.array_equal(split.y_train, y[[7, 8, 9]])
    assert np.array_equal(split.y_test, y[[5, 6]])
    assert split.X_train.dtype == np.float64
    monkeypatch.setenv("SOFTPOLYTOPE_DATA", str(path))
    assert np.array_equal(load_benchmark("ripley").X_test, X[6:])


def test_rows_of_ones_are_sparse(folder):
    """Rows of zeros and ones are never made dense."""
    split = load_benchmark("a9a", data_home=folder[0])
    assert sparse.issparse(split.X_train)
    assert split.X_train.toarray().tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    assert split.X_test.toarray().tolist() == [[0, 0, 0, 0], [0, 0, 1, 0]]


def test_missing_sets_are_named(folder, monkeypatch):
    """An unknown set, partition, folder or file is named in the error."""
    path = folder[0]
    monkeypatch.delenv("SOFTPOLYTOPE_DATA", raising=False)
    with pytest.raises(ValueError, match=r"name must be one of banana, .*; got 'apple'"):
        load_benchmark("apple", data_home=path)
    with pytest.raises(ValueError, match="banana has the partitions 0 to 1; got 2"):
        load_benchmark("banana", 2, path)
    with pytest.raises(FileNotFoundError, match=r"There is no file image\.npz in"):
        load_benchmark("image", data_home=path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(FileNotFoundError, match=r"no public server has its fixed partitions.*SOFTPOLYTOPE_DATA"):
        load_benchmark("thyroid")


@pytest.mark.parametrize("name", ["banana", "a9a"])
def test_damaged_files(tmp_path, name):
    """Files that are cut off, of another kind, incomplete or inconsistent raise an error that says what to do."""
    path = tmp_path / f"{name}.npz"
    good = {"X": np.eye(4), "y": np.array([0, 1, 0, 1]), "train_index": [[0, 1]], "test_index": [[2, 3]]}
    np.savez(path, **good)
    whole = path.read_bytes()
    np.save(tmp_path / "plain.npy", np.eye(2))
    pickled = np.array([object()], dtype=object)
    contents = [b"", b"not an archive", whole[:100], whole[:-30], (tmp_path / "plain.npy").read_bytes()]
    parts = [{"X": np.eye(4)}, good | {"train_index": [[0, 9]]}, good | {"X": pickled}]
    for change in (*contents, *parts):
        if isinstance(change, bytes):
            path.write_bytes(change)
        else:
            np.savez(path, **change)
        with pytest.raises(ContentError, match=rf"{name}\.npz is damaged or is not a benchmark set\. Remove it"):
            load_benchmark(name, data_home=tmp_path)
    np.savez(path, **good)
    with pytest.raises(ValueError, match=f"{name} has the partitions 0 to 0; got 1"):
        load_benchmark(name, 1, tmp_path)
