"""Benchmark sets, read from a folder or downloaded."""

import functools
import http.server
import threading
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from softpolytope.datasets import load_benchmark
from softpolytope.datasets._download import cache_folder, downloaded, fetched
from softpolytope.datasets._sources import SOURCES, Source, ascii_partitions, content_digest, libsvm_split
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
    monkeypatch.setenv("XDG_CACHE_HOME", str(path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(FileNotFoundError, match=r"no public server has its fixed partitions.*SOFTPOLYTOPE_DATA"):
        load_benchmark("thyroid")


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that says nothing."""

    def log_message(self, *_):
        """Nothing."""


@pytest.fixture
def server(tmp_path):
    """A folder, and the address under which a server of this machine gives its files."""
    folder = tmp_path / "public"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_address[1]}/"
        running.shutdown()
        thread.join()


def test_partitions_are_downloaded_and_checked(server, tmp_path, monkeypatch, rng):
    """From ascii files of each partition to the same rows in the same order, also where rows are equal."""
    folder, address = server
    X, y = rng.integers(0, 3, size=(20, 2)).astype(float), rng.integers(0, 2, 20)
    orders = [rng.permutation(20) for _ in range(3)]
    for number, order in enumerate(orders, 1):
        for part, rows in (("train", order[:8]), ("test", order[8:])):
            np.savetxt(folder / f"fruit_{part}_data_{number}.asc", X[rows])
            np.savetxt(folder / f"fruit_{part}_labels_{number}.asc", 2.0 * y[rows] - 1.0)
    pattern = address + "{name}_{part}_{kind}_{number}.asc"
    arrays = {"X": X, "y": y, "train_index": [o[:8] for o in orders], "test_index": [o[8:] for o in orders]}
    source = Source(lambda fetch: ascii_partitions(fetch, "fruit", pattern, 3), content_digest(arrays), address)
    path = downloaded("banana", tmp_path / "cache", {"banana": source})
    monkeypatch.setenv("SOFTPOLYTOPE_DATA", str(path.parent))
    for number, order in enumerate(orders):
        split = load_benchmark("banana", number)
        assert np.array_equal(split.X_train, X[order[:8]])
        assert np.array_equal(split.y_test, y[order[8:]])
    # What is there is not asked for again.
    assert downloaded("banana", tmp_path / "cache", {"banana": replace(source, sha256="")}) == path
    with pytest.raises(ContentError, match="is not the set it should be: its rows have the sha256"):
        downloaded("banana", tmp_path / "other", {"banana": replace(source, sha256="0")})
    assert not (tmp_path / "other").exists()


def test_libsvm_files_are_downloaded(server, tmp_path):
    """Zeros and ones stay sparse, other numbers are single precision; both as in a folder."""
    folder, address = server
    (folder / "a").write_text("+1 1:1 4:1\n-1 2:1\n")
    (folder / "a.t").write_text("-1\n+1 3:1\n")
    (folder / "b").write_text("+1 1:0.5 2:-0.123456\n")
    for name, files, n_features in (("a9a", ("a", "a.t"), 4), ("ijcnn1", ("b", "b"), 2)):
        arrays = libsvm_split(fetched, files, n_features, address + "{file}")
        read = functools.partial(libsvm_split, files=files, n_features=n_features, address=address + "{file}")
        downloaded(name, tmp_path, {name: Source(read, content_digest(arrays), address)})
    split = load_benchmark("a9a", data_home=tmp_path)
    assert split.X_train.toarray().tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    assert split.y_test.tolist() == [0, 1]
    assert load_benchmark("ijcnn1", data_home=tmp_path).X_test == pytest.approx(np.array([[0.5, -0.123456]]))


def test_what_a_server_lacks_is_told(server, tmp_path):
    """A missing file, no server at all, and addresses of another kind; with what to do instead."""
    folder, address = server
    source = Source(lambda fetch: {"X": np.frombuffer(fetch(address + "none"))}, "", address)
    with pytest.raises(
        FileNotFoundError, match=r"could not be downloaded .*404.* or name a folder that has image\.npz"
    ):
        downloaded("image", tmp_path / "cache", {"image": source})
    nowhere = replace(source, read=lambda fetch: {"X": np.frombuffer(fetch("http://127.0.0.1:9/none"))})
    with pytest.raises(FileNotFoundError, match="Try again with a network"):
        downloaded("image", tmp_path / "cache", {"image": nowhere})
    with pytest.raises(ValueError, match="no address of a public server"):
        fetched("file:///etc/hostname")
    (folder / "x_train_data_1.asc").write_text("1 2\n")
    with pytest.raises(FileNotFoundError, match="404"):
        downloaded("image", tmp_path, {"image": replace(source, read=_one_partition(address))})


def _one_partition(address):
    return lambda fetch: ascii_partitions(fetch, "x", address + "{name}_{part}_{kind}_{number}.asc", 1)


def test_partitions_must_be_of_the_same_rows():
    """Files that do not fit together are refused."""
    files = {"train_data_1": "1\n", "test_data_1": "2\n", "train_data_2": "1\n", "test_data_2": "3\n"}

    def fetch(address):
        return files.get(address, "1\n").encode()

    with pytest.raises(ContentError, match="partition 1 of x is not made of the rows of partition 0"):
        ascii_partitions(fetch, "x", "{part}_{kind}_{number}", 2)


def test_known_sources(monkeypatch, tmp_path):
    """The paper's eight sets, each with a digest; the cache is in the user's folder."""
    eight = {"banana", "breast_cancer", "titanic", "waveform", "german", "image", "ijcnn1", "a9a"}
    assert set(SOURCES) == eight
    assert all(len(source.sha256) == 64 and source.address.startswith("https://") for source in SOURCES.values())
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "softpolytope"


@pytest.mark.parametrize("name", ["banana", "a9a"])
def test_damaged_files(tmp_path, name):
    """Cut, of another kind, with parts that lack or do not fit: each is told, with what to do."""
    path = tmp_path / f"{name}.npz"
    good = {"X": np.eye(4), "y": np.array([0, 1, 0, 1]), "train_index": [[0, 1]], "test_index": [[2, 3]]}
    np.savez(path, **good)
    whole = path.read_bytes()
    np.save(tmp_path / "plain.npy", np.eye(2))
    pickled = np.array([object()], dtype=object)
    contents = [b"", b"no archive", whole[:100], whole[:-30], (tmp_path / "plain.npy").read_bytes()]
    parts = [{"X": np.eye(4)}, good | {"train_index": [[0, 9]]}, good | {"X": pickled}]
    for change in (*contents, *parts):
        if isinstance(change, bytes):
            path.write_bytes(change)
        else:
            np.savez(path, **change)
        with pytest.raises(ContentError, match=rf"{name}\.npz is damaged or no file of a benchmark set\. Remove it"):
            load_benchmark(name, data_home=tmp_path)
    np.savez(path, **good)
    with pytest.raises(ValueError, match=f"{name} has the partitions 0 to 0; got 1"):
        load_benchmark(name, 1, tmp_path)
