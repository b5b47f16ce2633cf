"""Sources of rows that are not in memory: array files, Parquet files, Dask collections.

Partitions are those of the source (chunks, row groups), or of a fixed size. Unlike rows in memory, rows keep their
order and equal ones are not merged. A fit therefore depends on the partitions, but not on where they are evaluated.
"""

import math
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softpolytope.data._checks import is_dask_collection
from softpolytope.parallel import Raw, Source

# A partition of a file without partitions has as many rows as fit into so many bytes, rounded to a power of two.
PARTITION_BYTES = 2**25
MAX_PARTITION_ROWS = 2**16
MIN_PARTITION_ROWS = 2**10


@dataclass(frozen=True, slots=True)
class MemmapSlice:
    """Array in a file, mapped slice by slice, because pages of a map count as memory until the system drops them."""

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    is_by_column: bool = False  # in Fortran order

    @classmethod
    def from_memmap(cls, array: np.memmap[Any, Any], name: str) -> "MemmapSlice":
        """Return the file behind a memory map."""
        is_by_row = array.flags.c_contiguous
        if array.filename is None or not (is_by_row or array.flags.f_contiguous) or not _is_whole(array):
            raise ValueError(
                f"{name} is a slice or a transpose of a memory map. Use the complete map, as returned by np.memmap or "
                "np.load(path, mmap_mode='r')."
            )
        return cls(str(array.filename), array.dtype, array.shape, int(array.offset), not is_by_row)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows from start to stop, mapped only as long as they are referenced."""
        if start == stop:
            return np.empty((0, *self.shape[1:]), self.dtype)
        if self.is_by_column:
            # A copy, so that the map of the whole file can be closed.
            every = np.memmap(self.path, self.dtype, "r", self.offset, self.shape, "F")
            return np.array(every[start:stop], order="C")
        # Reading into new memory took three times as long, mostly for allocating pages.
        offset = self.offset + start * math.prod(self.shape[1:]) * self.dtype.itemsize
        return np.asarray(np.memmap(self.path, self.dtype, "r", offset, (stop - start, *self.shape[1:])))


# An array in a file or in memory.
Column: TypeAlias = MemmapSlice | NDArray[Any]


def _is_whole(array: np.memmap[Any, Any]) -> bool:
    """Return whether a memory map is not a view of another one, which has its file name but not its offset."""
    return not isinstance(array.base, np.ndarray)


@dataclass(frozen=True)
class FileSource:
    """Rows in array files."""

    rows: MemmapSlice
    labels: Column
    weights: Column | None

    names = None
    delayed = None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.rows.shape[1]

    @property
    def partition_rows(self) -> int:
        """Number of rows of every partition except the last."""
        most = max(PARTITION_BYTES // (8 * (self.n_features + 1)), 1)
        return min(max(1 << (most.bit_length() - 1), MIN_PARTITION_ROWS), MAX_PARTITION_ROWS)

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return -(-self.rows.shape[0] // self.partition_rows)

    @property
    def largest_bytes(self) -> int:
        """Size of the largest partition as doubles."""
        return min(self.partition_rows, self.rows.shape[0]) * (self.n_features + 1) * 8

    def load(self, partition: int) -> Raw:
        """Rows, labels and weights of a partition."""
        start = partition * self.partition_rows
        stop = min(start + self.partition_rows, self.rows.shape[0])
        X, y, weights = (_slice(item, start, stop) for item in (self.rows, self.labels, self.weights))
        return X, y, weights


def _slice(item: Column | None, start: int, stop: int) -> NDArray[Any] | None:
    """Return some entries of an array in memory or in a file."""
    if item is None:
        return None
    return item.read(start, stop) if isinstance(item, MemmapSlice) else item[start:stop]


@dataclass(frozen=True)
class ParquetSource:
    """Rows in a Parquet file, or a folder of them; a row group is a partition."""

    groups: tuple[tuple[str, int, int], ...]  # file, number of the group in it, rows
    names: list[str]
    target: str
    weights: str | None

    delayed = None

    @classmethod
    def from_path(cls, path: Path, target: object, weights: object) -> "ParquetSource":
        """Read the metadata of the files."""
        if not isinstance(target, str) or not (weights is None or isinstance(weights, str)):
            raise ValueError(
                "If X is a Parquet file, y must be the name of its label column and sample_weight that of its weight "
                f"column; got y of type {type(target).__name__}, sample_weight of type {type(weights).__name__}."
            )
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise ValueError(
                f"{path} is a folder without .parquet files. Pass a Parquet file, or a folder that has some."
            )
        parquet = _parquet()
        groups: list[tuple[str, int, int]] = []
        columns: list[str] | None = None
        for file in files:
            metadata = parquet.ParquetFile(file)
            found = list(metadata.schema_arrow.names)
            if columns is not None and found != columns:
                raise ValueError(
                    f"{file} has the columns {found}, but {files[0]} has {columns}. All files need the same columns."
                )
            columns = found
            counts = [metadata.metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
            groups.extend((str(file), group, count) for group, count in enumerate(counts) if count)
        columns = columns or []
        for name in (target, weights):
            if name is not None and name not in columns:
                raise ValueError(f"{path} has no column {name!r}; its columns are {', '.join(columns[:20])}.")
        names = [name for name in columns if name not in (target, weights)]
        if not groups or not names:
            raise ValueError(f"{path} has no rows, or no columns except labels and weights. Check the file.")
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
        """Size of the largest row group as doubles."""
        return max(count for _, _, count in self.groups) * (self.n_features + 1) * 8

    def load(self, partition: int) -> Raw:
        """Return rows, labels and weights of a row group."""
        file, group, count = self.groups[partition]
        own = [self.target] if self.weights is None else [self.target, self.weights]
        table = _parquet().ParquetFile(file).read_row_group(group, columns=[*self.names, *own])
        X = np.empty((count, self.n_features))
        for number, name in enumerate(self.names):
            try:
                X[:, number] = table.column(name).to_numpy()
            except (ValueError, TypeError) as error:
                raise ValueError(
                    f"Column {name!r} of {file} is not numeric: {error}. Encode it first, or leave it out."
                ) from error
        y = table.column(self.target).to_numpy()
        return X, y, None if self.weights is None else table.column(self.weights).to_numpy()


def _parquet() -> Any:  # pyarrow is untyped
    try:
        return import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("Parquet files require pyarrow, which is not installed: pip install pyarrow.") from error


def open_source(X: object, y: object, sample_weight: object, *, has_client: bool, is_limited: bool) -> Source | None:
    """Return the source of rows that are not in memory, None for others; raise ValueError if it is unusable."""
    given = {"X": X, "y": y, "sample_weight": sample_weight}
    if any(is_dask_collection(item) for item in given.values()):
        found: Source = import_module("softpolytope.data._dask_source").DaskSource.from_collections(X, y, sample_weight)
        return found
    if isinstance(X, str | Path):
        path = Path(X)
        if not path.exists():
            raise ValueError(f"X is {str(X)!r}, but there is no such file or folder. Check the path.")
        if path.suffix != ".npy":
            return ParquetSource.from_path(path, y, sample_weight)
        return _open_arrays(np.load(path, mmap_mode="r"), y, sample_weight, has_client=has_client)
    if isinstance(X, np.memmap) and (has_client or is_limited):
        return _open_arrays(X, y, sample_weight, has_client=has_client)
    for is_given, name in ((has_client, "client"), (is_limited, "max_memory")):
        if is_given:
            raise ValueError(
                f"{name} requires rows that are not in memory, but X is a {type(X).__name__} in memory. Leave {name} "
                "out, or pass X as a Dask array or data frame, a memory map, or a .npy or Parquet file."
            )
    return None


def _open_arrays(X: np.memmap[Any, Any], y: object, sample_weight: object, *, has_client: bool) -> FileSource:
    """Return the source of rows in array files."""
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(
            f"X must be a numeric array of two dimensions; its file has shape {X.shape} and type {X.dtype}."
        )
    labels, weights = _open_column(y, "y"), _open_column(sample_weight, "sample_weight")
    if labels is None:
        raise ValueError("y is missing. Pass one label for each row of X.")
    for item, name in ((labels, "y"), (weights, "sample_weight")):
        if item is not None and item.shape != X.shape[:1]:
            raise ValueError(
                f"{name} must have one entry for each of the {len(X)} rows of X; its shape is {item.shape}."
            )
        if has_client and item is not None and not isinstance(item, MemmapSlice):
            raise ValueError(
                f"{name} is an array in memory, but workers read it from a file. Pass a memory map, "
                "np.load(path, mmap_mode='r')."
            )
    return FileSource(MemmapSlice.from_memmap(X, "X"), labels, weights)


def _open_column(item: object, name: str) -> Column | None:
    """Return a file or a memory map as a slice, anything else as an array."""
    if isinstance(item, str | Path):
        item = np.load(item, mmap_mode="r")
    if item is None:
        return None
    return MemmapSlice.from_memmap(item, name) if isinstance(item, np.memmap) else np.asarray(item)
