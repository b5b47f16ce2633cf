"""From rows and settings to a posterior: one regression per class, by Gibbs sampling."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from threadpoolctl import threadpool_limits

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.estimators._parameters import Settings
from softpolytope.estimators._units import Units, plain_units, standardised
from softpolytope.gibbs.chain import ChainSettings
from softpolytope.gibbs.checkpoint import CheckpointPlan
from softpolytope.gibbs.run import ChainArrays, Progress, RunOptions, RunResult, run_chains
from softpolytope.gibbs.state import GibbsState
from softpolytope.gibbs.trace import Draw, Trace
from softpolytope.model.collapsed import Design
from softpolytope.model.data import TrainingData
from softpolytope.model.posterior import Draws, LabellingPosterior, RegressionPosterior

# Rows at which diagnostics compare the chains' probabilities.
N_PROBES = 10
# An expert without counts and of less weight than this is left out of a draw: lambda misses at most this times its
# activation.
NEGLIGIBLE_WEIGHT = 1e-10


@dataclass(frozen=True, slots=True)
class Task:
    """One label against the rest."""

    design: Design  # (rows, 1 + features), the intercept first
    is_positive: BoolArray
    row_weights: FloatArray
    seed: tuple[int, ...]
    folder: str  # of its checkpoints, inside the user's


@dataclass(frozen=True, slots=True)
class How:
    """How a fit is carried out; none of it changes a draw."""

    n_threads: int
    callback: Callable[[Progress], bool | None] | None
    keeps_states: bool


@dataclass(frozen=True, slots=True)
class Fitted:
    """A regression, and what it takes to go on with its chains."""

    posterior: RegressionPosterior
    states: list[ChainArrays] | None
    is_complete: bool  # False if it was stopped before its last sweep
    digest: str  # of rows and model, so that chains go on with the same ones only
    n_done: int  # sweeps that all chains have made
    probe_chances: FloatArray  # (draws, probes)  P(y = 1) at a few training rows, for diagnostics


def fit_regression(task: Task, settings: Settings, how: How, earlier: Fitted | None) -> Fitted:
    """Run the chains of one regression, or go on with those of an earlier fit."""
    # One thread for sums by BLAS too: their bits depend on the number.
    with threadpool_limits(1, user_api="blas"):
        data = TrainingData.from_arrays(task.design, task.is_positive, task.row_weights)
        digest, probes = _digest(data, settings), _probes(data)
        if earlier is not None:
            if earlier.digest != digest:
                raise ValueError(
                    "warm_start goes on with the chains of the last fit, and these rows, labels, weights or parameters "
                    "are not the ones they sampled with; set warm_start=False to start anew."
                )
            if earlier.n_done >= settings.schedule.n_sweeps:
                return earlier
            settings = with_more_sweeps(settings, earlier.n_done)
        data, units = standardised(data) if settings.standardize else (data, plain_units(data))
        result = _run(data, task, settings, how, earlier.states if earlier is not None else None)
        posterior = _posterior(result, units)
        n_done = min(trace.n_sweeps for traces in result.traces for trace in traces)
        chances = posterior.probability_draws(probes)
    return Fitted(posterior, result.states, result.is_complete, digest, n_done, chances)


def _run(data: TrainingData, task: Task, settings: Settings, how: How, states: list[ChainArrays] | None) -> RunResult:
    """Run all chains of both labelings."""
    chain = ChainSettings(settings.max_experts, settings.n_layers, settings.prior, settings.moves, settings.schedule)
    checkpoint = settings.checkpoint
    if checkpoint is not None:
        checkpoint = CheckpointPlan(checkpoint.folder / task.folder, checkpoint.every_sweeps, checkpoint.every_seconds)
    start: GibbsState | list[ChainArrays] | None = states
    if start is None and not settings.fit_weight:
        start = _logistic_start(data.n_columns, settings)
    return run_chains(
        data,
        chain,
        SeedSequence(task.seed),
        settings.n_chains,
        (0, 1) if settings.symmetric else (0,),
        RunOptions(how.n_threads, how.callback, checkpoint, how.keeps_states),
        start,
    )


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


def _logistic_start(n_columns: int, settings: Settings) -> GibbsState:
    """Weight one, which stays: logistic regression."""
    shape = (settings.max_experts, settings.n_layers, n_columns)
    rate = settings.prior.precision_rate
    rates = np.full(shape[:2], 1.0 if rate == "learned" else float(rate))
    return GibbsState(np.zeros(shape), np.ones(shape), rates, np.zeros(shape[0]), 1.0, 1.0)


def _posterior(result: RunResult, units: Units) -> RegressionPosterior:
    """Draws of all chains; of a run that was stopped, as many of each as there are of all."""
    n_kept = min(len(trace.draws) for traces in result.traces for trace in traces)
    return RegressionPosterior(tuple(_labelling_posterior(traces, n_kept, units) for traces in result.traces))


def _labelling_posterior(traces: list[Trace], n_kept: int, units: Units) -> LabellingPosterior:
    """The last `n_kept` draws of every chain, in the user's units, and the best draw of all."""
    found = [trace.best for trace in traces if trace.best is not None]
    if not found:
        raise RuntimeError(
            "fitting was stopped before the first sweep after burn-in, so there is no draw to predict with; "
            "let it run longer, or lower n_burn_in."
        )
    best = max(found, key=lambda draw: draw.log_likelihood)
    kept = [draw for trace in traces for draw in trace.draws[len(trace.draws) - n_kept :]]
    n_sweeps = min(trace.n_sweeps for trace in traces)
    series = [np.array([getattr(trace, name)[:n_sweeps] for trace in traces]) for name in _SERIES]
    return LabellingPosterior(
        Draws.from_parts([_part(draw, units) for draw in kept or [best]]),
        Draws.from_parts([_part(best, units)]),
        len(traces) if kept else 1,
        *series,
    )


_SERIES = ("log_likelihood", "n_active", "mass")


def _part(draw: Draw, units: Units) -> tuple[FloatArray, FloatArray, BoolArray, float]:
    is_active = draw.counts[-1] > 0.0
    weights = np.exp(draw.log_weights)
    is_kept = is_active | (weights >= NEGLIGIBLE_WEIGHT)
    return units.of_user(draw.coefficients[is_kept]), weights[is_kept], is_active[is_kept], draw.log_likelihood


def with_more_sweeps(settings: Settings, n_done: int) -> Settings:
    """Settings to go on after `n_done` sweeps: the draws to come are added to those kept."""
    schedule = settings.schedule
    n_draws = min(schedule.n_draws, schedule.n_sweeps - n_done)
    # A fit that was stopped while burning in goes on burning in.
    n_burn_in = max(n_done, min(schedule.n_burn_in, schedule.n_sweeps - n_draws))
    return replace(settings, schedule=replace(schedule, n_burn_in=n_burn_in, n_draws=n_draws))
