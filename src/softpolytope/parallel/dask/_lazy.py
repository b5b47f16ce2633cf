"""Functions of rows, applied to Dask collections lazily."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

# Arrays, data frames and series of Dask, which is untyped.
Collection: TypeAlias = Any
Model = TypeVar("Model")


def empty_meta(X: Collection) -> object:
    """Return an empty array or data frame of the type of the partitions of a collection."""
    return X._meta


def apply_lazily(
    function: Callable[[Model, Any], NDArray[Any]], model: Model, X: Collection, example: NDArray[Any]
) -> Collection:
    """Return a Dask array of function(model, rows) for all chunks or partitions of X.

    `example` is the result for no rows, which has the shape and type of the others.
    """
    # The model is one node of the graph, shared by all chunks.
    shared = import_module("dask.delayed").delayed(model, pure=True)
    if not hasattr(X, "numblocks"):
        return X.map_partitions(_apply, function=function, model=shared, meta=example)
    if X.ndim != 2 or X.numblocks[1] != 1:
        raise ValueError(
            f"The columns of X are split into chunks of {X.chunks[1:]}, but a chunk must have all columns of its rows. "
            "Use X.rechunk({1: -1})."
        )
    if example.ndim == 1:
        return X.map_blocks(_apply, function=function, model=shared, drop_axis=1, dtype=example.dtype, meta=example)
    chunks = (X.chunks[0], *((size,) for size in example.shape[1:]))
    return X.map_blocks(_apply, function=function, model=shared, chunks=chunks, dtype=example.dtype, meta=example)


def _apply(rows: object, *, function: Callable[[Model, Any], NDArray[Any]], model: Model) -> NDArray[Any]:
    return np.asarray(function(model, rows))
