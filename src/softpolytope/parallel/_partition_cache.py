"""Keeps the rows of some partitions, and the blocks that homes have made of them, within an allowance of memory."""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softpolytope.parallel._block_state import BlockFactory, Raw, SavedState, read_saved_state, write_saved_state
from softpolytope.parallel._blocks import Call, Kind
from softpolytope.parallel._memory import Allowance
from softpolytope.parallel._reduction import fixed_order_sum
from softpolytope.parallel._whole_files import ScratchFolder

# The cache treats all kinds of rows and blocks alike.
AnyFactory = BlockFactory[Any, Any]

# Of the memory for what stays: rows that can be read again leave the rest to remnants, which must be written out and
# read back where there is no room for them.
SHARE_OF_ROWS = 0.85


@dataclass(slots=True)
class CacheEntry:
    """The blocks that a home has of a partition: in memory, at rest there, or as remnants (None of new blocks)."""

    recipe: AnyFactory
    token: int  # which building of them this is
    number: int  # calls that have changed them
    blocks: list[Any] | None
    rests: bool  # whether blocks forget between calls what they can compute again
    size: int  # bytes in memory besides the rows
    remnants: SavedState | Path | None


class PartitionCache:
    """Partitions of rows, and stays; threads may run different partitions, or calls that only read, at once."""

    def __init__(self, load: Callable[[int], Raw] | None, allowed: Allowance | None, expected_bytes: int = 0) -> None:
        self._load = load  # None if rows come with `take` and cannot be had again
        self._allowed = allowed
        # Of all rows that will come: they have precedence over the state of blocks, which takes more and saves less.
        self._expected = expected_bytes
        self._rows_used = 0
        self._at_work = 0  # the largest remnants of a partition, which are in memory while it is visited
        self._rows: dict[int, tuple[Hashable, Any]] = {}
        self._stays: dict[tuple[str, int], CacheEntry] = {}
        self._used = 0
        self._lock = threading.Lock()
        self._locks: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        self._stay_locks: defaultdict[tuple[str, int], threading.Lock] = defaultdict(threading.Lock)
        self._scratch: ScratchFolder | None = None

    def has(self, home: str, partition: int, token: int, number: int) -> bool:
        """Whether blocks of this building are there, after so many calls."""
        stay = self._stays.get((home, partition))
        return stay is not None and (stay.token, stay.number) == (token, number)

    def take_once(self, home: str, partition: int, recipe: AnyFactory) -> None:
        """Make the blocks of a home, unless it has them: threads that share a home may ask at once."""
        with self._stay_locks[home, partition]:
            if (home, partition) not in self._stays:
                self.take(home, partition, recipe, 0)

    def can_make(self, partition: int, recipe: AnyFactory) -> bool:
        """Whether blocks can be made without being given rows."""
        if self._load is not None:
            return True
        return partition in self._rows and self._rows[partition][0] in (None, recipe.rows_key)

    def take(self, home: str, partition: int, recipe: AnyFactory, token: int, raw: Raw | None = None) -> CacheEntry:
        """Make the blocks of a home, in the place of any it has; `raw` has rows for who cannot load them."""
        if raw is not None:
            self._keep(partition, None, raw)
        rows = self._prepared(partition, recipe)
        self._leave(home, partition)
        stay = CacheEntry(recipe, token, 0, None, rests=True, size=0, remnants=None)
        for size, rests in ((recipe.state_bytes(rows), False), (recipe.rest_bytes(rows), True)):
            if partition in self._rows and self._reserved(stay, size, besides_rows=True):
                stay.blocks, stay.rests = recipe.blocks(rows, partition), rests
                break
        else:
            self._make_room(recipe.remnant_bytes(rows))
        self._stays[home, partition] = stay
        return stay

    def run(self, home: str, partition: int, calls: Sequence[Call]) -> Any:
        """Make calls in one visit of every block; what the last one returns."""
        stay = self._stays[home, partition]
        n_changes = sum(not call.is_read_only for call in calls)
        if stay.blocks is not None:
            result = _results((_called(block, calls, rests=stay.rests) for block in stay.blocks), calls[-1].kind)
        else:
            visits, remnants = self._visits(stay, partition, calls, is_changed=n_changes > 0)
            result = _results(visits, calls[-1].kind)
            if n_changes:
                self._store(stay, home, partition, remnants)
        stay.number += n_changes
        return result

    def remnants(self, home: str, partition: int) -> SavedState:
        """What the blocks of a home know that does not follow from rows and parameters."""
        stay = self._stays[home, partition]
        if stay.blocks is None and stay.remnants is not None:
            return _read(stay.remnants)
        blocks = stay.blocks or stay.recipe.blocks(self._prepared(partition, stay.recipe), partition)
        found: SavedState = {}
        for number, block in enumerate(blocks):
            # The blocks may go on, and change what is theirs.
            found.update({name: part.copy() for name, part in stay.recipe.remnant(block, number).items()})
        return found

    def restore(self, home: str, partition: int, remnants: SavedState) -> None:
        """Let the blocks of a home go on from remnants."""
        stay = self._stays[home, partition]
        if stay.blocks is None:
            self._store(stay, home, partition, remnants)
            return
        left = dict(remnants)
        for number, block in enumerate(stay.blocks):
            stay.recipe.restore(block, number, left)

    def leave(self, home: str) -> None:
        """Forget the blocks of a home."""
        for _, partition in [key for key in list(self._stays) if key[0] == home]:
            self._leave(home, partition)

    def close(self) -> None:
        """Forget everything."""
        self._stays.clear()
        self._rows.clear()
        if self._scratch is not None:
            self._scratch.remove()

    def _leave(self, home: str, partition: int) -> None:
        stay = self._stays.pop((home, partition), None)
        if stay is not None:
            self._release(stay)
            if isinstance(stay.remnants, Path):
                stay.remnants.unlink(missing_ok=True)

    def _release(self, stay: CacheEntry) -> None:
        """Count what a stay took as free."""
        with self._lock:
            self._used -= stay.size
            stay.size = 0

    def _reserved(self, stay: CacheEntry, size: int, *, besides_rows: bool) -> bool:
        """Give room to a stay that has none, if there is any; `besides_rows` when all rows will have come."""
        with self._lock:
            to_come = max(0, self._expected - self._rows_used) if besides_rows else 0
            if not self._has_room(size + to_come):
                return False
            self._used += size
            stay.size = size
            return True

    def _has_room(self, size: int, share: float = 1.0) -> bool:
        if self._allowed is None:
            return True
        room = self._allowed.for_rows - self._allowed.n_in_flight * self._at_work
        return self._used + size <= share * room

    def _make_room(self, size: int) -> None:
        """Forget rows, if they can be had again, until remnants of this size can be worked with."""
        with self._lock:
            self._at_work = max(self._at_work, size)
            if self._load is None:
                return
            # Rows that blocks in memory have would stay there.
            held = {partition for (_, partition), stay in list(self._stays.items()) if stay.blocks is not None}
            for partition in [partition for partition in self._rows if partition not in held]:
                if self._has_room(0):
                    return
                self._use_for_rows(-_size(self._rows.pop(partition)[1]))

    def _prepared(self, partition: int, recipe: AnyFactory) -> Any:
        """Rows as a recipe wants them, kept if there is room."""
        with self._locks[partition]:
            key, rows = self._rows.get(partition, (None, None))
            if rows is not None and key == recipe.rows_key:
                return rows
            if rows is None or key is not None:
                if self._load is None:
                    raise KeyError(partition)
                key, rows = None, self._load(partition)
            if key != recipe.rows_key:
                rows = recipe.rows(rows, partition)
            self._keep(partition, recipe.rows_key, rows)
            return rows

    def _keep(self, partition: int, key: Hashable, rows: Any) -> None:
        """Keep rows in the place of what was kept of a partition; those that cannot be had again in any case."""
        with self._lock:
            before = self._rows.pop(partition, None)
            if before is not None:
                self._use_for_rows(-_size(before[1]))
            if self._load is None or self._has_room(_size(rows), SHARE_OF_ROWS):
                self._rows[partition] = key, rows
                self._use_for_rows(_size(rows))

    def _use_for_rows(self, size: int) -> None:
        self._used += size
        self._rows_used += size

    def _visits(
        self, stay: CacheEntry, partition: int, calls: Sequence[Call], *, is_changed: bool
    ) -> tuple[Iterator[Any], SavedState]:
        """Results of calls, block after block, each made for its visit only; what they leave is there at the end."""
        recipe = stay.recipe
        before = None if stay.remnants is None else _read(stay.remnants)
        remnants: SavedState = {}
        blocks = recipe.blocks(self._prepared(partition, recipe), partition)

        def visits() -> Iterator[Any]:
            # From the end of a list, so that no block is kept when it has been visited.
            blocks.reverse()
            for number in range(len(blocks)):
                block = blocks.pop()
                if before is not None:
                    recipe.restore(block, number, before)
                yield _called(block, calls, rests=True)
                if is_changed:
                    remnants.update(recipe.remnant(block, number))

        return visits(), remnants

    def _store(self, stay: CacheEntry, home: str, partition: int, remnants: SavedState) -> None:
        """Keep what is left of blocks, in memory or, if that is full, in a file."""
        size = sum(part.nbytes for part in remnants.values())
        self._release(stay)
        if isinstance(stay.remnants, Path):
            stay.remnants.unlink(missing_ok=True)
        if self._reserved(stay, size, besides_rows=False):
            stay.remnants = remnants
            return
        with self._lock:
            if self._scratch is None:
                self._scratch = ScratchFolder()
        stay.remnants = self._scratch.path / f"{home}-{partition}.npz"
        write_saved_state(stay.remnants, remnants)


def _read(remnants: SavedState | Path) -> SavedState:
    """A dictionary to take things out of."""
    return read_saved_state(remnants) if isinstance(remnants, Path) else dict(remnants)


def _results(visits: Iterable[Any], kind: Kind) -> Any:
    """What is made of the results of blocks that are visited one after the other."""
    if kind == "map":
        return list(visits)
    if kind == "broadcast":
        deque(visits, maxlen=0)
        return None
    return fixed_order_sum(visits)


def _called(block: Any, calls: Sequence[Call], *, rests: bool) -> Any:
    """Make calls, one after the other; what the last one returns."""
    result = None
    for call in calls:
        result = call(block)
    if rests and hasattr(block, "drop_activations"):  # blocks without state have none
        block.drop_activations()
    return result


def _size(rows: Any) -> int:
    """Bytes of prepared rows, or of rows as they come."""
    if isinstance(rows, tuple):
        return sum(_size(part) for part in rows if part is not None)
    if hasattr(rows, "indptr"):
        return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    if hasattr(rows, "memory_usage"):
        usage = rows.memory_usage()
        return int(usage.sum() if hasattr(usage, "sum") else usage)
    return int(rows.nbytes)
