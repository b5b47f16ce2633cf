"""Blocks on the workers of a Dask cluster.

A call is one task for every thread: parameters out, sums back. Tasks are tied to their worker, which keeps blocks
between calls (`dask_worker.py`); blocks are not Dask's to move, since it could not build them anew.

What a block knows follows from its rows, a copy, and the calls since that copy. The client has these calls: parameters,
which are small. So blocks that are gone, with a worker that died, froze or was never told, are built elsewhere from
their source, and all calls are made again with the same streams of random numbers, to the same bits. Every building has
a token: answers of a worker that was given up, and of blocks that missed a call, are of no use and recognized.
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

# Times that a call is made again for partitions whose blocks were lost during it.
MAX_ATTEMPTS = 12
# Seconds that the first loading of rows may take, for a thread's share of the partitions or two Dask partitions.
FIRST_BUILD_PATIENCE = 3600.0
# Dask partitions that a thread is sent at once, to bound what is in memory twice.
PARTITIONS_AT_ONCE = 2
SWEEPS_BETWEEN_COPIES = 10

P = ParamSpec("P")
Block = TypeVar("Block")


@dataclass
class _Base:
    """Where blocks that are built anew start: from new, from copies on workers, or from copies in a folder."""

    copies: dict[int, Future] | None = None
    folder: str | None = None
    log: list[Call] = field(default_factory=list)  # what changed blocks since


class DaskBlocks(DeferringBlocks[Block]):
    """Blocks of the partitions on a cluster."""

    def __init__(self, place: "DaskPartitionStore", recipe: BlockFactory[Any, Block], name: str) -> None:
        super().__init__(place.n_partitions)
        self._place, self._recipe, self._name = place, recipe, name
        self._tokens = dict.fromkeys(range(place.n_partitions), 0)
        self._n_changes = 0
        self._n_sweeps = 0
        # The first can always be had; others come and go.
        self._bases = [_Base()]
        self._lock = threading.RLock()
        self._seconds: dict[Callable[..., object], float] = {}  # the longest that a call of a method has taken
        self._build_seconds = 0.0  # the longest that building blocks has taken

    # What inference asks for.

    def mark_replay_point(
        self, method: Callable[Concatenate[Block, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Start recovery from new blocks and this call; calls before it are forgotten."""
        self._flush()
        call = Call("broadcast", method, *copy.deepcopy((args, kwargs)))
        with self._lock:
            self._bases = [_Base(log=[call])]

    def replicate(self) -> None:
        """Every few sweeps, keep copies of what blocks know on two workers each."""
        self._n_sweeps += 1
        if self._n_sweeps % SWEEPS_BETWEEN_COPIES:
            return
        self._flush()
        by_slot = self._place.by_slot(list(self._tokens))
        cluster = self._place.cluster
        made = [
            (slot, cluster.submit(slot, dask_worker.copies, self._place.name, self._name, self._wanted(partitions)))
            for slot, partitions in by_slot.items()
        ]
        held = [(slot, cluster.submit(slot, dask_worker.partitions_of, future)) for slot, future in made]
        found: dict[int, Future] = {}
        for (_, future), partitions in zip(made, cluster.gathered(held), strict=True):
            if partitions is not LOST and isinstance(future, Future):
                found.update(dict.fromkeys(partitions, future))
        cluster.replicated(list({future.key: future for future in found.values()}.values()))
        with self._lock:
            self._bases = [self._bases[0], _Base(copies=found)]

    def save(self, folder: Path) -> None:
        """Let the workers write remnants into a folder, which they must all see; blocks built anew start there."""
        path = str(folder.resolve())
        self._flush()
        self._ask_all(lambda wanted: (dask_worker.save, (self._place.name, self._name, wanted, path)))
        with self._lock:
            self._bases = [_Base(folder=path)]

    def load(self, folder: Path) -> None:
        """Build all blocks from the remnants in a folder."""
        self._take_deferred()
        with self._lock:
            self._bases = [_Base(folder=str(folder.resolve()))]
            self._n_changes = 0
            self._tokens = dict.fromkeys(self._tokens, 0)

    def close(self) -> None:
        """Release the blocks."""
        self._place.forget(self._name)

    # Calls, and what is done when blocks are missing.

    def _run(self, calls: list[Call]) -> dict[Any, Any]:
        """Make calls in one visit of every block; results of the last by node of the tree, or by partition."""
        method = calls[-1].method
        n_partitions = self._n_partitions
        self._place.rebalance()
        longest = self._seconds.get(method, math.inf)
        start = time.monotonic()
        found: dict[Any, Any] = self._ask_all(
            lambda wanted: (dask_worker.run_calls, (self._place.name, self._name, wanted, n_partitions, calls)),
            max(PATIENCE_FACTOR * longest, MIN_PATIENCE),
        )
        self._seconds[method] = max(self._seconds.get(method, 0.0), time.monotonic() - start)
        changes = [copy.deepcopy(call) for call in calls if not call.is_read_only]
        with self._lock:
            self._n_changes += len(changes)
            for base in self._bases:
                base.log.extend(changes)
        return found

    def _ask_all(
        self,
        task: Callable[[list[dask_worker.Wanted]], tuple[Callable[..., Any], tuple[Any, ...]]],
        patience: float = math.inf,
    ) -> Any:
        """Send a task to every thread for its partitions, until all partitions have answered."""
        found: dict[Any, Any] = {}
        left = list(self._tokens)
        cluster = self._place.cluster
        for _ in range(MAX_ATTEMPTS):
            by_slot = self._place.by_slot(left)
            asked = {slot: self._wanted(partitions) for slot, partitions in by_slot.items()}
            futures = []
            for slot, wanted in asked.items():
                function, arguments = task(wanted)
                futures.append((slot, cluster.submit(slot, function, *arguments)))
            lost: set[Slot] = set()
            missing: dict[int, int] = {}
            for slot, answer in zip(asked, cluster.gathered(futures, patience), strict=True):
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
                self._place.give_up(lost)
            self._build(missing)
            left = list(missing)
        raise BlocksLostError(
            f"blocks were lost {MAX_ATTEMPTS} times in one call, and it was given up; the last reason was: "
            f"{(cluster.errors or ['none'])[-1]}."
        )

    def _wanted(self, partitions: list[int]) -> list[dask_worker.Wanted]:
        with self._lock:
            return [(partition, self._tokens[partition], self._n_changes) for partition in partitions]

    def _build(self, missing: dict[int, int]) -> None:
        """Build blocks anew, unless another call has just done so; those that fail are missing at the next call."""
        with self._lock:
            todo = [partition for partition, token in missing.items() if self._tokens[partition] == token]
            self._tokens.update({partition: next(self._place.tokens) for partition in todo})
            for base in reversed(self._bases):
                has_copy = self._with_copies(base, todo)
                self._build_from(base, has_copy)
                todo = [partition for partition in todo if partition not in has_copy]

    def _with_copies(self, base: _Base, partitions: list[int]) -> list[int]:
        """The partitions that can start from a base."""
        if base.copies is None:
            return partitions
        alive = self._place.cluster.alive(list({future.key: future for future in base.copies.values()}.values()))
        return [part for part in partitions if part in base.copies and base.copies[part].key in alive]

    def _build_from(self, base: _Base, partitions: list[int]) -> None:
        queues = self._place.by_slot(partitions)
        if self._place.source.is_dask:
            self._build_those_with_rows(base, queues)
        at_once = PARTITIONS_AT_ONCE if self._place.source.is_dask else max(map(len, queues.values()), default=1)
        while any(queues.values()):
            batch = {slot: queue[:at_once] for slot, queue in queues.items() if queue}
            queues = {slot: queue[at_once:] for slot, queue in queues.items()}
            self._send(base, batch, has_rows=not self._place.source.is_dask)

    def _build_those_with_rows(self, base: _Base, queues: dict[Slot, list[int]]) -> None:
        """Build what workers have rows for already, and take it out of the queues."""
        cluster = self._place.cluster
        slots = list(queues)
        asked = [
            (slot, cluster.submit(slot, dask_worker.can_make, self._place.name, queues[slot], self._recipe))
            for slot in slots
        ]
        ready = {
            slot: answer
            for slot, answer in zip(slots, cluster.gathered(asked), strict=True)
            if answer is not LOST and answer
        }
        self._send(base, ready, has_rows=True)
        for slot, partitions in ready.items():
            queues[slot] = [partition for partition in queues[slot] if partition not in partitions]

    def _send(self, base: _Base, batch: dict[Slot, list[int]], *, has_rows: bool) -> None:
        """Have blocks built on the threads that are to have them."""
        cluster = self._place.cluster
        futures = []
        for slot, partitions in batch.items():
            source: Any = self._place.source
            parts = None if has_rows else [source.parts[partition] for partition in partitions]
            raws = None if parts is None else cluster.computed(slot, parts)
            # Copies made together are one; partitions of several are built in as many tasks.
            for start, group in _by_copy(base, partitions).items():
                own = None if raws is None else [raws[partitions.index(partition)] for partition in group]
                copied: Any = base.folder if start is None else start
                arguments = (
                    self._place.on_worker,
                    self._name,
                    self._recipe,
                    self._wanted(group),
                    own,
                    copied,
                    base.log,
                )
                futures.append((slot, cluster.submit(slot, dask_worker.build, *arguments)))
        start = time.monotonic()
        longest = self._build_seconds or FIRST_BUILD_PATIENCE / PATIENCE_FACTOR
        for absent in cluster.gathered(futures, max(PATIENCE_FACTOR * longest, MIN_PATIENCE)):
            if absent is not LOST and base.copies is not None:
                for partition in absent:
                    base.copies.pop(partition, None)
        self._build_seconds = max(self._build_seconds, time.monotonic() - start)


def _by_copy(base: _Base, partitions: list[int]) -> dict[Future | None, list[int]]:
    """Partitions by the copy they start from."""
    if base.copies is None:
        return {None: partitions}
    found: defaultdict[Future | None, list[int]] = defaultdict(list)
    for partition in partitions:
        found[base.copies[partition]].append(partition)
    return dict(found)
