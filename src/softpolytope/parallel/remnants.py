"""What is left of blocks that are not in memory, and the files it is put into."""

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Remnants = dict[str, NDArray[Any]]


def remnants_file(folder: Path, partition: int) -> Path:
    """Where the remnants of a partition are put."""
    return folder / f"partition{partition}.npz"


def write_remnants(path: Path, remnants: Remnants) -> None:
    """Put remnants into a file, which has no code inside; it is there as a whole or not at all."""
    # Many blocks have many small arrays, each of which would be a file in the archive: those of a type are one.
    by_type: defaultdict[str, list[NDArray[Any]]] = defaultdict(list)
    for part in remnants.values():
        by_type[part.dtype.str].append(part.reshape(-1))
    index = json.dumps([(name, part.dtype.str, part.shape) for name, part in remnants.items()])
    joined = {kind: np.concatenate(parts) for kind, parts in by_type.items()}
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, index=np.frombuffer(index.encode(), dtype=np.uint8), **joined)
    temporary.replace(path)


def read_remnants(path: Path) -> Remnants:
    """The remnants in a file."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        index = json.loads(archive["index"].tobytes())
        joined = {name: archive[name] for name in archive.files if name != "index"}
    found: Remnants = {}
    starts = dict.fromkeys(joined, 0)
    for name, kind, shape in index:
        stop = starts[kind] + math.prod(shape)
        found[name] = joined[kind][starts[kind] : stop].reshape(shape)
        starts[kind] = stop
    return found
