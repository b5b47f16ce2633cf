"""What runs on the workers of a Dask cluster: a keeper for each place, and the tasks that are sent to it."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from distributed import get_worker

from softpolytope.parallel import (
    BlockFactory,
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

Wanted = tuple[int, int, int]  # a partition, the token of its building, and how often its blocks were changed since

_KEEPERS: dict[str, PartitionCache] = {}
_USED: dict[str, float] = {}  # when a place was last asked for anything
_LOCK = threading.Lock()


def keeper_of(
    place: str, source: Source | None, max_memory: int | None, largest_bytes: int, expected_bytes: int
) -> PartitionCache:
    """The keeper of a place in this process."""
    with _LOCK:
        if place not in _KEEPERS:
            worker = get_worker()
            limit = worker.memory_manager.memory_limit
            if max_memory is None and limit:
                max_memory = int(SHARE_OF_LIMIT * limit)
            allowed = None
            if max_memory is not None:
                allowed = allowance(max_memory, largest_bytes, worker.state.nthreads)
            _KEEPERS[place] = PartitionCache(None if source is None else source.load, allowed, expected_bytes)
        _USED[place] = time.monotonic()
        return _KEEPERS[place]


def _known_keeper(place: str) -> PartitionCache | None:
    """The keeper of a place, if there is one."""
    with _LOCK:
        if place in _KEEPERS:
            _USED[place] = time.monotonic()
        return _KEEPERS.get(place)


def run_calls(place: str, home: str, wanted: list[Wanted], n_partitions: int, calls: list[Call]) -> Any:
    """Make calls in one visit of the blocks of some partitions.

    Returns sums over nodes of the tree (or results by partition) of the last call, and the partitions whose blocks are
    not here.
    """
    keeper = _known_keeper(place)
    missing: list[int] = []

    def results() -> Iterator[tuple[int, Any]]:
        for partition, token, number in wanted:
            if keeper is None or not keeper.has(home, partition, token, number):
                missing.append(partition)
            else:
                yield partition, keeper.run(home, partition, calls)

    with one_blas_thread():
        return collect(calls[-1].kind, results(), n_partitions), missing


def can_make(place: str, partitions: list[int], recipe: BlockFactory[Any, Any]) -> list[int]:
    """Which of some partitions this worker has rows of."""
    keeper = _known_keeper(place)
    return [] if keeper is None else [part for part in partitions if keeper.can_make(part, recipe)]


def build(
    place: tuple[str, Source | None, int | None, int, int],
    home: str,
    recipe: BlockFactory[Any, Any],
    partitions: list[Wanted],
    raws: list[Raw] | None,
    copy: dict[int, SavedState] | str | None,
    log: list[Call],
) -> list[int]:
    """Make the blocks of partitions anew: from their rows and a copy (or the folder it is in), then call after call.

    Returns partitions that were not built, because the copy has nothing of them: one that was lost with its workers may
    have been made again by the scheduler, where there was nothing to copy.
    """
    keeper = keeper_of(*place)
    absent = [number for number, _, _ in partitions if isinstance(copy, dict) and number not in copy]
    with one_blas_thread():
        for at, (number, token, n_changes) in enumerate(partitions):
            if number in absent:
                continue
            stay = keeper.take(home, number, recipe, token, None if raws is None else raws[at])
            remnants = (
                read_saved_state(saved_state_file(Path(copy), number))
                if isinstance(copy, str)
                else (copy or {}).get(number)
            )
            if remnants is not None:
                keeper.restore(home, number, remnants)
            if log:
                # The results have been used; the last one is not wanted again.
                keeper.run(home, number, [replace(call, kind="broadcast") for call in log])
            stay.number = n_changes
    return absent


def copies(place: str, home: str, wanted: list[Wanted]) -> dict[int, SavedState]:
    """Remnants of the blocks of some partitions, as far as they are here."""
    keeper = _known_keeper(place)
    if keeper is None:
        return {}
    return {
        partition: keeper.remnants(home, partition)
        for partition, token, number in wanted
        if keeper.has(home, partition, token, number)
    }


def partitions_of(copy: dict[int, SavedState]) -> list[int]:
    """Of which partitions a copy is; the copy itself stays with the workers."""
    return list(copy)


def save(place: str, home: str, wanted: list[Wanted], folder: str) -> tuple[None, list[int]]:
    """Write remnants into a folder that all workers see; returns the partitions whose blocks are not here."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    found = copies(place, home, wanted)
    for partition, remnants in found.items():
        write_saved_state(saved_state_file(path, partition), remnants)
    return None, [partition for partition, _, _ in wanted if partition not in found]


def leave_orphans(clients: set[str], after: float) -> None:
    """Forget the places of all clients but these; names of places begin with that of their client.

    Those that were in use within the last seconds stay: a client that is not connected may do so again.
    """
    with _LOCK:
        now = time.monotonic()
        orphans = [
            place for place, used in _USED.items() if place.rpartition("/")[0] not in clients and now - used > after
        ]
    for place in orphans:
        leave(place, None)


def leave(place: str, home: str | None) -> None:
    """Forget the blocks of a home, or everything of a place."""
    if home is not None:
        if place in _KEEPERS:
            _KEEPERS[place].leave(home)
        return
    with _LOCK:
        keeper = _KEEPERS.pop(place, None)
        _USED.pop(place, None)
    if keeper is not None:
        keeper.close()
