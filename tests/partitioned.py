"""Rows, models and hashes that tests of rows in partitions share."""

import hashlib

import numpy as np

from softpolytope import Prior, SumStackSoftplusClassifier

N_ROWS, CHUNK = 2400, 400
FITS = {
    "map": {"inference": "map", "prior": Prior(precision_rate=3.0), "n_restarts": 1, "max_experts": 2, "n_layers": 1},
    "collapsed": {"inference": "gibbs", "start": "random", "n_sweeps": 10, "n_chains": 1},
    "paper": {"inference": "gibbs", "scan": "paper", "start": "random", "n_sweeps": 10, "n_chains": 1},
}


def rows():
    """A disc in a square, three columns, and labels."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-2.0, 2.0, (N_ROWS, 3))
    return X, (X[:, 0] ** 2 + X[:, 1] ** 2 < 1.5).astype(np.int64)


def model(kind, **changes):
    """A small model, fitted in one of three ways."""
    settings = {"max_experts": 3, "n_layers": 2, "symmetric": False, "random_state": 3} | FITS[kind] | changes
    if kind == "map":
        settings.pop("n_sweeps", None)  # which is for chains
    return SumStackSoftplusClassifier(**settings)


def sha(fitted):
    """A hash of all draws, or modes, and of the trace."""
    digest = hashlib.sha256()
    for regression in fitted.posterior_.regressions:
        for labeling in regression.labelings:
            for part in (labeling.draws.coefficients, labeling.draws.expert_weights, labeling.log_likelihood):
                digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
