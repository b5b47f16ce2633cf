"""Factories of the blocks of a partition, and files of the state that such blocks save."""

import json
import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from softpolytope._files import atomic_write

# Rows, labels, and weights or None, of a partition as they come from their source.
Raw: TypeAlias = tuple[Any, Any, Any]
SavedState: TypeAlias = dict[str, NDArray[Any]]

Rows = TypeVar("Rows")
Block = TypeVar("Block")

# Arrays of at most so many bytes are joined in a file.
MAX_JOINED = 2**16
_LARGE = "large."


class BlockFactory(Protocol[Rows, Block]):
    """Factory of the blocks of a partition, which is sent to the process that has the rows."""

    @property
    def rows_key(self) -> Hashable:
        """Key of what `rows` returns, by which factories share it; None for rows as they come."""
        ...

    def rows(self, raw: Raw, partition: int) -> Rows:
        """Return rows from which blocks can be made, with their size in `nbytes`."""
        ...

    def blocks(self, rows: Rows, partition: int) -> list[Block]:
        """Return the blocks of rows."""
        ...

    def state_bytes(self, rows: Rows) -> int:
        """Return the size of the blocks of these rows, without the rows."""
        ...

    def compact_bytes(self, rows: Rows) -> int:
        """Return the size of blocks that have dropped what they can compute again."""
        ...

    def saved_bytes(self, rows: Rows) -> int:
        """Return an upper estimate of the size of the saved state of these blocks."""
        ...

    def save(self, block: Block, number: int) -> SavedState:
        """Return the state of one block that does not follow from rows and parameters, as arrays of its own."""
        ...

    def restore(self, block: Block, number: int, saved: SavedState) -> None:
        """Restore one block from its part of the saved state, which is removed from it."""
        ...


class StatelessBlockFactory(ABC, Generic[Rows, Block]):
    """Base of factories of blocks that no call changes, which therefore save nothing."""

    __slots__ = ()

    @abstractmethod
    def state_bytes(self, rows: Rows) -> int:
        """Return the size of the blocks of these rows, without the rows."""

    def compact_bytes(self, rows: Rows) -> int:
        """Return the size of the blocks: they can drop nothing."""
        return self.state_bytes(rows)

    def saved_bytes(self, rows: Rows) -> int:  # noqa: ARG002
        """Return zero."""
        return 0

    def save(self, block: Block, number: int) -> SavedState:  # noqa: ARG002
        """Return no state."""
        return {}

    def restore(self, block: Block, number: int, saved: SavedState) -> None:
        """Do nothing."""


def saved_state_file(folder: Path, partition: int) -> Path:
    """Return the path of the saved state of a partition."""
    return folder / f"partition{partition}.npz"


def write_saved_state(path: Path, saved: SavedState) -> None:
    """Write a saved state into a file without code, which appears complete or not at all."""
    # Each array would be a file in the archive. Small ones, of which there are many, are joined; joined large ones
    # would be in memory twice.
    index = []
    small: defaultdict[str, list[NDArray[Any]]] = defaultdict(list)
    large: SavedState = {}
    for name, part in saved.items():
        is_large = part.nbytes > MAX_JOINED
        index.append((name, part.dtype.str, part.shape, is_large))
        if is_large:
            large[_LARGE + name] = part
        else:
            small[part.dtype.str].append(part.reshape(-1))
    joined = {kind: np.concatenate(parts) for kind, parts in small.items()}
    names = np.frombuffer(json.dumps(index).encode(), dtype=np.uint8)
    with atomic_write(path) as file:
        np.savez(file, allow_pickle=False, index=names, **joined, **large)


def read_saved_state(path: Path) -> SavedState:
    """Return the saved state in a file."""
    found: SavedState = {}
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        index = json.loads(archive["index"].tobytes())
        joined = {name: archive[name] for name in archive.files if name != "index" and not name.startswith(_LARGE)}
        starts = dict.fromkeys(joined, 0)
        for name, kind, shape, is_large in index:
            if is_large:
                found[name] = archive[_LARGE + name]
                continue
            stop = starts[kind] + math.prod(shape)
            found[name] = joined[kind][starts[kind] : stop].reshape(shape)
            starts[kind] = stop
    return found
