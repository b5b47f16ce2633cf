"""Cache of the rows of some partitions and of the blocks made of them, within an allowance of memory."""

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from softpolytope._files import ScratchFolder
from softpolytope.parallel._block_state import BlockFactory, Raw, SavedState, read_saved_state, write_saved_state
from softpolytope.parallel._blocks import Call, combine
from softpolytope.parallel._memory import Allowance

# The cache treats all kinds of rows and blocks alike.
AnyFactory: TypeAlias = BlockFactory[Any, Any]

# Share of the memory that rows may take if they can be read again. Saved states need the rest: without room, they are
# written to files and read back.
SHARE_OF_ROWS = 0.85


@dataclass(slots=True)
class CacheEntry:
    """Blocks of a partition: in memory, or as a saved state, which is None for new blocks."""

    factory: AnyFactory
    token: int  # of the call that built the blocks
    n_changes: int  # calls that have changed them
    blocks: list[object] | None
    is_compact: bool  # whether blocks drop between calls what they can compute again
    size: int  # bytes in memory besides the rows
    saved: SavedState | Path | None


@runtime_checkable
class CompactBlock(Protocol):
    """Block that can drop what it can compute again."""

    def drop_activations(self) -> None:
        """Drop arrays that the next call computes again if it needs them."""
        ...


class PartitionCache:
    """Rows of partitions and blocks made of them, by owner and partition.

    Threads may work on different partitions at once, or make calls that only read.
    """

    def __init__(self, load: Callable[[int], Raw] | None, allowed: Allowance | None, expected_bytes: int = 0) -> None:
        self._load = load  # None if rows come with `build` and cannot be read again
        self._allowed = allowed
        # Bytes of all rows that will come. Rows have precedence over blocks, which take more memory and save less time.
        self._expected = expected_bytes
        self._rows_used = 0
        self._at_work = 0  # the largest saved state of a partition, which is in memory while it is visited
        self._rows: dict[int, tuple[Hashable, Any]] = {}  # encoded by a factory, or as they come
        self._entries: dict[tuple[str, int], CacheEntry] = {}
        self._used = 0
        self._lock = threading.Lock()
        self._locks: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        self._entry_locks: defaultdict[tuple[str, int], threading.Lock] = defaultdict(threading.Lock)
        self._scratch: ScratchFolder | None = None

    def has(self, owner: str, partition: int, token: int, n_changes: int) -> bool:
        """Return whether the cache has the blocks built by one call and changed by so many others."""
        entry = self._entries.get((owner, partition))
        return entry is not None and (entry.token, entry.n_changes) == (token, n_changes)

    def ensure(self, owner: str, partition: int, factory: AnyFactory) -> None:
        """Build the blocks of an owner unless it has them; several threads may ask at once."""
        with self._entry_locks[owner, partition]:
            if (owner, partition) not in self._entries:
                self.build(owner, partition, factory, 0)

    def can_build(self, partition: int, factory: AnyFactory) -> bool:
        """Return whether blocks can be built without being given rows."""
        if self._load is not None:
            return True
        return partition in self._rows and self._rows[partition][0] in (None, factory.rows_key)

    def build(self, owner: str, partition: int, factory: AnyFactory, token: int, raw: Raw | None = None) -> CacheEntry:
        """Build the blocks of an owner and replace those it has; `raw` has the rows if they cannot be loaded."""
        if raw is not None:
            self._keep(partition, None, raw)
        rows = self._encoded_rows(partition, factory)
        self._release_entry(owner, partition)
        entry = CacheEntry(factory, token, 0, None, is_compact=True, size=0, saved=None)
        for size, is_compact in ((factory.state_bytes(rows), False), (factory.compact_bytes(rows), True)):
            if partition in self._rows and self._reserve(entry, size, besides_rows=True):
                entry.blocks, entry.is_compact = factory.blocks(rows, partition), is_compact
                break
        else:
            self._make_room(factory.saved_bytes(rows))
        self._entries[owner, partition] = entry
        return entry

    def run(self, owner: str, partition: int, calls: Sequence[Call]) -> object:
        """Make calls in one visit of every block, and return the combined results of the last call."""
        entry = self._entries[owner, partition]
        n_changes = sum(not call.is_read_only for call in calls)
        if entry.blocks is not None:
            called = (_call_all(block, calls, is_compact=entry.is_compact) for block in entry.blocks)
            result = combine(called, calls[-1].kind)
        else:
            results, saved = self._visit(entry, partition, calls, is_changed=n_changes > 0)
            result = combine(results, calls[-1].kind)
            if n_changes:
                self._store(entry, owner, partition, saved)
        entry.n_changes += n_changes
        return result

    def saved_state(self, owner: str, partition: int) -> SavedState:
        """Return the part of the state of blocks that does not follow from rows and parameters."""
        entry = self._entries[owner, partition]
        if entry.blocks is None and entry.saved is not None:
            return _read(entry.saved)
        blocks = entry.blocks or entry.factory.blocks(self._encoded_rows(partition, entry.factory), partition)
        found: SavedState = {}
        for number, block in enumerate(blocks):
            # Copies, because the blocks may change their arrays afterwards.
            found.update({name: part.copy() for name, part in entry.factory.save(block, number).items()})
        return found

    def restore(self, owner: str, partition: int, saved: SavedState) -> None:
        """Continue from the saved state of blocks."""
        entry = self._entries[owner, partition]
        if entry.blocks is None:
            self._store(entry, owner, partition, saved)
            return
        left = dict(saved)
        for number, block in enumerate(entry.blocks):
            entry.factory.restore(block, number, left)

    def release(self, owner: str) -> None:
        """Release the blocks of an owner."""
        for _, partition in [key for key in list(self._entries) if key[0] == owner]:
            self._release_entry(owner, partition)

    def close(self) -> None:
        """Release everything."""
        self._entries.clear()
        self._rows.clear()
        if self._scratch is not None:
            self._scratch.remove()

    def _release_entry(self, owner: str, partition: int) -> None:
        entry = self._entries.pop((owner, partition), None)
        if entry is not None:
            self._release_memory(entry)
            if isinstance(entry.saved, Path):
                entry.saved.unlink(missing_ok=True)

    def _release_memory(self, entry: CacheEntry) -> None:
        with self._lock:
            self._used -= entry.size
            entry.size = 0

    def _reserve(self, entry: CacheEntry, size: int, *, besides_rows: bool) -> bool:
        """Reserve memory for an entry that has none, if there is any left, optionally beside all rows to come."""
        with self._lock:
            to_come = max(0, self._expected - self._rows_used) if besides_rows else 0
            if not self._has_room(size + to_come):
                return False
            self._used += size
            entry.size = size
            return True

    def _has_room(self, size: int, share: float = 1.0) -> bool:
        if self._allowed is None:
            return True
        room = self._allowed.for_rows - self._allowed.n_in_flight * self._at_work
        return self._used + size <= share * room

    def _make_room(self, size: int) -> None:
        """Drop rows, if they can be read again, until there is room to work with saved states of this size."""
        with self._lock:
            self._at_work = max(self._at_work, size)
            if self._load is None:
                return
            # Rows to which blocks refer would stay in memory.
            held = {partition for (_, partition), entry in list(self._entries.items()) if entry.blocks is not None}
            for partition in [partition for partition in self._rows if partition not in held]:
                if self._has_room(0):
                    return
                self._count_rows(-_size(self._rows.pop(partition)[1]))

    def _encoded_rows(self, partition: int, factory: AnyFactory) -> object:
        """Return the rows of a partition as a factory needs them, and keep them if there is room."""
        with self._locks[partition]:
            key, rows = self._rows.get(partition, (None, None))
            if rows is not None and key == factory.rows_key:
                return rows
            if rows is None or key is not None:
                if self._load is None:
                    raise KeyError(partition)
                key, rows = None, self._load(partition)
            if key != factory.rows_key:
                rows = factory.rows(rows, partition)
            self._keep(partition, factory.rows_key, rows)
            return rows

    def _keep(self, partition: int, key: Hashable, rows: object) -> None:
        """Replace the kept rows of a partition if there is room; rows that cannot be read again are always kept."""
        with self._lock:
            before = self._rows.pop(partition, None)
            if before is not None:
                self._count_rows(-_size(before[1]))
            if self._load is None or self._has_room(_size(rows), SHARE_OF_ROWS):
                self._rows[partition] = key, rows
                self._count_rows(_size(rows))

    def _count_rows(self, size: int) -> None:
        self._used += size
        self._rows_used += size

    def _visit(
        self, entry: CacheEntry, partition: int, calls: Sequence[Call], *, is_changed: bool
    ) -> tuple[Iterator[object], SavedState]:
        """Return the results of calls to blocks that exist only while visited, and the state that they save then."""
        factory = entry.factory
        before = None if entry.saved is None else _read(entry.saved)
        saved: SavedState = {}
        blocks = factory.blocks(self._encoded_rows(partition, factory), partition)

        def visits() -> Iterator[object]:
            # From the end of a list, so that no block is kept after its visit.
            blocks.reverse()
            for number in range(len(blocks)):
                block = blocks.pop()
                if before is not None:
                    factory.restore(block, number, before)
                yield _call_all(block, calls, is_compact=True)
                if is_changed:
                    saved.update(factory.save(block, number))

        return visits(), saved

    def _store(self, entry: CacheEntry, owner: str, partition: int, saved: SavedState) -> None:
        """Keep the saved state of blocks in memory or, if that is full, in a file."""
        size = sum(part.nbytes for part in saved.values())
        self._release_memory(entry)
        if isinstance(entry.saved, Path):
            entry.saved.unlink(missing_ok=True)
        if self._reserve(entry, size, besides_rows=False):
            entry.saved = saved
            return
        with self._lock:
            if self._scratch is None:
                self._scratch = ScratchFolder()
        entry.saved = self._scratch.path / f"{owner}-{partition}.npz"
        write_saved_state(entry.saved, saved)


def _read(saved: SavedState | Path) -> SavedState:
    """Return a dictionary whose items may be removed."""
    return read_saved_state(saved) if isinstance(saved, Path) else dict(saved)


def _call_all(block: object, calls: Sequence[Call], *, is_compact: bool) -> object:
    """Make calls one after the other, and return the result of the last."""
    result = None
    for call in calls:
        result = call(block)
    if is_compact and isinstance(block, CompactBlock):
        block.drop_activations()
    return result


def _size(rows: Any) -> int:  # encoded rows, or the arrays and data frames of a source
    """Return the size of rows in bytes."""
    if isinstance(rows, tuple):
        return sum(_size(part) for part in rows if part is not None)
    if hasattr(rows, "indptr"):
        return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    if hasattr(rows, "memory_usage"):
        usage = rows.memory_usage()
        return int(usage.sum() if hasattr(usage, "sum") else usage)
    return int(rows.nbytes)
