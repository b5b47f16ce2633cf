"""Downloads of benchmark sets, from a server on this machine."""

import functools
import http.server
import threading
from dataclasses import replace

import numpy as np
import pytest

from softpolytope.datasets import load_benchmark
from softpolytope.datasets._download import (
    SOURCES,
    Source,
    cache_folder,
    content_digest,
    download,
    fetch,
    read_ida,
    read_libsvm,
)
from softpolytope.exceptions import ContentError


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server without a log."""

    def log_message(self, *_):
        """Write no log."""


@pytest.fixture
def server(tmp_path):
    """A folder, and the address at which a server on this machine serves its files."""
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
    """ASCII files of each partition give the same rows in the same order, even where rows are equal."""
    folder, address = server
    X, y = rng.integers(0, 3, size=(20, 2)).astype(float), rng.integers(0, 2, 20)
    orders = [rng.permutation(20) for _ in range(3)]
    for number, order in enumerate(orders, 1):
        for part, rows in (("train", order[:8]), ("test", order[8:])):
            np.savetxt(folder / f"fruit_{part}_data_{number}.asc", X[rows])
            np.savetxt(folder / f"fruit_{part}_labels_{number}.asc", 2.0 * y[rows] - 1.0)
    pattern = address + "{name}_{part}_{kind}_{number}.asc"
    arrays = {"X": X, "y": y, "train_index": [o[:8] for o in orders], "test_index": [o[8:] for o in orders]}
    source = Source(lambda fetch: read_ida(fetch, "fruit", pattern, 3), content_digest(arrays), address)
    path = download("banana", tmp_path / "cache", {"banana": source})
    monkeypatch.setenv("SOFTPOLYTOPE_DATA", str(path.parent))
    for number, order in enumerate(orders):
        split = load_benchmark("banana", number)
        assert np.array_equal(split.X_train, X[order[:8]])
        assert np.array_equal(split.y_test, y[order[8:]])
    # A file that exists is not downloaded again.
    assert download("banana", tmp_path / "cache", {"banana": replace(source, sha256="")}) == path
    with pytest.raises(ContentError, match="is not the expected set: its rows have the sha256"):
        download("banana", tmp_path / "other", {"banana": replace(source, sha256="0")})
    assert not (tmp_path / "other").exists()


def test_libsvm_files_are_download(server, tmp_path):
    """Zeros and ones stay sparse, and other numbers are stored in single precision, as in a folder."""
    folder, address = server
    (folder / "a").write_text("+1 1:1 4:1\n-1 2:1\n")
    (folder / "a.t").write_text("-1\n+1 3:1\n")
    (folder / "b").write_text("+1 1:0.5 2:-0.123456\n")
    for name, files, n_features in (("a9a", ("a", "a.t"), 4), ("ijcnn1", ("b", "b"), 2)):
        arrays = read_libsvm(fetch, files, n_features, address + "{file}")
        read = functools.partial(read_libsvm, files=files, n_features=n_features, address=address + "{file}")
        download(name, tmp_path, {name: Source(read, content_digest(arrays), address)})
    split = load_benchmark("a9a", data_home=tmp_path)
    assert split.X_train.toarray().tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    assert split.y_test.tolist() == [0, 1]
    assert load_benchmark("ijcnn1", data_home=tmp_path).X_test == pytest.approx(np.array([[0.5, -0.123456]]))


def test_failed_downloads_say_what_to_do(server, tmp_path):
    """A missing file, an unreachable server and an address of another kind each have their message."""
    folder, address = server
    source = Source(lambda fetch: {"X": np.frombuffer(fetch(address + "none"))}, "", address)
    with pytest.raises(
        FileNotFoundError, match=r"could not be downloaded .*404.* or name a folder that has image\.npz"
    ):
        download("image", tmp_path / "cache", {"image": source})
    nowhere = replace(source, read=lambda fetch: {"X": np.frombuffer(fetch("http://127.0.0.1:9/none"))})
    with pytest.raises(FileNotFoundError, match="Try again with a network"):
        download("image", tmp_path / "cache", {"image": nowhere})
    with pytest.raises(ValueError, match="is not the address of a public server"):
        fetch("file:///etc/hostname")
    (folder / "x_train_data_1.asc").write_text("1 2\n")
    with pytest.raises(FileNotFoundError, match="404"):
        download("image", tmp_path, {"image": replace(source, read=_one_partition(address))})


def _one_partition(address):
    return lambda fetch: read_ida(fetch, "x", address + "{name}_{part}_{kind}_{number}.asc", 1)


def test_partitions_must_be_of_the_same_rows():
    """Partitions with different rows are refused."""
    files = {"train_data_1": "1\n", "test_data_1": "2\n", "train_data_2": "1\n", "test_data_2": "3\n"}

    def fetch(address):
        return files.get(address, "1\n").encode()

    with pytest.raises(ContentError, match="Partition 1 of x does not have the rows of partition 0"):
        read_ida(fetch, "x", "{part}_{kind}_{number}", 2)


def test_known_sources(monkeypatch, tmp_path):
    """The paper's eight sets have a source and a digest each; the cache is in the user's folder."""
    eight = {"banana", "breast_cancer", "titanic", "waveform", "german", "image", "ijcnn1", "a9a"}
    assert set(SOURCES) == eight
    assert all(len(source.sha256) == 64 and source.address.startswith("https://") for source in SOURCES.values())
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "softpolytope"
