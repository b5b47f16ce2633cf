"""From rows and settings to a posterior: one regression per class, by chains or by climbs."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from softpolytope._typing import FloatArray
from softpolytope.estimators._chains import Chains, sample
from softpolytope.estimators._climbs import maximise
from softpolytope.estimators._features import FeatureSummary
from softpolytope.estimators._parameters import Settings
from softpolytope.estimators._streaming import Stream, begun, continued, stream_of
from softpolytope.estimators._tasks import How, Task
from softpolytope.estimators._units import plain_units, standardised
from softpolytope.model.data import TrainingData
from softpolytope.model.posterior import RegressionPosterior
from softpolytope.optimise.run import ModesResult

# Rows at which diagnostics compare the chains' probabilities.
N_PROBES = 10


@dataclass(frozen=True, slots=True)
class Fitted:
    """A regression, and what it takes to go on with it."""

    posterior: RegressionPosterior
    chains: Chains | None  # of a fit by Gibbs sampling
    modes: ModesResult | None  # of a fit by climbs
    stream: Stream | None  # the same, ready for more rows
    is_complete: bool  # False if it was stopped before its end
    probe_chances: FloatArray  # (draws, probes)  P(y = 1) at a few training rows, for diagnostics
    features: FeatureSummary


def fit_regression(task: Task, settings: Settings, how: How, earlier: Fitted | None) -> Fitted:
    """Fit one regression, or go on with an earlier fit."""
    # One thread for sums by BLAS too: their bits depend on the number.
    with threadpool_limits(1, user_api="blas"):
        data = TrainingData.from_arrays(task.design, task.is_positive, task.row_weights)
        digest, probes, features = _digest(data, settings), _probes(data), FeatureSummary.of(data)
        data, units = standardised(data) if settings.standardize else (data, plain_units(data))
        chains = modes = stream = None
        if settings.inference == "gibbs":
            before = earlier.chains if earlier is not None else None
            if earlier is not None and before is not None and before.are_done(digest, settings):
                return earlier
            posterior, chains, is_complete = sample(data, units, task, settings, how, digest, before)
        else:
            start = earlier.modes if earlier is not None else None
            posterior, modes, is_complete = maximise(data, units, task, settings, how, start)
            stream = stream_of(modes, units, units.columns(float(data.row_weights.sum())))
        chances = posterior.probability_draws(probes)
    return Fitted(posterior, chains, modes, stream, is_complete, chances, features)


def take_batch(task: Task, settings: Settings, how: How, earlier: Fitted | None) -> Fitted:
    """Learn from a batch of rows, the first one or another."""
    with threadpool_limits(1, user_api="blas"):
        if earlier is None or earlier.stream is None:
            stream, posterior = begun(task, settings, how)
        else:
            stream, posterior = continued(earlier.stream, task, settings, how)
        features = FeatureSummary.of(TrainingData.from_arrays(task.design, task.is_positive, task.row_weights))
    features = features if earlier is None else earlier.features.merged(features)
    no_probes = np.zeros((len(posterior.labelings[0].draws), 0))
    return Fitted(posterior, None, None, stream, is_complete=True, probe_chances=no_probes, features=features)


def _digest(data: TrainingData, settings: Settings) -> str:
    """A hash of the rows and the model."""
    design: Any = data.design
    parts = (design.data, design.indices, design.indptr) if sparse.issparse(data.design) else (design,)
    digest = hashlib.sha256(repr(settings.model).encode())
    for part in (*parts, data.column_scale, data.labels, data.row_weights):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _probes(data: TrainingData) -> FloatArray:
    """The features of a few rows; the canonical order of the rows is as good as random."""
    rows: Any = data.design[:N_PROBES]
    dense = rows.toarray() if sparse.issparse(data.design) else rows
    return np.ascontiguousarray((dense * data.column_scale)[:, 1:])
