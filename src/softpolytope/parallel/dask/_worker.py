"""Tasks that run on the workers of a Dask cluster, and the cache of each partition store there."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from distributed import get_worker

from softpolytope.parallel import (
    AnyFactory,
    Call,
    PartitionCache,
    Raw,
    SavedState,
    Source,
    allowance,
    collect,
    one_blas_thread,
    read_saved_state,
    saved_state_file,
    write_saved_state,
)

# Share of a worker's own limit that rows and blocks may take; above 0.6 Dask begins to spill, above 0.8 to pause.
SHARE_OF_LIMIT = 0.55

# A partition, the token of the call that built its blocks, and the number of calls that have changed them since.
Wanted: TypeAlias = tuple[int, int, int]

_CACHES: dict[str, PartitionCache] = {}
_USED: dict[str, float] = {}  # time of the last request to a store
_LOCK = threading.Lock()


class StoreInfo(NamedTuple):
    """Description of a partition store, from which a worker opens its cache."""

    name: str
    source: Source | None  # None if rows are sent to the workers
    max_memory: int | None
    largest_bytes: int
    expected_bytes: int


def open_cache(store: StoreInfo) -> PartitionCache:
    """Return the cache of a store in this process, a new one if there is none."""
    with _LOCK:
        if store.name not in _CACHES:
            worker = get_worker()
            limit, max_memory = worker.memory_manager.memory_limit, store.max_memory
            if max_memory is None and limit:
                max_memory = int(SHARE_OF_LIMIT * limit)
            allowed = None
            if max_memory is not None:
                allowed = allowance(max_memory, store.largest_bytes, worker.state.nthreads)
            load = None if store.source is None else store.source.load
            _CACHES[store.name] = PartitionCache(load, allowed, store.expected_bytes)
        _USED[store.name] = time.monotonic()
        return _CACHES[store.name]


def _find_cache(store: str) -> PartitionCache | None:
    """Return the cache of a store, if there is one in this process."""
    with _LOCK:
        if store in _CACHES:
            _USED[store] = time.monotonic()
        return _CACHES.get(store)


def run_calls(
    store: str, owner: str, wanted: list[Wanted], n_partitions: int, calls: list[Call]
) -> tuple[dict[object, object], list[int]]:
    """Make calls in one visit of the blocks of some partitions.

    Return the results of the last call, as sums over nodes of the tree or by partition, and the partitions whose blocks
    are not here.
    """
    cache = _find_cache(store)
    missing: list[int] = []

    def results() -> Iterator[tuple[int, object]]:
        for partition, token, n_changes in wanted:
            if cache is None or not cache.has(owner, partition, token, n_changes):
                missing.append(partition)
            else:
                yield partition, cache.run(owner, partition, calls)

    with one_blas_thread():
        return collect(calls[-1].kind, results(), n_partitions), missing


def can_build(store: str, partitions: list[int], factory: AnyFactory) -> list[int]:
    """Return the partitions whose rows this worker has."""
    cache = _find_cache(store)
    return [] if cache is None else [part for part in partitions if cache.can_build(part, factory)]


def build(
    store: StoreInfo,
    owner: str,
    factory: AnyFactory,
    partitions: list[Wanted],
    raws: list[Raw] | None,
    copy: dict[int, SavedState] | str | None,
    log: list[Call],
) -> list[int]:
    """Build the blocks of partitions from their rows and a copy of their state, or its folder, and repeat calls.

    Return the partitions that were not built because the copy lacks them. The scheduler may have recomputed a copy that
    was lost with its workers where there was nothing to copy.
    """
    cache = open_cache(store)
    absent = [number for number, _, _ in partitions if isinstance(copy, dict) and number not in copy]
    with one_blas_thread():
        for at, (number, token, n_changes) in enumerate(partitions):
            if number in absent:
                continue
            entry = cache.build(owner, number, factory, token, None if raws is None else raws[at])
            saved = (
                read_saved_state(saved_state_file(Path(copy), number))
                if isinstance(copy, str)
                else (copy or {}).get(number)
            )
            if saved is not None:
                cache.restore(owner, number, saved)
            if log:
                # The results were used before.
                cache.run(owner, number, [replace(call, kind="broadcast") for call in log])
            entry.n_changes = n_changes
    return absent


def copy_states(store: str, owner: str, wanted: list[Wanted]) -> dict[int, SavedState]:
    """Return the saved state of some partitions, without those whose blocks are not here."""
    cache = _find_cache(store)
    if cache is None:
        return {}
    return {
        partition: cache.saved_state(owner, partition)
        for partition, token, n_changes in wanted
        if cache.has(owner, partition, token, n_changes)
    }


def list_partitions(copy: dict[int, SavedState]) -> list[int]:
    """Return the partitions of a copy, which itself stays with the workers."""
    return list(copy)


def save(store: str, owner: str, wanted: list[Wanted], folder: str) -> tuple[None, list[int]]:
    """Write saved states into a folder that all workers see; return the partitions whose blocks are not here."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    found = copy_states(store, owner, wanted)
    for partition, saved in found.items():
        write_saved_state(saved_state_file(path, partition), saved)
    return None, [partition for partition, _, _ in wanted if partition not in found]


def release_orphans(clients: set[str], after: float) -> None:
    """Release the stores of all clients except these; the name of a store begins with that of its client.

    Stores used within the last seconds stay, because a disconnected client may connect again.
    """
    with _LOCK:
        now = time.monotonic()
        orphans = [
            store for store, used in _USED.items() if store.rpartition("/")[0] not in clients and now - used > after
        ]
    for store in orphans:
        release(store, None)


def release(store: str, owner: str | None) -> None:
    """Release the blocks of an owner, or everything of a store."""
    if owner is not None:
        if store in _CACHES:
            _CACHES[store].release(owner)
        return
    with _LOCK:
        cache = _CACHES.pop(store, None)
        _USED.pop(store, None)
    if cache is not None:
        cache.close()
