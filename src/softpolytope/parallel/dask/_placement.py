"""Partition store on the workers of a Dask cluster, and the assignment of partitions to their threads.

Neighboring partitions are assigned to the same thread, so that a worker returns few nodes of the tree of sums.
"""

import itertools
import math
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from distributed import Client, Future, fire_and_forget

from softpolytope.exceptions import BlocksLostError
from softpolytope.parallel import BlockFactory, Source
from softpolytope.parallel.dask import _worker as dask_worker
from softpolytope.parallel.dask._blocks import Block, DaskBlocks
from softpolytope.parallel.dask._cluster import Cluster, Sent, Slot

# Seconds between two looks for workers that have joined.
BETWEEN_REBALANCES = 3.0
# Seconds that workers may take to release everything at the end.
CLOSING_PATIENCE = 5.0
# Seconds without use after which the rows of a disconnected client are released.
ORPHANS_AFTER = 60.0
# Chains or optimizations that wait for workers at once.
MAX_TASKS = 16


class DaskPartitionStore:
    """Partitions on the workers of a Dask cluster."""

    n_tasks = MAX_TASKS

    def __init__(self, source: Source, client: Client, max_memory: int | None) -> None:
        self.cluster = Cluster(client)
        self.delayed = source.delayed
        self.n_partitions = source.n_partitions
        self.name = f"{client.id}/{uuid.uuid4().hex}"
        # Rows of Dask collections come as results of tasks; those in files are read by the workers.
        expected = source.largest_bytes * source.n_partitions // max(1, len(self.cluster.usable()))
        self.info = dask_worker.StoreInfo(
            self.name, None if source.delayed is not None else source, max_memory, source.largest_bytes, expected
        )
        self.tokens = itertools.count(1)
        self._numbers = itertools.count()
        self._lock = threading.RLock()
        self._slots: dict[int, Slot] = {}
        self._addresses: set[str] = set()  # of all workers that have had partitions
        self._looked = time.monotonic()
        usable = self.cluster.import_on_workers()
        self._assign(_list_slots(usable))
        self._release_orphans(usable)

    def blocks(self, factory: BlockFactory[Any, Block]) -> DaskBlocks[Block]:
        """Return the blocks that a factory makes of the partitions."""
        return DaskBlocks(self, factory, str(next(self._numbers)))

    def close(self) -> None:
        """Release all rows and blocks."""
        # If the client is closed next, tasks that are not done are canceled. Workers that are gone have nothing left.
        with suppress(BlocksLostError):
            self.cluster.gather(self.release(None), CLOSING_PATIENCE)
        self.cluster.close()

    def release(self, owner: str | None) -> list[Sent]:
        """Send tasks that release the blocks of an owner, or everything, on all workers; busy ones run them later."""
        if self.cluster.is_lost:
            return []
        try:
            known = self.cluster.known()
        except BlocksLostError:
            return []
        with self._lock:
            # Workers that were abandoned, and are there again or still, have their blocks.
            slots = [Slot(address, 0) for address in sorted(self._addresses & known)]
        return self._send_to(slots, dask_worker.release, self.name, owner)

    def _release_orphans(self, usable: Iterable[str]) -> None:
        """Release what killed clients have left on the workers."""
        clients = self.cluster.clients()
        if clients is not None:
            slots = [Slot(address, 0) for address in sorted(usable)]
            self._send_to(slots, dask_worker.release_orphans, clients, ORPHANS_AFTER)

    def _send_to(self, slots: list[Slot], function: Callable[..., None], *arguments: object) -> list[Sent]:
        """Send tasks that run even if no one waits for them."""
        asked = [(slot, self.cluster.submit(slot, function, *arguments)) for slot in slots]
        for _, future in asked:
            if isinstance(future, Future):
                fire_and_forget(future)
        return asked

    def by_slot(self, partitions: list[int]) -> dict[Slot, list[int]]:
        """Return partitions by the thread that has them."""
        with self._lock:
            found: defaultdict[Slot, list[int]] = defaultdict(list)
            for partition in sorted(partitions):
                found[self._slots[partition]].append(partition)
            return dict(found)

    def give_up(self, slots: set[Slot]) -> None:
        """Assign the partitions of lost workers to the others."""
        with self._lock:
            usable = self.cluster.import_on_workers()
            usable = {
                address: usable[address] for address in usable if address not in {s.address for s in slots}
            } or usable
            self._move_to(_list_slots(usable))

    def rebalance(self) -> None:
        """Every few seconds, move partitions to workers that have joined."""
        with self._lock:
            if time.monotonic() - self._looked < BETWEEN_REBALANCES:
                return
            usable = _list_slots(self.cluster.import_on_workers())
            if set(usable) - set(self._slots.values()):
                self._move_to(usable)
            self._looked = time.monotonic()

    def _assign(self, slots: list[Slot]) -> None:
        """Assign neighboring partitions to each thread, whole branches of the tree of sums where possible."""
        n_parts, n_slots = self.n_partitions, len(slots)
        # Branches of 2^height partitions, at least eight for every thread if there are so many partitions.
        height = max(0, int(math.log2(max(1, n_parts / (8 * n_slots)))))
        n_branches = -(-n_parts // 2**height)
        for partition in range(n_parts):
            self._slots[partition] = slots[(partition >> height) * n_slots // n_branches]
        self._addresses.update(slot.address for slot in self._slots.values())

    def _move_to(self, slots: list[Slot]) -> None:
        """Even out the numbers of partitions on these threads, moving as few partitions as possible."""
        owned: dict[Slot, list[int]] = {slot: [] for slot in slots}
        unassigned: list[int] = []
        for partition, slot in sorted(self._slots.items()):
            owned.get(slot, unassigned).append(partition)
        most = -(-self.n_partitions // len(slots))
        for parts in owned.values():
            unassigned.extend(parts[most:])
            del parts[most:]
        for partition in sorted(unassigned):
            slot = min(owned, key=lambda item: len(owned[item]))
            owned[slot].append(partition)
        least = self.n_partitions // len(slots)
        for own in owned.values():
            while len(own) < least:
                own.append(max(owned.values(), key=len).pop())
        self._slots = {partition: slot for slot, parts in owned.items() for partition in parts}
        self._addresses.update(slot.address for slot in self._slots.values())


def _list_slots(usable: dict[str, int]) -> list[Slot]:
    return [Slot(address, thread) for address in sorted(usable) for thread in range(usable[address])]
