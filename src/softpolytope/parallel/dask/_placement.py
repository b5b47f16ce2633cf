"""Partitions of rows on the workers of a Dask cluster: who has which.

Partitions are dealt to the threads of the workers, neighbors together, so that a worker returns few nodes of the tree
of sums.
"""

import itertools
import math
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Self

from distributed import Future, fire_and_forget

from softpolytope.exceptions import BlocksLostError
from softpolytope.parallel import BlockFactory, Source
from softpolytope.parallel.dask import _worker as dask_worker
from softpolytope.parallel.dask._blocks import Block, DaskBlocks
from softpolytope.parallel.dask._cluster import Cluster, Slot

# Seconds between two looks for workers that have joined.
BETWEEN_REBALANCES = 3.0
# Seconds that workers may take to forget everything at the end.
CLOSING_PATIENCE = 5.0
# Seconds for which rows of a client that is not connected must have been of no use before they are forgotten.
ORPHANS_AFTER = 60.0
# Chains or climbs that wait for workers at once.
MAX_TASKS = 16


class DaskPartitionStore:
    """Partitions on the workers of a cluster."""

    n_tasks = MAX_TASKS

    def __init__(self, source: Source, client: Any, max_memory: int | None) -> None:
        self.cluster = Cluster(client)
        self.source = source
        self.n_partitions = source.n_partitions
        self.name = f"{client.id}/{uuid.uuid4().hex}"
        # Rows of Dask collections come as results of tasks; those in files are read by the workers.
        expected = source.largest_bytes * source.n_partitions // max(1, len(self.cluster.usable()))
        self.on_worker = (self.name, None if source.is_dask else source, max_memory, source.largest_bytes, expected)
        self.tokens = itertools.count(1)
        self._numbers = itertools.count()
        self._lock = threading.RLock()
        self._slots: dict[int, Slot] = {}
        self._addresses: set[str] = set()  # of all workers that have had partitions
        self._looked = time.monotonic()
        usable = self.cluster.introduced()
        self._deal(_slots_of(usable))
        self._leave_orphans(usable)

    def blocks(self, factory: BlockFactory[Any, Block]) -> DaskBlocks[Block]:
        """Return the blocks that a factory makes of the partitions."""
        return DaskBlocks(self, factory, str(next(self._numbers)))

    def close(self) -> None:
        """Forget all rows and blocks."""
        # Who closes the client next would cancel what is not done yet; who is gone has forgotten.
        with suppress(BlocksLostError):
            self.cluster.gathered(self._forgetting(None), CLOSING_PATIENCE)
        self.cluster.close()

    def forget(self, home: str) -> None:
        """Let all workers forget a home."""
        with suppress(BlocksLostError):
            self._forgetting(home)

    def _forgetting(self, home: str | None) -> list[tuple[Slot, Any]]:
        """Tasks that let all workers forget a home, or this place; whoever is busy will do it later."""
        if self.cluster.is_lost:
            return []
        with self._lock:
            # Those that were given up, and are there again or still, have what they had.
            slots = [Slot(address, 0) for address in sorted(self._addresses & self.cluster.known())]
        return self._told(slots, dask_worker.leave, self.name, home)

    def _leave_orphans(self, usable: Iterable[str]) -> None:
        """Let workers forget what clients that were killed have left with them."""
        clients = self.cluster.clients()
        if clients is not None:
            slots = [Slot(address, 0) for address in sorted(usable)]
            self._told(slots, dask_worker.leave_orphans, clients, ORPHANS_AFTER)

    def _told(self, slots: list[Slot], function: Callable[..., None], *arguments: Any) -> list[tuple[Slot, Any]]:
        """Tasks that are done even if no one waits for them."""
        asked = [(slot, self.cluster.submit(slot, function, *arguments)) for slot in slots]
        for _, future in asked:
            if isinstance(future, Future):
                fire_and_forget(future)
        return asked

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def by_slot(self, partitions: list[int]) -> dict[Slot, list[int]]:
        """Partitions by the thread that has them."""
        with self._lock:
            found: defaultdict[Slot, list[int]] = defaultdict(list)
            for partition in sorted(partitions):
                found[self._slots[partition]].append(partition)
            return dict(found)

    def give_up(self, slots: set[Slot]) -> None:
        """Deal the partitions of workers that are gone to the others."""
        with self._lock:
            usable = self.cluster.introduced()
            usable = {
                address: usable[address] for address in usable if address not in {s.address for s in slots}
            } or usable
            self._move_to(_slots_of(usable))

    def rebalance(self) -> None:
        """Every few seconds, give partitions to workers that have joined."""
        with self._lock:
            if time.monotonic() - self._looked < BETWEEN_REBALANCES:
                return
            usable = _slots_of(self.cluster.introduced())
            if set(usable) - set(self._slots.values()):
                self._move_to(usable)
            self._looked = time.monotonic()

    def _deal(self, slots: list[Slot]) -> None:
        """Deal neighboring partitions to each thread, whole branches of the tree of sums where possible."""
        n_parts, n_slots = self.n_partitions, len(slots)
        # Branches of 2^height partitions, at least eight for every thread if there are so many partitions.
        height = max(0, int(math.log2(max(1, n_parts / (8 * n_slots)))))
        n_branches = -(-n_parts // 2**height)
        for partition in range(n_parts):
            self._slots[partition] = slots[(partition >> height) * n_slots // n_branches]
        self._addresses.update(slot.address for slot in self._slots.values())

    def _move_to(self, slots: list[Slot]) -> None:
        """Even out the numbers of partitions, moving as few as possible; `slots` are all that may have any."""
        owned: dict[Slot, list[int]] = {slot: [] for slot in slots}
        homeless: list[int] = []
        for partition, slot in sorted(self._slots.items()):
            owned.get(slot, homeless).append(partition)
        most = -(-self.n_partitions // len(slots))
        for parts in owned.values():
            homeless.extend(parts[most:])
            del parts[most:]
        for partition in sorted(homeless):
            slot = min(owned, key=lambda item: len(owned[item]))
            owned[slot].append(partition)
        least = self.n_partitions // len(slots)
        for own in owned.values():
            while len(own) < least:
                own.append(max(owned.values(), key=len).pop())
        self._slots = {partition: slot for slot, parts in owned.items() for partition in parts}
        self._addresses.update(slot.address for slot in self._slots.values())


def _slots_of(usable: dict[str, int]) -> list[Slot]:
    return [Slot(address, thread) for address in sorted(usable) for thread in range(usable[address])]
