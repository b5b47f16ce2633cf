"""Rows, models and hashes for tests of rows in partitions."""

import hashlib

import numpy as np
import pytest

from softpolytope import Prior, SumStackSoftplusClassifier

N_ROWS, CHUNK = 2400, 400
FITS = {
    "map": {"inference": "map", "prior": Prior(precision_rate=3.0), "n_restarts": 1, "max_experts": 2, "n_layers": 1},
    "bootstrap": {"n_members": 2, "prior": Prior(precision_rate=3.0), "max_experts": 2, "n_layers": 1},
    "collapsed": {"inference": "gibbs", "start": "random", "n_sweeps": 10, "n_chains": 1},
    "paper": {"inference": "gibbs", "scan": "paper", "start": "random", "n_sweeps": 10, "n_chains": 1},
}


def rows():
    """Return points of a square with three columns, labeled by a disc."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-2.0, 2.0, (N_ROWS, 3))
    return X, (X[:, 0] ** 2 + X[:, 1] ** 2 < 1.5).astype(np.int64)


def arrays():
    """Dask arrays of the rows, skipping the test without Dask."""
    da = pytest.importorskip("dask.array")
    X, y = rows()
    return da.from_array(X, chunks=(CHUNK, 3)), da.from_array(y, chunks=CHUNK)


def write_files(folder):
    """Write the rows into .npy files and return memory maps of them."""
    for name, array in zip("Xy", rows(), strict=True):
        np.save(folder / f"{name}.npy", array)
    return [np.load(folder / f"{name}.npy", mmap_mode="r") for name in "Xy"]


def model(kind, **changes):
    """Return a small model of one of three kinds."""
    settings = {"max_experts": 3, "n_layers": 2, "symmetric": False, "random_state": 3} | FITS[kind] | changes
    if kind in ("map", "bootstrap"):
        settings.pop("n_sweeps", None)  # for chains only
    return SumStackSoftplusClassifier(**settings)


def sha(fitted):
    """Return a hash of all draws or modes and of the trace."""
    digest = hashlib.sha256()
    for regression in fitted.posterior_.regressions:
        for labeling in regression.labelings:
            for part in (labeling.draws.coefficients, labeling.draws.expert_weights, labeling.log_likelihood):
                digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
