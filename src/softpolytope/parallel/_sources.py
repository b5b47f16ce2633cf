"""Rows that are not in memory: files of arrays, Parquet files, Dask collections. They come in partitions.

Partitions are the source's own (chunks, row groups), or of a fixed size. Rows keep the order they have, and repeated
rows are not merged, unlike rows in memory. So what a fit gives depends on the partitions, and not on where they live.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from softpolytope.parallel._block_state import Raw

# Rows of a partition of a file without partitions: as many as fit into so many bytes, a power of two of them.
PARTITION_BYTES = 2**25
MAX_PARTITION_ROWS = 2**16
MIN_PARTITION_ROWS = 2**10


class Source(Protocol):
    """Rows in partitions."""

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        ...

    @property
    def n_features(self) -> int:
        """Number of columns."""
        ...

    @property
    def names(self) -> list[str] | None:
        """Names of the columns, if they have any."""
        ...

    @property
    def largest_bytes(self) -> int:
        """What the rows of the largest partition take as numbers; 0 if that is not known."""
        ...

    @property
    def is_dask(self) -> bool:
        """Whether the partitions are Dask's, and `load` is for this process only."""
        ...

    def load(self, partition: int) -> Raw:
        """Rows, labels and weights (or None) of a partition."""
        ...


@dataclass(frozen=True, slots=True)
class MemmapSlice:
    """An array in a file, mapped part by part: a map of all would count as memory until the system takes it back."""

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    is_by_column: bool = False  # in Fortran's order

    @classmethod
    def of(cls, array: np.memmap[Any, Any], name: str) -> "MemmapSlice":
        """The file behind a memory map."""
        is_by_row = array.flags.c_contiguous
        if array.filename is None or not (is_by_row or array.flags.f_contiguous) or not _is_whole(array):
            raise ValueError(
                f"{name} must be a whole memory map, as np.memmap or np.load(path, mmap_mode='r') give it, not a part "
                "or a transpose of one."
            )
        return cls(str(array.filename), array.dtype, array.shape, int(array.offset), not is_by_row)

    def read(self, start: int, stop: int) -> Any:
        """Rows start to stop, for as long as someone has them."""
        if start == stop:
            return np.empty((0, *self.shape[1:]), self.dtype)
        if self.is_by_column:
            # A copy, so that the map of the whole file, of which only these rows were touched, ends here.
            every = np.memmap(self.path, self.dtype, "r", self.offset, self.shape, "F")
            return np.array(every[start:stop], order="C")
        # Reading them into new memory took three times as long, most of it for pages that go back after the visit.
        offset = self.offset + start * math.prod(self.shape[1:]) * self.dtype.itemsize
        return np.asarray(np.memmap(self.path, self.dtype, "r", offset, (stop - start, *self.shape[1:])))


def _is_whole(array: np.memmap[Any, Any]) -> bool:
    """Whether a memory map is no view of another; a view has the file's name too, but not the offset."""
    return not isinstance(array.base, np.ndarray)


@dataclass(frozen=True)
class FileSource:
    """Arrays in files."""

    rows: MemmapSlice
    labels: Any  # a Stripe, or an array in memory
    weights: Any  # the same, or None

    names = None
    is_dask = False

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.rows.shape[1]

    @property
    def partition_rows(self) -> int:
        """Rows of every partition but the last."""
        most = max(PARTITION_BYTES // (8 * (self.n_features + 1)), 1)
        return min(max(1 << (most.bit_length() - 1), MIN_PARTITION_ROWS), MAX_PARTITION_ROWS)

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return -(-self.rows.shape[0] // self.partition_rows)

    @property
    def largest_bytes(self) -> int:
        """What the rows of the largest partition take as numbers."""
        return min(self.partition_rows, self.rows.shape[0]) * (self.n_features + 1) * 8

    def load(self, partition: int) -> Raw:
        """Rows, labels and weights of a partition."""
        start = partition * self.partition_rows
        stop = min(start + self.partition_rows, self.rows.shape[0])
        X, y, weights = (_part(item, start, stop) for item in (self.rows, self.labels, self.weights))
        return X, y, weights


def _part(item: Any, start: int, stop: int) -> Any:
    if item is None:
        return None
    return item.read(start, stop) if isinstance(item, MemmapSlice) else item[start:stop]


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file, or a folder of them; a row group is a partition."""

    groups: tuple[tuple[str, int, int], ...]  # file, number of the group in it, rows
    names: list[str]
    target: str
    weights: str | None

    is_dask = False

    @classmethod
    def of(cls, path: Path, target: Any, weights: Any) -> "ParquetSource":
        """Read what the files say about themselves."""
        if not isinstance(target, str) or not (weights is None or isinstance(weights, str)):
            raise ValueError(
                "with X a Parquet file, y is the name of its column of labels, and sample_weight that of its weights; "
                f"got y of type {type(target).__name__}, sample_weight of type {type(weights).__name__}."
            )
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"{path} is a folder without .parquet files.")
        parquet = _parquet()
        groups: list[tuple[str, int, int]] = []
        columns: list[str] | None = None
        for file in files:
            metadata = parquet.ParquetFile(file)
            found = list(metadata.schema_arrow.names)
            if columns is not None and found != columns:
                raise ValueError(
                    f"{file} has the columns {found}, and {files[0]} has {columns}; they must be the same."
                )
            columns = found
            counts = [metadata.metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
            groups.extend((str(file), group, count) for group, count in enumerate(counts) if count)
        columns = columns or []
        for name in (target, weights):
            if name is not None and name not in columns:
                raise ValueError(f"{path} has no column {name!r}; it has {', '.join(columns[:20])}.")
        names = [name for name in columns if name not in (target, weights)]
        if not groups or not names:
            raise ValueError(f"{path} has no rows, or no column but that of the labels.")
        return cls(tuple(groups), names, target, weights)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def n_partitions(self) -> int:
        """Number of row groups."""
        return len(self.groups)

    @property
    def largest_bytes(self) -> int:
        """What the rows of the largest row group take as numbers."""
        return max(count for _, _, count in self.groups) * (self.n_features + 1) * 8

    def load(self, partition: int) -> Raw:
        """Rows, labels and weights of a row group."""
        file, group, count = self.groups[partition]
        own = [self.target] if self.weights is None else [self.target, self.weights]
        table = _parquet().ParquetFile(file).read_row_group(group, columns=[*self.names, *own])
        X = np.empty((count, self.n_features))
        for number, name in enumerate(self.names):
            try:
                X[:, number] = table.column(name).to_numpy()
            except (ValueError, TypeError) as error:
                raise ValueError(f"column {name!r} of {file} holds no numbers: {error}") from error
        y = table.column(self.target).to_numpy()
        return X, y, None if self.weights is None else table.column(self.weights).to_numpy()


def _parquet() -> Any:
    try:
        return import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("Parquet files need the package pyarrow: pip install pyarrow.") from error


def open_source(X: Any, y: Any, sample_weight: Any, *, has_client: bool, is_limited: bool) -> Source | None:
    """Where rows come from, if that is not memory; raises on what cannot work, before any work is done."""
    given = {"X": X, "y": y, "sample_weight": sample_weight}
    if any(is_dask_collection(item) for item in given.values()):
        found: Source = import_module("softpolytope.parallel._dask_source").DaskSource.of(X, y, sample_weight)
        return found
    if isinstance(X, str | Path):
        path = Path(X)
        if not path.exists():
            raise ValueError(f"X is {str(X)!r}, and there is no such file or folder.")
        if path.suffix != ".npy":
            return ParquetSource.of(path, y, sample_weight)
        X = np.load(path, mmap_mode="r")
    elif not (isinstance(X, np.memmap) and (has_client or is_limited)):
        _check_is_plain(X, has_client=has_client, is_limited=is_limited)
        return None
    return _file_source(X, y, sample_weight, has_client=has_client)


def _file_source(X: Any, y: Any, sample_weight: Any, *, has_client: bool) -> FileSource:
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"X must be rows of numbers; the file holds an array of shape {X.shape} and type {X.dtype}.")
    if y is None:
        raise ValueError("y is needed: one label for each row of X.")
    labels, weights = (_in_file(item, name) for item, name in ((y, "y"), (sample_weight, "sample_weight")))
    for item, name in ((labels, "y"), (weights, "sample_weight")):
        if item is not None and item.shape != X.shape[:1]:
            raise ValueError(
                f"{name} must have one entry for each of the {len(X)} rows of X; its shape is {item.shape}."
            )
        if has_client and item is not None and not isinstance(item, MemmapSlice):
            raise ValueError(
                f"{name} is an array in memory, as long as X; workers read it from a file: give a memory map, "
                "np.load(path, mmap_mode='r')."
            )
    return FileSource(MemmapSlice.of(X, "X"), labels, weights)


def _in_file(item: Any, name: str) -> Any:
    """What is in a file as a stripe, anything else as an array."""
    if isinstance(item, str | Path):
        item = np.load(item, mmap_mode="r")
    if item is None:
        return None
    return MemmapSlice.of(item, name) if isinstance(item, np.memmap) else np.asarray(item)


def _check_is_plain(X: Any, *, has_client: bool, is_limited: bool) -> None:
    for is_given, name in ((has_client, "client"), (is_limited, "max_memory")):
        if is_given:
            raise ValueError(
                f"{name} is for rows that are not in memory: a Dask array or data frame, a memory map, a .npy or "
                f"Parquet file; X is a {type(X).__name__} in memory. Leave {name} out, or give X as one of these."
            )


def is_dask_collection(item: Any) -> bool:
    """Whether something is a Dask array, data frame or series; Dask is not imported to find out."""
    if "dask" not in sys.modules or isinstance(item, np.ndarray | str | Path | Sequence):
        return False
    return bool(sys.modules["dask"].is_dask_collection(item))
