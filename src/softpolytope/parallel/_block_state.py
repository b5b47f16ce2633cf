"""What is left of blocks that are not in memory, and the files it is put into."""

import json
import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Raw = tuple[Any, Any, Any]  # rows, labels, and weights or None, of a partition as they come from their source
SavedState = dict[str, NDArray[Any]]

Rows = TypeVar("Rows")
Block = TypeVar("Block")

# Bytes of an array that is put into a file together with others.
MAX_JOINED = 2**16
_LARGE = "large."


class BlockFactory(Protocol[Rows, Block]):
    """How blocks are made of the rows of a partition; travels to where the rows are."""

    @property
    def rows_key(self) -> Hashable:
        """Names what `rows` makes, so that homes share it; None for rows as they come."""
        ...

    def rows(self, raw: Raw, partition: int) -> Rows:
        """Rows ready for blocks, with their size in `nbytes`."""
        ...

    def blocks(self, rows: Rows, partition: int) -> list[Block]:
        """Blocks of rows."""
        ...

    def state_bytes(self, rows: Rows) -> int:
        """What the blocks of these rows take besides the rows."""
        ...

    def rest_bytes(self, rows: Rows) -> int:
        """The same of blocks that have forgotten what they can compute again."""
        ...

    def remnant_bytes(self, rows: Rows) -> int:
        """What is left of the blocks of these rows when they are not in memory, at most and about."""
        ...

    def remnant(self, block: Block, number: int) -> SavedState:
        """What the block of this number knows that does not follow from rows and parameters; its own arrays."""
        ...

    def restore(self, block: Block, number: int, remnants: SavedState) -> None:
        """Let the block of this number go on from its part of the remnants, which is taken out of them."""
        ...


class StatelessBlockFactory(ABC, Generic[Rows, Block]):
    """For blocks that no call changes."""

    __slots__ = ()

    def rest_bytes(self, rows: Rows) -> int:
        """There is nothing to forget."""
        return self.state_bytes(rows)

    @abstractmethod
    def state_bytes(self, rows: Rows) -> int:
        """What the blocks of these rows take besides the rows."""

    def remnant_bytes(self, rows: Rows) -> int:  # noqa: ARG002
        """There is nothing to keep."""
        return 0

    def remnant(self, block: Block, number: int) -> SavedState:  # noqa: ARG002
        """There is nothing to keep."""
        return {}

    def restore(self, block: Block, number: int, remnants: SavedState) -> None:
        """There is nothing to restore."""


def saved_state_file(folder: Path, partition: int) -> Path:
    """Where the remnants of a partition are put."""
    return folder / f"partition{partition}.npz"


def write_saved_state(path: Path, remnants: SavedState) -> None:
    """Put remnants into a file, which has no code inside; it is there as a whole or not at all."""
    # Each array would be a file in the archive. Small ones, of which there are many, are joined; large ones would be in
    # memory twice.
    index = []
    small: defaultdict[str, list[NDArray[Any]]] = defaultdict(list)
    large: SavedState = {}
    for name, part in remnants.items():
        is_large = part.nbytes > MAX_JOINED
        index.append((name, part.dtype.str, part.shape, is_large))
        if is_large:
            large[_LARGE + name] = part
        else:
            small[part.dtype.str].append(part.reshape(-1))
    joined = {kind: np.concatenate(parts) for kind, parts in small.items()}
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as file:
        np.savez(
            file, allow_pickle=False, index=np.frombuffer(json.dumps(index).encode(), dtype=np.uint8), **joined, **large
        )
    temporary.replace(path)


def read_saved_state(path: Path) -> SavedState:
    """The remnants in a file."""
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
