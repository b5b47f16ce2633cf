"""Blocks on the workers of a Dask cluster.

A call is one task for every thread, with parameters as arguments and sums as result. Tasks are tied to their worker,
which keeps blocks between calls (`_worker`). Dask does not know of the blocks and cannot move them.

The state of a block follows from its rows, a copy of an earlier state, and the calls since that copy, which the client
keeps; their parameters are small. Blocks lost with a worker that died or froze are therefore built on another worker,
and all calls are repeated with the same random streams, to the same bits. Every time that blocks are built they get a
new token, so that answers of an abandoned worker, and of blocks that missed a call, are recognized and ignored.
"""

import copy
import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from distributed import Future

from softpolytope.exceptions import BlocksLostError
from softpolytope.parallel import BlockFactory, Call, DeferringBlocks
from softpolytope.parallel.dask import _worker as dask_worker
from softpolytope.parallel.dask._cluster import LOST, MIN_PATIENCE, PATIENCE_FACTOR, Slot

if TYPE_CHECKING:
    from softpolytope.parallel.dask._placement import DaskPartitionStore

# Attempts to make a call on partitions whose blocks are lost during it.
MAX_ATTEMPTS = 12
# Seconds that the first loading of rows may take, for a thread's share of the partitions or two Dask partitions.
FIRST_BUILD_PATIENCE = 3600.0
# Dask partitions that are sent to a thread at once; they are in memory twice.
PARTITIONS_AT_ONCE = 2
SWEEPS_BETWEEN_COPIES = 10

P = ParamSpec("P")
Block = TypeVar("Block")


@dataclass
class ReplayPoint:
    """Starting point of lost blocks: new blocks, copies on workers, or copies in a folder; then logged calls."""

    copies: dict[int, Future] | None = None
    folder: str | None = None
    log: list[Call] = field(default_factory=list)  # calls that have changed blocks since


class DaskBlocks(DeferringBlocks[Block]):
    """Blocks of the partitions on a cluster, rebuilt where they are lost."""

    def __init__(self, store: "DaskPartitionStore", factory: BlockFactory[Any, Block], name: str) -> None:
        super().__init__(store.n_partitions)
        self._store, self._factory, self._name = store, factory, name
        self._tokens = dict.fromkeys(range(store.n_partitions), 0)
        self._n_changes = 0
        self._n_sweeps = 0
        # The first is always available; copies may be lost.
        self._replay_points = [ReplayPoint()]
        self._lock = threading.RLock()
        self._seconds: dict[Callable[..., object], float] = {}  # the longest that a call of a method has taken
        self._build_seconds = 0.0  # the longest that building blocks has taken

    def mark_replay_point(
        self, method: Callable[Concatenate[Block, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Declare that recovery can start from new blocks and this call; earlier calls are dropped from the log."""
        self._flush()
        call = Call("broadcast", method, *copy.deepcopy((args, kwargs)))
        with self._lock:
            self._replay_points = [ReplayPoint(log=[call])]

    def replicate(self) -> None:
        """Every few sweeps, keep copies of the state of blocks, on two workers each."""
        self._n_sweeps += 1
        if self._n_sweeps % SWEEPS_BETWEEN_COPIES:
            return
        self._flush()
        by_slot = self._store.by_slot(list(self._tokens))
        cluster = self._store.cluster
        made = [
            (
                slot,
                cluster.submit(slot, dask_worker.copy_states, self._store.name, self._name, self._wanted(partitions)),
            )
            for slot, partitions in by_slot.items()
        ]
        held = [(slot, cluster.submit(slot, dask_worker.list_partitions, future)) for slot, future in made]
        found: dict[int, Future] = {}
        for (_, future), partitions in zip(made, cluster.gather(held), strict=True):
            if partitions is not LOST and isinstance(future, Future):
                found.update(dict.fromkeys(partitions, future))
        cluster.replicate(list({future.key: future for future in found.values()}.values()))
        with self._lock:
            self._replay_points = [self._replay_points[0], ReplayPoint(copies=found)]

    def save(self, folder: Path) -> None:
        """Write saved states into a folder that all workers see, from which lost blocks are rebuilt."""
        path = str(folder.resolve())
        self._flush()
        self._ask_all(lambda wanted: (dask_worker.save, (self._store.name, self._name, wanted, path)))
        with self._lock:
            self._replay_points = [ReplayPoint(folder=path)]

    def load(self, folder: Path) -> None:
        """Rebuild all blocks from the saved states in a folder."""
        self._take_deferred()
        with self._lock:
            self._replay_points = [ReplayPoint(folder=str(folder.resolve()))]
            self._n_changes = 0
            self._tokens = dict.fromkeys(self._tokens, 0)

    def close(self) -> None:
        """Release the blocks."""
        self._store.release(self._name)

    def _run(self, calls: list[Call]) -> dict[Any, Any]:
        """Make calls in one visit of every block; return results of the last, by node of the tree or partition."""
        method = calls[-1].method
        n_partitions = self._n_partitions
        self._store.rebalance()
        longest = self._seconds.get(method, math.inf)
        start = time.monotonic()
        found: dict[Any, Any] = self._ask_all(
            lambda wanted: (dask_worker.run_calls, (self._store.name, self._name, wanted, n_partitions, calls)),
            max(PATIENCE_FACTOR * longest, MIN_PATIENCE),
        )
        self._seconds[method] = max(self._seconds.get(method, 0.0), time.monotonic() - start)
        changes = [copy.deepcopy(call) for call in calls if not call.is_read_only]
        with self._lock:
            self._n_changes += len(changes)
            for point in self._replay_points:
                point.log.extend(changes)
        return found

    def _ask_all(
        self,
        task: Callable[[list[dask_worker.Wanted]], tuple[Callable[..., Any], tuple[Any, ...]]],
        patience: float = math.inf,
    ) -> Any:
        """Send a task to every thread for its partitions until all have answered, and return the results."""
        found: dict[Any, Any] = {}
        left = list(self._tokens)
        cluster = self._store.cluster
        for _ in range(MAX_ATTEMPTS):
            by_slot = self._store.by_slot(left)
            asked = {slot: self._wanted(partitions) for slot, partitions in by_slot.items()}
            futures = []
            for slot, wanted in asked.items():
                function, arguments = task(wanted)
                futures.append((slot, cluster.submit(slot, function, *arguments)))
            lost: set[Slot] = set()
            missing: dict[int, int] = {}
            for slot, answer in zip(asked, cluster.gather(futures, patience), strict=True):
                if answer is LOST:
                    lost.add(slot)
                    missing.update({partition: token for partition, token, _ in asked[slot]})
                else:
                    results, absent = answer
                    found.update(results or {})
                    tokens = {partition: token for partition, token, _ in asked[slot]}
                    missing.update({partition: tokens[partition] for partition in absent})
            if not missing:
                return found
            if lost:
                self._store.give_up(lost)
            self._build(missing)
            left = list(missing)
        raise BlocksLostError(
            f"Blocks were lost in each of {MAX_ATTEMPTS} attempts to make one call; the last reason was: "
            f"{(cluster.errors or ['none'])[-1]}."
        )

    def _wanted(self, partitions: list[int]) -> list[dask_worker.Wanted]:
        with self._lock:
            return [(partition, self._tokens[partition], self._n_changes) for partition in partitions]

    def _build(self, missing: dict[int, int]) -> None:
        """Rebuild missing blocks, unless another call has just done so; failures are missing at the next call."""
        with self._lock:
            todo = [partition for partition, token in missing.items() if self._tokens[partition] == token]
            self._tokens.update({partition: next(self._store.tokens) for partition in todo})
            for start in reversed(self._replay_points):
                has_copy = self._with_copies(start, todo)
                self._build_from(start, has_copy)
                todo = [partition for partition in todo if partition not in has_copy]

    def _with_copies(self, start: ReplayPoint, partitions: list[int]) -> list[int]:
        """Return the partitions that can start from a replay point."""
        if start.copies is None:
            return partitions
        alive = self._store.cluster.find_alive(list({future.key: future for future in start.copies.values()}.values()))
        return [part for part in partitions if part in start.copies and start.copies[part].key in alive]

    def _build_from(self, start: ReplayPoint, partitions: list[int]) -> None:
        queues = self._store.by_slot(partitions)
        if self._store.delayed is not None:
            self._build_with_rows(start, queues)
        at_once = PARTITIONS_AT_ONCE if self._store.delayed is not None else self._n_partitions
        while any(queues.values()):
            batch = {slot: queue[:at_once] for slot, queue in queues.items() if queue}
            queues = {slot: queue[at_once:] for slot, queue in queues.items()}
            self._send(start, batch, delayed=self._store.delayed)

    def _build_with_rows(self, start: ReplayPoint, queues: dict[Slot, list[int]]) -> None:
        """Build blocks on workers that have their rows, and remove them from the queues."""
        cluster = self._store.cluster
        slots = list(queues)
        asked = [
            (slot, cluster.submit(slot, dask_worker.can_build, self._store.name, queues[slot], self._factory))
            for slot in slots
        ]
        ready = {
            slot: answer
            for slot, answer in zip(slots, cluster.gather(asked), strict=True)
            if answer is not LOST and answer
        }
        self._send(start, ready)
        for slot, partitions in ready.items():
            queues[slot] = [partition for partition in queues[slot] if partition not in partitions]

    def _send(self, start: ReplayPoint, batch: dict[Slot, list[int]], delayed: list[Any] | None = None) -> None:
        """Build blocks on the threads of their partitions, from rows there or from delayed partitions."""
        cluster = self._store.cluster
        futures = []
        for slot, partitions in batch.items():
            raws = None if delayed is None else cluster.compute(slot, [delayed[number] for number in partitions])
            # Copies made together are one result; partitions with different copies are built in different tasks.
            for copied, group in _group_by_copy(start, partitions).items():
                own = None if raws is None else [raws[partitions.index(partition)] for partition in group]
                arguments = (
                    self._store.info,
                    self._name,
                    self._factory,
                    self._wanted(group),
                    own,
                    start.folder if copied is None else copied,
                    start.log,
                )
                futures.append((slot, cluster.submit(slot, dask_worker.build, *arguments)))
        begin = time.monotonic()
        longest = self._build_seconds or FIRST_BUILD_PATIENCE / PATIENCE_FACTOR
        for absent in cluster.gather(futures, max(PATIENCE_FACTOR * longest, MIN_PATIENCE)):
            if absent is not LOST and start.copies is not None:
                for partition in absent:
                    start.copies.pop(partition, None)
        self._build_seconds = max(self._build_seconds, time.monotonic() - begin)


def _group_by_copy(start: ReplayPoint, partitions: list[int]) -> dict[Future | None, list[int]]:
    """Return partitions by the copy they start from."""
    if start.copies is None:
        return {None: partitions}
    found: defaultdict[Future | None, list[int]] = defaultdict(list)
    for partition in partitions:
        found[start.copies[partition]].append(partition)
    return dict(found)
