"""Chains of both labelings at once, resumable and stoppable at any moment, and the posterior of their draws."""

import hashlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import SeedSequence

from softpolytope._typing import FloatArray
from softpolytope.data import ColumnTransform, Dataset
from softpolytope.distributions import Streams
from softpolytope.exceptions import BlocksLostError
from softpolytope.gibbs._block_factory import LatentBlockFactory
from softpolytope.gibbs._chain import Chain, ChainArrays, ChainSettings, compact_chain, expand_chain
from softpolytope.gibbs._state import GibbsState
from softpolytope.gibbs._trace import Draw, Schedule, Trace
from softpolytope.model import Draws, LabelingPosterior, RegressionPosterior
from softpolytope.parallel import (
    BlockThreads,
    CheckpointPlan,
    Reporting,
    RunOptions,
    make_fingerprint,
    one_blas_thread,
    run_all,
)

_SERIES = ("log_likelihood", "n_active", "mass")


@dataclass(frozen=True, slots=True)
class Resumed:
    """Chains of an earlier run, to continue."""

    states: list[ChainArrays]  # labeling after labeling


Start = GibbsState | list[GibbsState] | Resumed | None


@dataclass(frozen=True, slots=True)
class RunResult:
    """Traces by labeling and chain."""

    traces: list[list[Trace]]
    is_complete: bool  # False if the run was stopped before its last sweep
    states: list[ChainArrays] | None = None  # of all chains, labeling after labeling, from which they can continue
    is_interrupted: bool = False  # whether Ctrl-C was pressed; the caller of the run raises KeyboardInterrupt

    def label_free(self, labeling: int, n_burn_in: int) -> dict[str, FloatArray]:
        """Return the quantities that can be compared between chains: series (chains, sweeps after burn-in) by name.

        `inspection.diagnose` takes them. Chains stopped at different sweeps are cut to the shortest.
        """
        traces = self.traces[labeling]
        n_sweeps = min(trace.n_sweeps for trace in traces)
        names = {"log-likelihood": "log_likelihood", "number of experts": "n_active", "mass": "mass"}
        return {
            name: np.array([getattr(trace, series)[n_burn_in:n_sweeps] for trace in traces])
            for name, series in names.items()
        }


def run_chains(
    data: Dataset,
    settings: ChainSettings,
    seed: int | SeedSequence | None = None,
    n_chains: int = 1,
    labelings: tuple[int, ...] = (0,),
    options: RunOptions | None = None,
    start: Start = None,
) -> RunResult:
    """Run `n_chains` chains of each labeling; labeling 0 is that of the data, 1 the opposite.

    Chains start from `start`: one state for all, or one for each, labeling after labeling; or chains of an earlier run
    with the same data and seed, which continue to the end of the schedule. By default every chain draws its own start.
    Ctrl-C, or a callback that returns True, ends the run after the current sweeps; the result has the draws made so
    far, and says which of the two it was.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.data import InMemoryDataset
    >>> from softpolytope.gibbs import ChainSettings, Moves, Schedule, run_chains
    >>> from softpolytope.model import Prior
    >>> design = np.array([[1.0, -1.0], [1.0, 1.0], [1.0, 2.0]])
    >>> rows = InMemoryDataset.from_arrays(design, np.array([False, True, True]))
    >>> settings = ChainSettings(3, 1, Prior(precision_shape=1.0, precision_rate=1.0), Moves(), Schedule(20, 10, 5))
    >>> result = run_chains(rows, settings, seed=0, n_chains=2)
    >>> [len(trace.draws) for trace in result.traces[0]]
    [5, 5]
    """
    data.check_labels()
    options, streams = options or RunOptions(), Streams(seed)
    names = [(labeling, chain) for labeling in labelings for chain in range(n_chains)]
    given = start.states if isinstance(start, Resumed) else start
    starts = given if isinstance(given, list) else [given] * len(names)
    # Chains on threads if there are enough of them, otherwise the blocks of a chain.
    n_parallel = data.n_parallel(len(names), options.n_threads)
    digest, reporting = _digest(start), Reporting(options.callback)
    fingerprint = make_fingerprint(settings, streams.key, names, data.fingerprint, digest)
    if isinstance(start, Resumed):
        # The checkpoints of the earlier run stay as they are: it may be repeated.
        options = replace(options, folder=f"{options.folder}/on-from-{digest[:16]}")
    with one_blas_thread(), ThreadPoolExecutor(n_parallel) as pool, ThreadPoolExecutor(options.n_threads) as block_pool:
        threads = BlockThreads(block_pool, options.n_threads) if n_parallel == 1 < options.n_threads else None
        sides, size, factory = (data, data.flipped()), data.column_size(), LatentBlockFactory(settings)
        chains = [
            Chain(sides[labeling].blocks(factory, threads), size, settings, (streams, labeling, number), first)
            for (labeling, number), first in zip(names, starts, strict=True)
        ]
        try:
            if options.checkpoint is not None:
                _resume(chains, options.checkpoint, options.folder, fingerprint)
            groups = [chains] if n_parallel == 1 else [[chain] for chain in chains]
            run_all([partial(_take_turns, group, reporting) for group in groups], pool, reporting)
            for chain in chains:
                chain.write()
            states = [chain.to_arrays() for chain in chains] if options.keeps_states else None
        except BlocksLostError as error:
            raise BlocksLostError(f"{error} {_rescue(chains, options, fingerprint)}") from error
        finally:
            for chain in chains:
                chain.blocks.close()
    traces = [chain.trace for chain in chains]
    grouped = [traces[i * n_chains : (i + 1) * n_chains] for i in range(len(labelings))]
    return RunResult(grouped, all(chain.is_done for chain in chains), states, reporting.is_interrupted())


def _digest(start: Start) -> str:
    """Return a hash of the states in which chains start."""
    digest = hashlib.sha256(type(start).__name__.encode())
    if isinstance(start, Resumed):
        for name, array in (item for arrays in start.states for item in sorted(arrays.items())):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    elif start is not None:
        for state in start if isinstance(start, list) else [start]:
            for item in fields(state):
                digest.update(np.ascontiguousarray(getattr(state, item.name)).tobytes())
    return digest.hexdigest()


def _take_turns(chains: list[Chain], reporting: Reporting) -> None:
    """Run one sweep of each chain in turn, so that they progress together, until all are done or the run is stopped."""
    while not all(chain.is_done for chain in chains):
        for chain in chains:
            if reporting.is_stopped():
                return
            if not chain.is_done:
                reporting.report(chain.advance())


def _resume(chains: list[Chain], plan: CheckpointPlan, folder: str, fingerprint: str) -> None:
    """Give every chain its checkpoint, from which it continues if there is one."""
    files = plan.open_folder(folder)
    for chain in chains:
        chain.resume(files.for_chain(*chain.name[1:]), fingerprint)


def _rescue(chains: list[Chain], options: RunOptions, fingerprint: str) -> str:
    """Write the chains after blocks were lost; return a sentence that says how to continue."""
    if any(chain.has_counts for chain in chains):
        if any(chain.file is not None and chain.file.path.exists() for chain in chains):
            return "The same fit continues from its last checkpoints."
        return "No checkpoint had been written; give a checkpoint folder, or write more often (CheckpointPlan)."
    plan = options.checkpoint
    if plan is None:
        plan = CheckpointPlan(Path(tempfile.mkdtemp(prefix="softpolytope-")))
        _resume(chains, plan, options.folder, fingerprint)
    for chain in chains:
        chain.write()
    return f"The chains are saved in {plan.folder}: the same fit, with this folder as checkpoint, continues from there."


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
    # Of a run that was stopped, as many draws of each chain as all of them have.
    n_kept = min(len(trace.draws) for traces in result.traces for trace in traces)
    posterior = RegressionPosterior(tuple(_to_labeling(traces, n_kept, transform) for traces in result.traces))
    return ChainsFit(posterior, saved, result.is_complete, result.is_interrupted)


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
        kept, weights = draw.is_needed, np.exp(draw.log_weights)
        coefficients = transform.to_original(draw.coefficients[kept])
        parts.append((coefficients, weights[kept], draw.counts[-1][kept] > 0.0, draw.log_likelihood))
    return Draws.from_parts(parts)
