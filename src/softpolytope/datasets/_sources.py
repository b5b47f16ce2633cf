"""Where the benchmark sets are on public servers, and how their files become the fixed partitions."""

import bz2
import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from softpolytope.exceptions import ContentError

N_PARTITIONS = 10
MAX_TEXT = 200_000_000  # bytes
Fetch = Callable[[str], bytes]
Arrays = dict[str, NDArray[Any]]

# The ascii files of the IDA repository (Raetsch), realizations 1 to 10 of each set.
_ASCII = (
    "https://raw.githubusercontent.com/fernando2393/Relevance-Vector-Machine/"
    "b223cddea9e0563e3ccab6f1da16af917a6f2a95/Classification/datasets/{name}/{name}_{part}_{kind}_{number}.asc"
)
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/{file}"


@dataclass(frozen=True, slots=True)
class Source:
    """Addresses of a set, what makes arrays of them, and the sha256 of its rows and labels."""

    read: Callable[[Fetch], Arrays]
    sha256: str
    address: str  # for messages


def ascii_partitions(fetch: Fetch, name: str, address: str = _ASCII, n_partitions: int = N_PARTITIONS) -> Arrays:
    """Rows once, and for each partition the numbers of its rows."""
    parts: dict[tuple[str, int], tuple[NDArray[Any], NDArray[Any]]] = {}
    for number in range(1, n_partitions + 1):
        for part in ("train", "test"):
            text = [
                fetch(address.format(name=name, part=part, kind=kind, number=number)) for kind in ("data", "labels")
            ]
            rows, labels = (np.loadtxt(io.BytesIO(item), ndmin=2) for item in text)
            parts[part, number - 1] = (rows, (labels[:, 0] > 0.0).astype(np.int8))
    X, y = (np.concatenate([parts[part, 0][side] for part in ("train", "test")]) for side in (0, 1))
    places: dict[bytes, list[int]] = {}
    for place, (row, label) in enumerate(zip(X, y, strict=True)):
        places.setdefault(row.tobytes() + bytes([label]), []).append(place)
    found: dict[str, list[list[int]]] = {"train": [], "test": []}
    for number in range(n_partitions):
        # Equal rows are interchangeable; each is used once in a partition.
        left = {key: list(reversed(where)) for key, where in places.items()}
        for part in ("train", "test"):
            rows, labels = parts[part, number]
            try:
                keys = [row.tobytes() + bytes([label]) for row, label in zip(rows, labels, strict=True)]
                found[part].append([left[key].pop() for key in keys])
            except (KeyError, IndexError, ValueError):
                raise ContentError(f"partition {number} of {name} is not made of the rows of partition 0.") from None
    return {"X": X, "y": y, **{f"{part}_index": np.array(index) for part, index in found.items()}}


def libsvm_split(fetch: Fetch, files: tuple[str, str], n_features: int, address: str = _LIBSVM) -> Arrays:
    """Rows of two files in LIBSVM format; zeros and ones stay sparse."""
    arrays: Arrays = {}
    for part, file in zip(("train", "test"), files, strict=True):
        raw = fetch(address.format(file=file))
        text = bz2.BZ2File(io.BytesIO(raw)).read(MAX_TEXT) if file.endswith(".bz2") else raw
        rows, labels = load_svmlight_file(io.BytesIO(text), n_features=n_features, zero_based=False)
        arrays[f"y_{part}"] = (labels > 0.0).astype(np.int8)
        rows.sort_indices()
        if (rows.data == 1.0).all():
            arrays[f"{part}_indices"], arrays[f"{part}_indptr"] = rows.indices, rows.indptr
            arrays["n_features"] = np.array(n_features)
        else:
            arrays[f"X_{part}"] = rows.toarray().astype(np.float32)
    return arrays


def content_digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """The sha256 of all partitions, row by row as a user gets them, whatever the files look like."""
    digest = hashlib.sha256()
    if "train_index" in arrays:
        for train, test in zip(arrays["train_index"], arrays["test_index"], strict=True):
            for rows in (train, test):
                _add(digest, arrays["X"][rows], "<f8")
                _add(digest, arrays["y"][rows], "<i8")
        return digest.hexdigest()
    for name in sorted(arrays):
        is_single = arrays[name].dtype == np.float32
        # Files with six digits, kept in single precision: the digits count.
        values = np.rint(arrays[name].astype(np.float64) * 1e6) if is_single else arrays[name]
        _add(digest, values, "<f8" if name.startswith("X_") else "<i8")
    return digest.hexdigest()


def _add(digest: Any, values: NDArray[Any], dtype: str) -> None:
    # Adding zero makes -0.0 and 0.0 the same bytes.
    digest.update(np.ascontiguousarray(values.astype(dtype) + 0).astype(dtype).tobytes())


def _ida(name: str, sha256: str) -> Source:
    folder = name.replace("_", "-")
    return Source(lambda fetch: ascii_partitions(fetch, folder), sha256, _ASCII.split("{", maxsplit=1)[0])


def _libsvm(files: tuple[str, str], n_features: int, sha256: str) -> Source:
    return Source(lambda fetch: libsvm_split(fetch, files, n_features), sha256, _LIBSVM.split("{", maxsplit=1)[0])


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
