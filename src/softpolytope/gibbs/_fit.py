"""Fits by Gibbs sampling: the chains of a problem, the posterior of their draws, and the state to continue from."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.random import SeedSequence

from softpolytope._typing import BoolArray
from softpolytope.data import ColumnTransform, Dataset
from softpolytope.gibbs._chain import ChainArrays, ChainSettings
from softpolytope.gibbs._run import Resumed, RunResult, run_chains
from softpolytope.gibbs._state import GibbsState
from softpolytope.gibbs._trace import Draw, Schedule, Trace
from softpolytope.model import Draws, LabelingPosterior, RegressionPosterior
from softpolytope.parallel import RunOptions

# An expert without counts and of less weight than this is left out of a draw: lambda misses at most this times its
# activation.
NEGLIGIBLE_WEIGHT = 1e-10
_SERIES = ("log_likelihood", "n_active", "mass")


@dataclass(frozen=True, slots=True)
class SavedChains:
    """State of the chains of a fit, from which another fit can continue."""

    states: list[ChainArrays]  # labeling after labeling, compact
    digest: str  # of rows and model, which a fit that continues must share
    n_done: int  # sweeps that all chains have made


@dataclass(frozen=True, slots=True)
class ChainPlan:
    """Chains of a fit: their model and schedule, their number and labelings, and where each of them starts."""

    settings: ChainSettings
    n_chains: int
    labelings: tuple[int, ...]
    seed: SeedSequence
    digest: str  # of rows and model
    start: GibbsState | list[GibbsState] | SavedChains | None = None


@dataclass(frozen=True, slots=True)
class ChainsFit:
    """Posterior of a fit, and the state to continue from if it was to be kept."""

    posterior: RegressionPosterior
    saved: SavedChains | None
    is_complete: bool
    is_interrupted: bool


def fit_chains(data: Dataset, transform: ColumnTransform, plan: ChainPlan, options: RunOptions) -> ChainsFit:
    """Run all chains and return their posterior in the user's units.

    Ctrl-C before every labeling has a draw raises KeyboardInterrupt; later, the result says so.
    """
    settings = plan.settings
    start: GibbsState | list[GibbsState] | Resumed | None
    if isinstance(plan.start, SavedChains):
        settings = replace(settings, schedule=extend_schedule(settings.schedule, plan.start.n_done))
        start = Resumed([expand_chain(chain, data.n_copies) for chain in plan.start.states])
    else:
        start = plan.start
    result = run_chains(data, settings, plan.seed, plan.n_chains, plan.labelings, options, start)
    has_draws = all(any(trace.best is not None for trace in traces) for traces in result.traces)
    if result.is_interrupted and not has_draws:
        raise KeyboardInterrupt
    saved = None
    if result.states is not None:
        n_done = min(trace.n_sweeps for traces in result.traces for trace in traces)
        saved = SavedChains([compact_chain(chain) for chain in result.states], plan.digest, n_done)
    return ChainsFit(_to_posterior(result, transform), saved, result.is_complete, result.is_interrupted)


def extend_schedule(schedule: Schedule, n_done: int) -> Schedule:
    """Return a schedule that continues after `n_done` sweeps and adds draws to those kept."""
    n_draws = min(schedule.n_draws, schedule.n_sweeps - n_done)
    # A fit that was stopped during burn-in continues with it.
    n_burn_in = max(n_done, min(schedule.n_burn_in, schedule.n_sweeps - n_draws))
    return replace(schedule, n_burn_in=n_burn_in, n_draws=n_draws)


def logistic_start(settings: ChainSettings, n_columns: int) -> GibbsState:
    """Return the state at zero, with all weights one; if weights are held, this is logistic regression."""
    shape = (settings.max_experts, settings.n_layers, n_columns)
    rate = settings.prior.precision_rate
    rates = np.full(shape[:2], 1.0 if rate == "learned" else float(rate))
    return GibbsState(np.zeros(shape), np.ones(shape), rates, np.zeros(shape[0]), 1.0, 1.0)


# The posterior.


def _to_posterior(result: RunResult, transform: ColumnTransform) -> RegressionPosterior:
    """Return the draws of all chains; of a run that was stopped, as many of each as all of them have."""
    n_kept = min(len(trace.draws) for traces in result.traces for trace in traces)
    return RegressionPosterior(tuple(_to_labeling(traces, n_kept, transform) for traces in result.traces))


def _to_labeling(traces: list[Trace], n_kept: int, transform: ColumnTransform) -> LabelingPosterior:
    """Return the last `n_kept` draws of every chain and the best draw of all, in the user's units."""
    found = [trace.best for trace in traces if trace.best is not None]
    if not found:
        raise RuntimeError(
            "The fit was stopped before the first sweep after burn-in, so there is no draw to predict with. Let it run "
            "longer, or lower n_burn_in."
        )
    best = max(found, key=lambda draw: draw.log_likelihood)
    kept = [draw for trace in traces for draw in trace.draws[len(trace.draws) - n_kept :]]
    n_sweeps = min(trace.n_sweeps for trace in traces)
    series = [np.array([getattr(trace, name)[:n_sweeps] for trace in traces]) for name in _SERIES]
    draws, best_draw = (_transform_draws(own, transform) for own in (kept or [best], [best]))
    return LabelingPosterior(draws, best_draw, len(traces) if kept else 1, *series)


def _transform_draws(draws: list[Draw], transform: ColumnTransform) -> Draws:
    """Return draws without negligible experts, in the user's units."""
    parts = []
    for draw in draws:
        kept, weights = is_needed(draw), np.exp(draw.log_weights)
        coefficients = transform.to_original(draw.coefficients[kept])
        parts.append((coefficients, weights[kept], draw.counts[-1][kept] > 0.0, draw.log_likelihood))
    return Draws.from_parts(parts)


def is_needed(draw: Draw) -> BoolArray:
    """Return whether prediction needs each expert of a draw."""
    return np.asarray((draw.counts[-1] > 0.0) | (np.exp(draw.log_weights) >= NEGLIGIBLE_WEIGHT))


# Chains between two fits.


def compact_chain(chain: ChainArrays) -> ChainArrays:
    """Return a chain without the negligible experts of its draws, and with only the latent counts that are not zero.

    The state, from which the next sweep starts, is kept as it is.
    """
    found = {name: array for name, array in chain.items() if name.startswith(("state.", "step."))}
    trace = get_trace(chain)
    trace.draws = [_compact_draw(draw) for draw in trace.draws]
    trace.best = None if trace.best is None else _compact_draw(trace.best)
    found.update({f"trace.{name}": array for name, array in trace.to_arrays().items()})
    blocks = [chain[f"counts.{number}"] for number in range(sum(name.startswith("counts.") for name in chain))]
    if blocks:
        counts = np.concatenate(blocks, axis=1).reshape(-1)
        places = np.flatnonzero(counts)
        found["counts.places"], found["counts.values"] = places.astype(np.int64), counts[places]
        found["counts.blocks"] = np.array([0, *np.cumsum([block.shape[1] for block in blocks])], dtype=np.int64)
    return found


def expand_chain(chain: ChainArrays, max_rows: float) -> ChainArrays:
    """Return a compact chain with the counts of each block again; raise if they are of more than `max_rows` rows."""
    if "counts.blocks" not in chain:
        return chain
    found = {name: array for name, array in chain.items() if not name.startswith("counts.")}
    starts = chain["counts.blocks"].tolist()
    if starts[-1] > max_rows:
        raise ValueError(
            f"The chains to continue have counts of {starts[-1]} rows, but there are {max_rows:.0f} rows. The file "
            "they were read from is damaged. Fit from scratch."
        )
    n_experts, n_layers, _ = chain["state.coefficients"].shape
    counts = np.zeros((n_layers + 1, starts[-1], n_experts))
    counts.reshape(-1)[chain["counts.places"]] = chain["counts.values"]
    for number, (start, stop) in enumerate(pairwise(starts)):
        found[f"counts.{number}"] = counts[:, start:stop].copy()
    return found


def get_trace(chain: ChainArrays) -> Trace:
    """Return the trace of a chain."""
    return Trace.from_arrays({name[len("trace.") :]: chain[name] for name in chain if name.startswith("trace.")})


def _compact_draw(draw: Draw) -> Draw:
    kept = is_needed(draw)
    return replace(
        draw,
        coefficients=draw.coefficients[kept],
        log_weights=draw.log_weights[kept],
        counts=draw.counts[-1:, kept],
    )
