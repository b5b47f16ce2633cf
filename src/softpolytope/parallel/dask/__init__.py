"""Partitions on the workers of a Dask cluster, and predictions of Dask collections.

Dask is an extra: modules that need it are imported only when a fit or a prediction is given a Dask collection or a
client. Workers hold blocks, answer calls and are replaced when they are lost (`_cluster`, `_worker`).
"""

from softpolytope.parallel.dask._lazy import empty_meta, is_dask_collection, lazily

__all__ = [
    "empty_meta",
    "is_dask_collection",
    "lazily",
]
