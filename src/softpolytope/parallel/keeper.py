"""Keeps the rows of some partitions, and the blocks that homes have made of them, within an allowance of memory."""

import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from softpolytope.parallel.memory import Allowance
from softpolytope.parallel.sums import GROUP_BLOCKS, tree_total

Raw = tuple[Any, Any, Any]  # rows, labels, and weights or None, of a partition as they come from their source
Remnants = dict[str, NDArray[Any]]
Kind = Literal["total", "each", "map"]


class Recipe(Protocol):
    """How blocks are made of the rows of a partition; travels to where the rows are."""

    @property
    def rows_key(self) -> Hashable:
        """Names what `rows` makes, so that homes share it; None for rows as they come."""
        ...

    @property
    def reads(self) -> frozenset[str]:
        """Methods that change nothing in a block."""
        ...

    def rows(self, raw: Raw, partition: int) -> Any:
        """Rows ready for blocks, with their size in `nbytes`."""
        ...

    def blocks(self, rows: Any, partition: int) -> list[Any]:
        """Blocks of rows."""
        ...

    @property
    def can_rest(self) -> bool:
        """Whether blocks can forget between calls what they can compute again."""
        ...

    def state_bytes(self, rows: Any) -> int:
        """What the blocks of these rows take besides the rows."""
        ...

    def remnants(self, blocks: list[Any]) -> Remnants | None:
        """What does not follow from rows and parameters; None if that is nothing."""
        ...

    def restore(self, blocks: list[Any], remnants: Remnants) -> None:
        """Go on from remnants."""
        ...


@dataclass(slots=True)
class Stay:
    """The blocks that a home has of a partition: in memory, or as remnants."""

    recipe: Recipe
    token: int  # which building of them this is
    number: int  # calls that have changed them
    blocks: list[Any] | None
    rests: bool  # whether blocks forget between calls what they can compute again
    size: int  # bytes in memory besides the rows
    remnants: Remnants | Path | None


class Keeper:
    """Partitions of rows, and stays; threads may run different partitions, or calls that only read, at once."""

    def __init__(self, load: Callable[[int], Raw] | None, allowed: Allowance | None) -> None:
        self._load = load  # None if rows come with `take` and cannot be had again
        self._allowed = allowed
        self._rows: dict[int, tuple[Hashable, Any]] = {}
        self._stays: dict[tuple[str, int], Stay] = {}
        self._used = 0
        self._lock = threading.Lock()
        self._locks: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def has(self, home: str, partition: int, token: int, number: int) -> bool:
        """Whether blocks of this building are there, after so many calls."""
        stay = self._stays.get((home, partition))
        return stay is not None and (stay.token, stay.number) == (token, number)

    def has_any(self, home: str, partition: int) -> bool:
        """Whether a home has blocks of a partition."""
        return (home, partition) in self._stays

    def can_make(self, partition: int, recipe: Recipe) -> bool:
        """Whether blocks can be made without being given rows."""
        if self._load is not None:
            return True
        return partition in self._rows and self._rows[partition][0] in (None, recipe.rows_key)

    def take(self, home: str, partition: int, recipe: Recipe, token: int, raw: Raw | None = None) -> Stay:
        """Make the blocks of a home, in the place of any it has; `raw` has rows for who cannot load them."""
        if raw is not None:
            self._keep(partition, None, raw)
        rows = self._prepared(partition, recipe)
        size = recipe.state_bytes(rows)
        self._leave(home, partition)
        has_room = self._has_room(size)
        is_kept = partition in self._rows and (has_room or recipe.can_rest)
        stay = Stay(recipe, token, 0, None, rests=not (has_room and is_kept), size=0, remnants=None)
        if is_kept:
            stay.blocks = recipe.blocks(rows, partition)
            self._count(stay, size if has_room else 0)
        self._stays[home, partition] = stay
        return stay

    def run(self, home: str, partition: int, kind: Kind, method: str, arguments: tuple[Any, ...]) -> Any:
        """Call a method of every block."""
        stay = self._stays[home, partition]
        blocks = self._awake(stay, partition)
        is_read = method in stay.recipe.reads
        if kind == "total":
            groups = [blocks[start : start + GROUP_BLOCKS] for start in range(0, len(blocks), GROUP_BLOCKS)]
            result = tree_total([_added(group, method, arguments, rests=stay.rests) for group in groups])
        else:
            results = [_called(block, method, arguments, rests=stay.rests) for block in blocks]
            result = results if kind == "map" else None
        if not is_read:
            stay.number += 1
            if stay.blocks is None:
                self._store(stay, home, partition, blocks)
        return result

    def remnants(self, home: str, partition: int) -> Remnants | None:
        """What the blocks of a home know that does not follow from rows and parameters."""
        stay = self._stays[home, partition]
        return stay.recipe.remnants(self._awake(stay, partition))

    def restore(self, home: str, partition: int, remnants: Remnants) -> None:
        """Let the blocks of a home go on from remnants."""
        stay = self._stays[home, partition]
        blocks = self._awake(stay, partition)
        stay.recipe.restore(blocks, remnants)
        if stay.blocks is None:
            self._store(stay, home, partition, blocks)

    def leave(self, home: str) -> None:
        """Forget the blocks of a home."""
        for _, partition in [key for key in self._stays if key[0] == home]:
            self._leave(home, partition)

    def close(self) -> None:
        """Forget everything."""
        self._stays.clear()
        self._rows.clear()
        if self._scratch is not None:
            self._scratch.cleanup()

    def _leave(self, home: str, partition: int) -> None:
        stay = self._stays.pop((home, partition), None)
        if stay is not None:
            self._count(stay, 0)
            if isinstance(stay.remnants, Path):
                stay.remnants.unlink(missing_ok=True)

    def _count(self, stay: Stay, size: int) -> None:
        """Remember what a stay takes."""
        with self._lock:
            self._used += size - stay.size
            stay.size = size

    def _has_room(self, size: int) -> bool:
        return self._allowed is None or self._used + size <= self._allowed.for_rows

    def _prepared(self, partition: int, recipe: Recipe) -> Any:
        """Rows as a recipe wants them, kept if there is room."""
        with self._locks[partition]:
            key, rows = self._rows.get(partition, (None, None))
            if rows is None or key not in (None, recipe.rows_key):
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
                self._used -= _size(before[1])
            if self._load is None or self._has_room(_size(rows)):
                self._rows[partition] = key, rows
                self._used += _size(rows)

    def _awake(self, stay: Stay, partition: int) -> list[Any]:
        """The blocks of a stay, made anew if they are not in memory."""
        if stay.blocks is not None:
            return stay.blocks
        blocks = stay.recipe.blocks(self._prepared(partition, stay.recipe), partition)
        remnants = stay.remnants
        if isinstance(remnants, Path):
            remnants = read_remnants(remnants)
        if remnants is not None:
            stay.recipe.restore(blocks, remnants)
        return blocks

    def _store(self, stay: Stay, home: str, partition: int, blocks: list[Any]) -> None:
        """Keep what is left of blocks, in memory or, if that is full, in a file."""
        remnants = stay.recipe.remnants(blocks)
        size = sum(part.nbytes for part in remnants.values()) if remnants is not None else 0
        self._count(stay, 0)
        if remnants is None or self._has_room(size):
            self._count(stay, size)
            stay.remnants = remnants
            return
        with self._lock:
            if self._scratch is None:
                self._scratch = tempfile.TemporaryDirectory(prefix="softpolytope-")
        stay.remnants = Path(self._scratch.name) / f"{home}-{partition}.npz"
        write_remnants(stay.remnants, remnants)


def remnants_file(folder: Path, partition: int) -> Path:
    """Where the remnants of a partition are put."""
    return folder / f"partition{partition}.npz"


def write_remnants(path: Path, remnants: Remnants | None) -> None:
    """Put remnants into a file, which has no code inside; it is there as a whole or not at all."""
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **(remnants or {}))
    temporary.replace(path)


def read_remnants(path: Path) -> Remnants:
    """The remnants in a file."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _called(block: Any, method: str, arguments: tuple[Any, ...], *, rests: bool) -> Any:
    result = getattr(block, method)(*arguments)
    if rests and hasattr(block, "rest"):  # blocks without state have nothing to forget
        block.rest()
    return result


def _added(blocks: list[Any], method: str, arguments: tuple[Any, ...], *, rests: bool) -> Any:
    """Sum over a group of blocks, one after the other."""
    total = _called(blocks[0], method, arguments, rests=rests)
    for block in blocks[1:]:
        total = total + _called(block, method, arguments, rests=rests)
    return total


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
