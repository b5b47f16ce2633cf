"""What is left of blocks that are not in memory, and the files it is put into."""

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SavedState = dict[str, NDArray[Any]]

# Bytes of an array that is put into a file together with others.
MAX_JOINED = 2**16
_LARGE = "large."


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
