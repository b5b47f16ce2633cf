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
from softpolytope.data import InMemoryDataset, PartitionedDataset
from softpolytope.distributions import Streams
from softpolytope.exceptions import BlocksLostError
from softpolytope.gibbs._block_factory import partition_blocks
from softpolytope.gibbs._chain import Chain, ChainSettings, latent_blocks
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._state import GibbsState
from softpolytope.gibbs._trace import Trace
from softpolytope.parallel import (
    Blocks,
    CheckpointPlan,
    Progress,
    Reporting,
    RunOptions,
    SerialBlocks,
    ThreadBlocks,
    make_fingerprint,
    one_blas_thread,
    run_all,
)

ChainArrays = dict[str, FloatArray]


@dataclass(frozen=True, slots=True)
class Resumed:
    """Chains of an earlier run, to go on with."""

    states: list[ChainArrays]  # labeling after labeling


@dataclass(frozen=True, slots=True)
class RunResult:
    """Traces by labeling and chain."""

    traces: list[list[Trace]]
    is_complete: bool  # False if the run was stopped before its last sweep
    states: list[ChainArrays] | None = None  # of all chains, labeling after labeling, to go on with
    is_interrupted: bool = False  # whether Ctrl-C was pressed; who asked for the run raises KeyboardInterrupt

    def label_free(self, labeling: int, n_burn_in: int) -> dict[str, FloatArray]:
        """What of a labeling can be compared between chains: series (chains, sweeps after burn-in) by name.

        `inspection.diagnostics.diagnose` takes them. Chains stopped at different sweeps are cut to the shortest.
        """
        traces = self.traces[labeling]
        n_sweeps = min(trace.n_sweeps for trace in traces)
        names = {"log-likelihood": "log_likelihood", "number of experts": "n_active", "mass": "mass"}
        return {
            name: np.array([getattr(trace, series)[n_burn_in:n_sweeps] for trace in traces])
            for name, series in names.items()
        }


def run_chains(
    data: InMemoryDataset | PartitionedDataset,
    settings: ChainSettings,
    seed: int | SeedSequence | None = None,
    n_chains: int = 1,
    labelings: tuple[int, ...] = (0,),
    options: RunOptions | None = None,
    start: GibbsState | list[GibbsState] | Resumed | None = None,
) -> RunResult:
    """Run `n_chains` chains of each labeling; labeling 0 is that of the data, 1 the opposite.

    Ctrl-C, or a callback that returns True, ends the run after the sweeps under way; what was sampled until then is
    returned, and the result tells which of the two it was. `start` is where all chains begin, or where each of them
    does, labeling after labeling, by default each at a random place of its own; or chains of an earlier run of the
    same data and seed, which then go on to the end of the schedule.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.gibbs import ChainSettings
    >>> from softpolytope.data import InMemoryDataset
    >>> from softpolytope.gibbs import run_chains
    >>> from softpolytope.gibbs import Moves
    >>> from softpolytope.gibbs import Schedule
    >>> from softpolytope.model import Prior
    >>> design = np.array([[1.0, -1.0], [1.0, 1.0], [1.0, 2.0]])
    >>> rows = InMemoryDataset.from_arrays(design, np.array([False, True, True]))
    >>> settings = ChainSettings(3, 1, Prior(precision_shape=1.0, precision_rate=1.0), Moves(), Schedule(20, 10, 5))
    >>> result = run_chains(rows, settings, seed=0, n_chains=2)
    >>> [len(trace.draws) for trace in result.traces[0]]
    [5, 5]
    """
    is_partitioned = isinstance(data, PartitionedDataset)
    if isinstance(data, InMemoryDataset):
        _check_labels(data)
    options = options or RunOptions()
    streams = Streams(seed)
    jobs = [(labeling, chain) for labeling in labelings for chain in range(n_chains)]
    # Where blocks live elsewhere, a thread only waits for them.
    n_threads = data.store.n_tasks if isinstance(data, PartitionedDataset) else options.n_threads
    with one_blas_thread(), ThreadPoolExecutor(max(n_threads, 1)) as pool:
        # Chains on threads if there are enough of them, else the blocks of a chain.
        has_block_threads = n_threads > len(jobs) and not is_partitioned
        make_blocks = partial(_make_blocks, settings, pool if has_block_threads else None, n_threads)
        starts = start if isinstance(start, list) else [None if isinstance(start, Resumed) else start] * len(jobs)
        begun_at = _digest(start)
        chains = [
            Chain(
                make_blocks(data.flipped() if labeling else data),
                data.column_size(),
                settings,
                (streams, labeling, chain),
                first,
            )
            for (labeling, chain), first in zip(jobs, starts, strict=True)
        ]
        if isinstance(start, Resumed):
            for chain, arrays in zip(chains, start.states, strict=True):
                chain.restore(arrays)
            # The files of the run that led here stay as they are: it may be asked for again.
            options = replace(options, folder=f"{options.folder}/on-from-{begun_at[:16]}")
        try:
            runner = _Runner(chains, jobs, settings.schedule.n_sweeps, options)
            runner.resume(make_fingerprint(settings, streams.key, jobs, data.fingerprint, begun_at))
            runner.run(pool if n_threads > 1 and not has_block_threads else None)
            kept = [chain.to_arrays() for chain in chains] if options.keeps_states else None
        finally:
            for chain in chains:
                chain.close()
    traces = [chain.trace for chain in chains]
    grouped = [traces[i * n_chains : (i + 1) * n_chains] for i in range(len(labelings))]
    return RunResult(grouped, all(chain.is_done for chain in chains), kept, runner.is_interrupted)


class _Runner:
    """Drives chains to their end, reporting and writing checkpoints on the way."""

    def __init__(self, chains: list[Chain], jobs: list[tuple[int, int]], n_sweeps: int, options: RunOptions) -> None:
        self._chains = chains
        self._jobs = jobs
        self._n_sweeps = n_sweeps
        self._reporting = Reporting(options.callback)
        self._plan, self._folder = options.checkpoint, options.folder
        files = self._plan.opened(self._folder) if self._plan is not None else None
        self._files = [files.for_chain(*job) if files is not None else None for job in jobs]
        self._fingerprint = ""

    def resume(self, fingerprint: str) -> None:
        """Take up the checkpoints there are."""
        self._fingerprint = fingerprint
        for chain, file in zip(self._chains, self._files, strict=True):
            if file is not None:
                chain.read(file, fingerprint)

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._reporting.is_interrupted()

    def run(self, pool: ThreadPoolExecutor | None) -> None:
        """Run every chain on a thread of the pool, or all of them in turns on one thread."""
        try:
            if pool is None:
                with ThreadPoolExecutor(1) as own:
                    run_all([self._run_in_turns], own, self._reporting)
            else:
                run_all([partial(self._run_one, index) for index in range(len(self._chains))], pool, self._reporting)
        except BlocksLostError as error:
            raise BlocksLostError(f"{error} {self._rescued()}") from error
        self._write_all()

    def _rescued(self) -> str:
        """Write what is left of chains whose blocks were lost, and say where it is."""
        if any(chain.has_counts for chain in self._chains):
            written = [file.path for file in self._files if file is not None and file.path.exists()]
            if not written:
                return "No checkpoint had been written; give a checkpoint folder, or write more often (CheckpointPlan)."
            return "The same fit goes on from its last checkpoints."
        if self._plan is None:
            folder = tempfile.mkdtemp(prefix="softpolytope-")
            files = CheckpointPlan(Path(folder)).opened(self._folder)
            self._files = [files.for_chain(*job) for job in self._jobs]
        self._write_all()
        where = self._plan.folder if self._plan is not None else folder
        return f"The chains are saved in {where}: the same fit, with this folder as checkpoint, goes on from there."

    def _run_in_turns(self) -> None:
        """A sweep each, so that the chains progress together."""
        while not self._reporting.is_stopped() and not all(chain.is_done for chain in self._chains):
            for index in range(len(self._chains)):
                self._sweep(index)

    def _run_one(self, index: int) -> None:
        while not self._reporting.is_stopped() and not self._chains[index].is_done:
            self._sweep(index)

    def _sweep(self, index: int) -> None:
        chain, file = self._chains[index], self._files[index]
        if chain.is_done or self._reporting.is_stopped():
            return
        draw = chain.advance()
        if file is not None and file.is_due(chain.trace.n_sweeps):
            chain.write(file, self._fingerprint)
        labeling, number = self._jobs[index]
        n_done = chain.trace.n_sweeps
        self._reporting.tell(
            Progress(labeling, number, n_done, self._n_sweeps, "sweeps", draw.log_likelihood, draw.n_active)
        )

    def _write_all(self) -> None:
        for chain, file in zip(self._chains, self._files, strict=True):
            if file is not None and chain.trace.n_sweeps > file.last_sweep:
                chain.write(file, self._fingerprint)


def _make_blocks(
    settings: ChainSettings, pool: ThreadPoolExecutor | None, n_threads: int, data: InMemoryDataset | PartitionedDataset
) -> Blocks[LatentBlock]:
    if isinstance(data, PartitionedDataset):
        return partition_blocks(data, settings)
    blocks = latent_blocks(data, settings)
    return SerialBlocks(blocks) if pool is None else ThreadBlocks(blocks, pool, n_threads)


def _check_labels(data: InMemoryDataset) -> None:
    if data.n_rows == 0:
        raise ValueError("there are no rows of positive weight to learn from.")
    for label in (True, False):
        if not (data.labels == label).any():
            raise ValueError(f"there is no {'positive' if label else 'negative'} row; both labels are needed.")


def _digest(start: GibbsState | list[GibbsState] | Resumed | None) -> str:
    """A hash of where chains begin."""
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
