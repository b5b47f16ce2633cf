"""Partitions on the workers of a Dask cluster, and predictions of Dask collections.

Dask is an extra: modules that need it are imported only when a fit or a prediction is given a Dask collection or a
client. Workers keep blocks and run calls on them; blocks of lost workers are rebuilt (`_blocks`, `_cluster`).
"""

from softpolytope.parallel.dask._lazy import Collection, apply_lazily, empty_meta

__all__ = [
    "Collection",
    "apply_lazily",
    "empty_meta",
]
