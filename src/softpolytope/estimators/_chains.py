"""A regression by Gibbs sampling: its draws are those the chains kept."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import SeedSequence

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import ColumnTransform, Dataset, LabeledRows
from softpolytope.estimators._lean_chains import is_kept, lean, whole
from softpolytope.estimators._parameters import Settings
from softpolytope.estimators._tasks import BinaryProblem, How
from softpolytope.gibbs import (
    ChainArrays,
    ChainSettings,
    Draw,
    GibbsState,
    Resumed,
    RunResult,
    Trace,
    run_chains,
    state_at,
)
from softpolytope.model import Draws, LabelingPosterior, RegressionPosterior
from softpolytope.optimize import DEFAULT_PRIOR, ModeSettings, find_modes
from softpolytope.parallel import RunOptions


@dataclass(frozen=True, slots=True)
class Chains:
    """What it takes to go on with the chains of a fit."""

    states: list[ChainArrays] | None  # labeling after labeling, lean
    digest: str  # of rows and model, so that chains go on with the same ones only
    n_done: int  # sweeps that all chains have made

    def are_done(self, digest: str, settings: Settings) -> bool:
        """Whether there is nothing left to do; raises if chains of other data or another model are to go on."""
        if self.digest != digest:
            raise ValueError(
                "warm_start goes on with the chains of the last fit, and these rows, labels, weights or parameters "
                "are not the ones they sampled with; set warm_start=False to start from scratch."
            )
        return self.n_done >= settings.schedule.n_sweeps


def sample(
    data: Dataset,
    units: ColumnTransform,
    task: BinaryProblem[LabeledRows],
    settings: Settings,
    how: How,
    digest: str,
    before: Chains | None,
) -> tuple[RegressionPosterior, Chains, RunResult]:
    """Run all chains of both labelings; returns posterior, chains, and what they did."""
    if before is not None:
        settings = with_more_sweeps(settings, before.n_done)
    result = _run(data, task, settings, how, before.states if before is not None else None)
    n_done = min(trace.n_sweeps for traces in result.traces for trace in traces)
    has_draws = all(any(trace.best is not None for trace in traces) for traces in result.traces)
    if result.is_interrupted and not has_draws:
        raise KeyboardInterrupt
    states = None if result.states is None else [lean(chain) for chain in result.states]
    return _posterior(result, units), Chains(states, digest, n_done), result


def _run(
    data: Dataset,
    task: BinaryProblem[LabeledRows],
    settings: Settings,
    how: How,
    states: list[ChainArrays] | None,
) -> RunResult:
    """Run all chains of both labelings."""
    chain = ChainSettings(settings.max_experts, settings.n_layers, settings.prior, settings.moves, settings.schedule)
    start: GibbsState | list[GibbsState] | Resumed | None = None
    if states is not None:
        start = Resumed([whole(chain, data.n_copies) for chain in states])
    elif not settings.fit_weight:
        start = _logistic_start(data.n_columns, settings)
    elif settings.start == "map":
        start = _starts_at_modes(data, task, settings, how)
    return run_chains(
        data,
        chain,
        SeedSequence(task.seed),
        settings.n_chains,
        (0, 1) if settings.symmetric else (0,),
        RunOptions(how.n_threads, how.callback, settings.checkpoint, task.folder, how.keeps_states),
        start,
    )


def _starts_at_modes(data: Dataset, task: BinaryProblem[LabeledRows], settings: Settings, how: How) -> list[GibbsState]:
    """A mode for every chain, labeling after labeling.

    Not of the very posterior that is sampled: where the prior is tight, its modes have fewer experts than its draws.
    """
    rate, shape = DEFAULT_PRIOR.precision_rate, DEFAULT_PRIOR.precision_shape
    prior = replace(settings.prior, precision_rate=rate, precision_shape=shape)
    result = find_modes(
        data,
        ModeSettings(settings.max_experts, settings.n_layers, prior, settings.n_chains),
        SeedSequence(task.seed),
        (0, 1) if settings.symmetric else (0,),
        RunOptions(how.n_threads, None, settings.checkpoint, f"{task.folder}/starts"),
    )
    if result.is_interrupted:
        # Chains from half-way up would not be those of this seed.
        raise KeyboardInterrupt
    rng = np.random.default_rng(SeedSequence(task.seed))
    return [
        state_at(found.mode.coefficients, found.mode.log_weights, settings.max_experts, settings.prior, rng)
        for modes in result.modes
        for found in modes
    ]


def _logistic_start(n_columns: int, settings: Settings) -> GibbsState:
    """Weight one, which stays: logistic regression."""
    shape = (settings.max_experts, settings.n_layers, n_columns)
    rate = settings.prior.precision_rate
    rates = np.full(shape[:2], 1.0 if rate == "learned" else float(rate))
    return GibbsState(np.zeros(shape), np.ones(shape), rates, np.zeros(shape[0]), 1.0, 1.0)


def _posterior(result: RunResult, units: ColumnTransform) -> RegressionPosterior:
    """Draws of all chains; of a run that was stopped, as many of each as there are of all."""
    n_kept = min(len(trace.draws) for traces in result.traces for trace in traces)
    return RegressionPosterior(tuple(_labeling_posterior(traces, n_kept, units) for traces in result.traces))


def _labeling_posterior(traces: list[Trace], n_kept: int, units: ColumnTransform) -> LabelingPosterior:
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
    return LabelingPosterior(
        Draws.from_parts([_part(draw, units) for draw in kept or [best]]),
        Draws.from_parts([_part(best, units)]),
        len(traces) if kept else 1,
        *series,
    )


_SERIES = ("log_likelihood", "n_active", "mass")


def _part(draw: Draw, units: ColumnTransform) -> tuple[FloatArray, FloatArray, BoolArray, float]:
    is_active, kept = draw.counts[-1] > 0.0, is_kept(draw)
    weights = np.exp(draw.log_weights)
    return units.to_original(draw.coefficients[kept]), weights[kept], is_active[kept], draw.log_likelihood


def with_more_sweeps(settings: Settings, n_done: int) -> Settings:
    """Settings to go on after `n_done` sweeps: the draws to come are added to those kept."""
    schedule = settings.schedule
    n_draws = min(schedule.n_draws, schedule.n_sweeps - n_done)
    # A fit that was stopped while burning in goes on burning in.
    n_burn_in = max(n_done, min(schedule.n_burn_in, schedule.n_sweeps - n_draws))
    return replace(settings, schedule=replace(schedule, n_burn_in=n_burn_in, n_draws=n_draws))
