"""The benchmark sets of the paper and a few more with their fixed partitions, from a folder or a public server."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from softpolytope._typing import CountArray, FloatArray
from softpolytope.datasets._download import cache_folder, download
from softpolytope.exceptions import ContentError

if TYPE_CHECKING:
    from numpy.lib.npyio import NpzFile

BENCHMARK_SETS = (
    "banana", "breast_cancer", "titanic", "waveform", "german", "image", "ijcnn1", "a9a",  # the paper's
    "thyroid", "ringnorm", "splice", "ripley", "fourclass", "cod_rna",
)  # fmt: skip
VARIABLE = "SOFTPOLYTOPE_DATA"


class Split(NamedTuple):
    """Training rows and test rows; labels are 0 and 1."""

    X_train: FloatArray | sparse.csr_array
    y_train: CountArray
    X_test: FloatArray | sparse.csr_array
    y_test: CountArray


def load_benchmark(name: str, partition: int = 0, data_home: str | Path | None = None) -> Split:
    """Read one partition of a benchmark set.

    Parameters
    ----------
    name : str
        One of `BENCHMARK_SETS`.
    partition : int
        From 0; sets with one given split have only 0.
    data_home : str or Path, optional
        The folder with `<name>.npz`; by default the one that the environment variable SOFTPOLYTOPE_DATA names. If
        neither is given, one of the paper's eight sets is downloaded once from a public server, checked by the sha256
        of its rows, and stored in the user's cache folder. No server has the partitions of the other sets.

    Returns
    -------
    Split
        X_train, y_train, X_test, y_test; X is CSR for a9a.

    Examples
    --------
    >>> from softpolytope.datasets import load_benchmark
    >>> try:
    ...     load_benchmark("banana", data_home="no such folder")
    ... except FileNotFoundError as error:
    ...     print(str(error)[:42])
    There is no file banana.npz in 'no such fo
    """
    path = benchmark_path(name, data_home)
    n_known = _count_partitions(path)
    if not 0 <= partition < n_known:
        raise ValueError(f"{name} has the partitions 0 to {n_known - 1}; got {partition}.")
    with _open_arrays(path) as file:
        if "train_index" in file:
            X, y = file["X"].astype(np.float64), file["y"].astype(np.int64)
            train, test = file["train_index"][partition], file["test_index"][partition]
            return Split(X[train], y[train], X[test], y[test])
        labels = file["y_train"].astype(np.int64), file["y_test"].astype(np.int64)
        if "X_train" in file:
            return Split(file["X_train"].astype(np.float64), labels[0], file["X_test"].astype(np.float64), labels[1])
        rows = [_read_sparse(file, part, len(y)) for part, y in zip(("train", "test"), labels, strict=True)]
        return Split(rows[0], labels[0], rows[1], labels[1])


def benchmark_path(name: str, data_home: str | Path | None = None) -> Path:
    """Return the file of a set: in the given folder, or in the cache folder after a download."""
    if name not in BENCHMARK_SETS:
        raise ValueError(f"name must be one of {', '.join(BENCHMARK_SETS)}; got {name!r}.")
    folder = data_home if data_home is not None else os.environ.get(VARIABLE)
    if not folder:
        return download(name, cache_folder())
    path = Path(folder) / f"{name}.npz"
    # A folder that the user names is read but never written to.
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file {path.name} in {str(folder)!r}. Set data_home to another folder, or unset it to "
            "download the set."
        )
    return path


def n_partitions(name: str, data_home: str | Path | None = None) -> int:
    """Return the number of partitions of a set."""
    return _count_partitions(benchmark_path(name, data_home))


def _count_partitions(path: Path) -> int:
    with _open_arrays(path) as file:
        return len(file["train_index"]) if "train_index" in file else 1


@contextmanager
def _open_arrays(path: Path) -> "Iterator[NpzFile]":
    """Open a file of arrays; raise ContentError for whatever NumPy raises if it is damaged or of another kind."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            yield file
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        raise ContentError(
            f"{path} is damaged or is not a benchmark set. Remove it; if no folder is set, the paper's sets are "
            "downloaded."
        ) from error


def _read_sparse(file: "NpzFile", part: str, n_rows: int) -> sparse.csr_array:
    """Return sparse rows from the positions of their ones."""
    indices = file[f"{part}_indices"].astype(np.int32)
    entries = (np.ones(len(indices)), indices, file[f"{part}_indptr"].astype(np.int32))
    return sparse.csr_array(entries, shape=(n_rows, int(file["n_features"])))
