"""Downloads of the benchmark sets from public servers, checked by a hash of their rows and labels."""

import bz2
import hashlib
import io
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from softpolytope._files import atomic_write
from softpolytope._typing import FloatArray
from softpolytope.exceptions import ContentError

N_PARTITIONS = 10
MAX_FILE_BYTES = 50_000_000
MAX_UNPACKED_BYTES = 200_000_000
TIMEOUT = 30.0  # seconds

Fetch: TypeAlias = Callable[[str], bytes]
Arrays: TypeAlias = dict[str, NDArray[np.generic]]

# The ASCII files of the IDA repository (Raetsch), realizations 1 to 10 of each set.
_IDA = (
    "https://raw.githubusercontent.com/fernando2393/Relevance-Vector-Machine/"
    "b223cddea9e0563e3ccab6f1da16af917a6f2a95/Classification/datasets/{name}/{name}_{part}_{kind}_{number}.asc"
)
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/{file}"


@dataclass(frozen=True, slots=True)
class Source:
    """A set on a public server."""

    read: Callable[[Fetch], Arrays]  # fetches its files and returns their arrays
    sha256: str  # of its rows and labels
    address: str  # for messages


def cache_folder() -> Path:
    """Return the folder for downloaded files."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "softpolytope"


def download(name: str, folder: Path, sources: Mapping[str, Source] | None = None) -> Path:
    """Return the file of a set in a folder, downloaded if it is missing; raise FileNotFoundError if it cannot be."""
    sources = SOURCES if sources is None else sources
    path = folder / f"{name}.npz"
    if path.is_file():
        return path
    if name not in sources:
        raise FileNotFoundError(
            f"{name} cannot be downloaded: no public server has its fixed partitions. Name a folder that has "
            f"{path.name} (data_home, --data-home, or the variable SOFTPOLYTOPE_DATA)."
        )
    source = sources[name]
    try:
        arrays = source.read(fetch)
    except (OSError, ValueError, EOFError) as error:
        raise FileNotFoundError(
            f"{name} could not be downloaded from {source.address} ({error}). Try again with a network, or name a "
            f"folder that has {path.name} (data_home, --data-home, or the variable SOFTPOLYTOPE_DATA)."
        ) from error
    digest = content_digest(arrays)
    if digest != source.sha256:
        raise ContentError(
            f"{name} as downloaded from {source.address} is not the expected set: its rows have the sha256 "
            f"{digest} instead of {source.sha256}. Nothing was stored."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return path


def fetch(address: str) -> bytes:
    """Return the bytes at an address."""
    if not address.startswith(("https://", "http://127.0.0.1:")):
        raise ValueError(f"{address} is not the address of a public server.")
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:  # noqa: S310  # checked above
            content: bytes = answer.read(MAX_FILE_BYTES + 1)
    except urllib.error.HTTPError as error:
        raise OSError(f"{address}: {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise OSError(f"{error.reason}") from error
    if len(content) > MAX_FILE_BYTES:
        raise OSError(f"{address} has more than {MAX_FILE_BYTES} bytes")
    return content


def read_ida(fetch: Fetch, name: str, address: str = _IDA, n_partitions: int = N_PARTITIONS) -> Arrays:
    """Return the rows of a set in ASCII files once, and for each partition the indices of its rows."""
    parts: dict[tuple[str, int], tuple[FloatArray, NDArray[np.int8]]] = {}
    for number in range(n_partitions):
        for part in ("train", "test"):
            rows, labels = (
                np.loadtxt(
                    io.BytesIO(fetch(address.format(name=name, part=part, kind=kind, number=number + 1))), ndmin=2
                )
                for kind in ("data", "labels")
            )
            parts[part, number] = (rows, (labels[:, 0] > 0.0).astype(np.int8))
    X = np.concatenate([parts[part, 0][0] for part in ("train", "test")])
    y = np.concatenate([parts[part, 0][1] for part in ("train", "test")])
    positions: dict[bytes, list[int]] = {}
    for position, (row, label) in enumerate(zip(X, y, strict=True)):
        positions.setdefault(row.tobytes() + bytes([label]), []).append(position)
    indices: dict[str, list[list[int]]] = {"train": [], "test": []}
    for number in range(n_partitions):
        # Equal rows are interchangeable; each is used once in a partition.
        left = {key: list(reversed(where)) for key, where in positions.items()}
        for part in ("train", "test"):
            try:
                keys = [row.tobytes() + bytes([label]) for row, label in zip(*parts[part, number], strict=True)]
                indices[part].append([left[key].pop() for key in keys])
            except (KeyError, IndexError, ValueError):
                raise ContentError(f"Partition {number} of {name} does not have the rows of partition 0.") from None
    return {"X": X, "y": y, **{f"{part}_index": np.array(index) for part, index in indices.items()}}


def read_libsvm(fetch: Fetch, files: tuple[str, str], n_features: int, address: str = _LIBSVM) -> Arrays:
    """Return the rows of a training and a test file in LIBSVM format; rows of zeros and ones stay sparse."""
    arrays: Arrays = {}
    for part, file in zip(("train", "test"), files, strict=True):
        raw = fetch(address.format(file=file))
        text = bz2.BZ2File(io.BytesIO(raw)).read(MAX_UNPACKED_BYTES) if file.endswith(".bz2") else raw
        rows, labels = load_svmlight_file(io.BytesIO(text), n_features=n_features, zero_based=False)
        arrays[f"y_{part}"] = (labels > 0.0).astype(np.int8)
        rows.sort_indices()
        if (rows.data == 1.0).all():
            arrays[f"{part}_indices"], arrays[f"{part}_indptr"] = rows.indices, rows.indptr
            arrays["n_features"] = np.array(n_features)
        else:
            arrays[f"X_{part}"] = rows.toarray().astype(np.float32)
    return arrays


def content_digest(arrays: Mapping[str, NDArray[np.generic]]) -> str:
    """Return the sha256 of all partitions, row by row as a user gets them, whatever the layout of the files."""
    digest = hashlib.sha256()
    if "train_index" in arrays:
        for train, test in zip(arrays["train_index"], arrays["test_index"], strict=True):
            for rows in (train, test):
                _hash_values(digest, arrays["X"][rows], "<f8")
                _hash_values(digest, arrays["y"][rows], "<i8")
        return digest.hexdigest()
    for name in sorted(arrays):
        is_single = arrays[name].dtype == np.float32
        # Files with six decimals, stored in single precision: hash the decimals.
        values = np.rint(arrays[name].astype(np.float64) * 1e6) if is_single else arrays[name]
        _hash_values(digest, values, "<f8" if name.startswith("X_") else "<i8")
    return digest.hexdigest()


def _hash_values(digest: "hashlib._Hash", values: NDArray[np.generic], dtype: str) -> None:
    # Adding zero makes -0.0 and 0.0 the same bytes.
    digest.update(np.ascontiguousarray(values.astype(dtype) + 0).astype(dtype).tobytes())


def _ida(name: str, sha256: str) -> Source:
    folder = name.replace("_", "-")
    return Source(lambda fetch: read_ida(fetch, folder), sha256, _IDA.split("{", maxsplit=1)[0])


def _libsvm(files: tuple[str, str], n_features: int, sha256: str) -> Source:
    return Source(lambda fetch: read_libsvm(fetch, files, n_features), sha256, _LIBSVM.split("{", maxsplit=1)[0])


SOURCES = {
    "banana": _ida("banana", "eeabb8f8b34df16e4ae12e430fda6abc9ded0413fcf2d93c46119c4495af4f61"),
    "breast_cancer": _ida("breast_cancer", "03230a51ea23ca8e6485da569be4a49f7ee192ec0de4b04f8ea95a4557cb6c48"),
    "titanic": _ida("titanic", "15560e388dfb13df34add9c8f85e87a275852e6ac05ac99139a30d2ee347d808"),
    "waveform": _ida("waveform", "ced1227e4109274c62943c2d1e04553d2e98a73189237d5e4082421f677d3b02"),
    "german": _ida("german", "98894b89fb27f08416019d2fcfb3874b59404aca0fc92e124a4d353b8a63ae7c"),
    "image": _ida("image", "bcc497e51ed45787c5c5f8eb55db43e5b2751df3e59ff4abbaeced0509f9baa0"),
    "ijcnn1": _libsvm(
        ("ijcnn1.bz2", "ijcnn1.t.bz2"), 22, "3edfbd55f13c844eeefec811a5a804d2b2bb53dbd17305eb3fa950f509663f92"
    ),
    "a9a": _libsvm(("a9a", "a9a.t"), 123, "e874e859b3ff802bfe6646552a07b0310d2e3f94c40827c4b80ac1178f5ab349"),
}
