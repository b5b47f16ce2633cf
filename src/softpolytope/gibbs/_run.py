"""Several chains and both labelings at once, on threads; resumable, and stoppable at any moment."""

import hashlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import SeedSequence

from softpolytope._typing import FloatArray
from softpolytope.data import Dataset
from softpolytope.distributions import Streams
from softpolytope.exceptions import BlocksLostError
from softpolytope.gibbs._block_factory import LatentBlockFactory
from softpolytope.gibbs._chain import Chain, ChainArrays, ChainSettings
from softpolytope.gibbs._state import GibbsState
from softpolytope.gibbs._trace import Trace
from softpolytope.parallel import (
    BlockThreads,
    CheckpointPlan,
    Reporting,
    RunOptions,
    make_fingerprint,
    one_blas_thread,
    run_all,
)


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
