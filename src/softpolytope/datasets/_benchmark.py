"""The benchmark sets of the paper and a few more with their fixed partitions, from a folder or a public server."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope.datasets._download import cache_folder, downloaded
from softpolytope.exceptions import ContentError

BENCHMARK_SETS = (
    "banana", "breast_cancer", "titanic", "waveform", "german", "image", "ijcnn1", "a9a",  # the paper's
    "thyroid", "ringnorm", "splice", "ripley", "fourclass", "cod_rna",
)  # fmt: skip
VARIABLE = "SOFTPOLYTOPE_DATA"


class Split(NamedTuple):
    """Rows to learn from and rows to test on; labels are 0 and 1."""

    X_train: Any
    y_train: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]


def load_benchmark(name: str, partition: int = 0, data_home: str | Path | None = None) -> Split:
    """Read one partition of a benchmark set.

    Parameters
    ----------
    name : str
        One of `BENCHMARK_SETS`.
    partition : int
        From 0; sets with one given split have only 0.
    data_home : str or Path, optional
        The folder with `<name>.npz`; by default the one that the environment variable SOFTPOLYTOPE_DATA names. Where
        neither is given, a set is downloaded once from a public server, its rows are checked by their sha256, and it
        is kept in the user's cache folder. Of the paper's eight sets only: no server has the partitions of the others.

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
    there is no file banana.npz in 'no such fo
    """
    path = benchmark_path(name, data_home)
    n_known = _n_partitions(path)
    if not 0 <= partition < n_known:
        raise ValueError(f"{name} has the partitions 0 to {n_known - 1}; got {partition}.")
    with _arrays(path) as file:
        if "train_index" in file:
            X, y = file["X"].astype(np.float64), file["y"].astype(np.int64)
            train, test = file["train_index"][partition], file["test_index"][partition]
            return Split(X[train], y[train], X[test], y[test])
        labels = file["y_train"].astype(np.int64), file["y_test"].astype(np.int64)
        if "X_train" in file:
            return Split(file["X_train"].astype(np.float64), labels[0], file["X_test"].astype(np.float64), labels[1])
        rows = [_ones(file, part, len(y)) for part, y in zip(("train", "test"), labels, strict=True)]
        return Split(rows[0], labels[0], rows[1], labels[1])


def benchmark_path(name: str, data_home: str | Path | None = None) -> Path:
    """The file of a set: in the folder named, or in the cache folder after a download."""
    if name not in BENCHMARK_SETS:
        raise ValueError(f"name must be one of {', '.join(BENCHMARK_SETS)}; got {name!r}.")
    folder = data_home if data_home is not None else os.environ.get(VARIABLE)
    if not folder:
        return downloaded(name, cache_folder())
    path = Path(folder) / f"{name}.npz"
    # A folder that the user names is read and never written to.
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file {path.name} in {str(folder)!r}; name another folder (data_home), or none to download it."
        )
    return path


def n_partitions(name: str, data_home: str | Path | None = None) -> int:
    """How many partitions a set has."""
    return _n_partitions(benchmark_path(name, data_home))


def _n_partitions(path: Path) -> int:
    with _arrays(path) as file:
        return len(file["train_index"]) if "train_index" in file else 1


@contextmanager
def _arrays(path: Path) -> Iterator[Any]:
    """The arrays of a file; one that is damaged, or of another kind, makes NumPy raise nearly anything."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            yield file
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        raise ContentError(
            f"{path} is damaged or no file of a benchmark set. Remove it; without a folder named, the paper's sets are "
            "downloaded."
        ) from error


def _ones(file: Any, part: str, n_rows: int) -> sparse.csr_array:
    """Rows of zeros and ones, of which the file tells where the ones are."""
    indices = file[f"{part}_indices"].astype(np.int32)
    entries = (np.ones(len(indices)), indices, file[f"{part}_indptr"].astype(np.int32))
    return sparse.csr_array(entries, shape=(n_rows, int(file["n_features"])))
