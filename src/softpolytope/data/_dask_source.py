"""Rows in Dask collections: checks before any work, and partitions for workers or this process."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from softpolytope.data._checks import is_dask_collection
from softpolytope.parallel import Raw
from softpolytope.parallel.dask import Collection


@dataclass(frozen=True)
class DaskSource:
    """Rows in the chunks of arrays or the partitions of data frames."""

    delayed: list[Any]  # (partitions,), each computes (rows, labels, weights)
    n_features: int
    names: list[str] | None
    largest_bytes: int

    @classmethod
    def from_collections(cls, X: Collection, y: Collection, sample_weight: Collection) -> "DaskSource":
        """Check the collections without computing anything."""
        given = {"X": X, "y": y, "sample_weight": sample_weight}
        for name, item in given.items():
            if not is_dask_collection(item) and not (name == "sample_weight" and item is None):
                raise ValueError(
                    f"X, y and sample_weight must all be Dask collections if one is, but {name} is a "
                    f"{type(item).__name__}. Convert it with dask.array.from_array({name}, chunks=...)."
                )
        names: list[str] | None = None
        lengths: list[int] | None = None
        if hasattr(X, "npartitions") and hasattr(X, "columns") and not hasattr(X, "chunks"):
            # As in scikit-learn, columns have names if all of these are strings.
            names = list(X.columns) if all(isinstance(name, str) for name in X.columns) else None
            columns, n_parts = len(X.columns), X.npartitions
            _check_numbers(X)
        else:
            lengths = _count_rows(X)
            columns, n_parts = int(X.shape[1]), len(lengths)
        for name in ("y", "sample_weight"):
            if given[name] is not None:
                _check_matches(given[name], name, lengths, n_parts)
        items = [np.asarray(item.to_delayed(), dtype=object) for item in given.values() if item is not None]
        pack = delayed(_pack, pure=True)
        parts = [pack(*part) for part in zip(*(item.reshape(-1) for item in items), strict=True)]
        return cls(parts, columns, names, 0 if lengths is None else 8 * (columns + 1) * max(lengths))

    @property
    def n_partitions(self) -> int:
        """Number of chunks or partitions."""
        return len(self.delayed)

    def load(self, partition: int) -> Raw:
        """Compute rows, labels and weights of a partition in this process."""
        raw: Raw = self.delayed[partition].compute(scheduler="synchronous")
        return raw


def _pack(X: object, y: object, weights: object = None) -> Raw:
    """Return rows, labels, and weights or None, as the tasks of a partition have computed them."""
    return X, _column(y), _column(weights)


def _column(values: object) -> NDArray[Any] | None:
    """Return labels or weights as an array of one dimension."""
    if values is None:
        return None
    array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    return array.reshape(-1) if array.ndim == 2 and array.shape[1] == 1 else array


def _is_array(item: Collection) -> bool:
    return hasattr(item, "chunks") and hasattr(item, "numblocks")


def _count_rows(X: Collection) -> list[int]:
    """Return the number of rows of every chunk; raise ValueError if they are unknown or the columns are split."""
    if not _is_array(X) or X.ndim != 2:
        raise ValueError(f"X must be a Dask array of two dimensions or a Dask data frame; got {X!r}.")
    if np.isnan(X.shape[1]) or X.numblocks[1] != 1:
        raise ValueError(
            f"The columns of X are split into chunks of {X.chunks[1]}, but a chunk must have all columns of its rows. "
            "Use X.rechunk({1: -1})."
        )
    if np.isnan(X.shape[0]):
        raise ValueError("X has chunks of unknown sizes. Call X.compute_chunk_sizes() first.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must be numeric, but its type is {X.dtype}. Convert or encode it first.")
    return [int(size) for size in X.chunks[0]]


def _check_numbers(X: Collection) -> None:
    wrong = [str(name) for name, kind in X.dtypes.items() if getattr(kind, "kind", "O") not in "fiub"]
    if wrong:
        raise ValueError(
            f"Columns {', '.join(map(repr, wrong[:10]))} of X are not numeric. Encode them first, or leave them out."
        )


def _check_matches(item: Collection, name: str, lengths: list[int] | None, n_parts: int) -> None:
    """Raise ValueError unless labels or weights have the partitions of the rows."""
    if not _is_array(item):
        if lengths is not None:
            raise ValueError(
                f"X is a Dask array but {name} is not, so its chunk sizes are unknown. "
                f"Use {name}.to_dask_array(lengths=True)."
            )
        if item.npartitions != n_parts:
            raise ValueError(
                f"{name} has {item.npartitions} partitions, but X has {n_parts}. Repartition {name} like X."
            )
        return
    if item.ndim != 1 and not (item.ndim == 2 and item.shape[1] == 1):
        raise ValueError(f"{name} must have one dimension; got {item!r}.")
    if lengths is None:
        if item.numblocks[0] != n_parts:
            raise ValueError(
                f"{name} has {item.numblocks[0]} chunks, but X has {n_parts} partitions. Rechunk {name} like X."
            )
        return
    if np.isnan(item.shape[0]):
        raise ValueError(f"{name} has chunks of unknown sizes. Call {name}.compute_chunk_sizes() first.")
    found = [int(size) for size in item.chunks[0]]
    if found != lengths:
        raise ValueError(
            f"{name} has {sum(found)} entries in chunks of {_short(found)}, but X has {sum(lengths)} rows in chunks of "
            f"{_short(lengths)}. Use {name}.rechunk((X.chunks[0],))."
        )


def _short(sizes: list[int]) -> str:
    return f"{sizes[:5]}{'...' if len(sizes) > 5 else ''}"
