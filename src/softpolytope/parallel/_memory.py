"""Memory limits, and memory in use."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

# Copies of a partition's rows that exist at once while it is read, checked and standardized; measured by
# benchmarks/scale.py memory.
COPIES_IN_FLIGHT = 4
# Share of the free memory for sums, for the state of one block at a time, and for memory that the allocator keeps.
SHARE_TO_SPARE = 0.15


@dataclass(frozen=True, slots=True)
class Allowance:
    """Memory that rows and blocks may take."""

    max_memory: int
    n_in_flight: int  # partitions that may be read and processed at once
    for_rows: int  # bytes of rows and blocks that may entry between calls


def parse_bytes(value: object) -> int:
    """Return a size in bytes, from a number or a text such as "4GB".

    Examples
    --------
    >>> from softpolytope.parallel import parse_bytes
    >>> parse_bytes("1.5 GB"), parse_bytes("2MiB"), parse_bytes(1e6)
    (1500000000, 2097152, 1000000)
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return int(value)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", value.lower()) if isinstance(value, str) else None
    if found is None or float(found[1]) <= 0.0:
        raise ValueError(f'max_memory must be a number of bytes or a text such as "4GB"; got {value!r}.')
    return int(float(found[1]) * _UNITS[found[2] or ""])


def allowance(max_memory: int, partition_bytes: int, n_threads: int) -> Allowance:
    """Divide the memory that is not yet in use; partitions in flight may take half of it."""
    used = resident_bytes()
    free = max_memory - used
    per_partition = COPIES_IN_FLIGHT * partition_bytes
    n_in_flight = min(n_threads, free // 2 // max(per_partition, 1))
    if n_in_flight < 1:
        raise ValueError(
            f"max_memory is {max_memory / 1e6:.0f} MB, of which this process uses {used / 1e6:.0f} MB already. Half of "
            f"the rest must hold a partition of rows, which takes {per_partition / 1e6:.0f} MB while it is processed. "
            "Raise max_memory, or split the rows into smaller partitions (chunks, or row groups)."
        )
    return Allowance(max_memory, n_in_flight, int((1.0 - SHARE_TO_SPARE) * free) - n_in_flight * per_partition)


def resident_bytes() -> int:
    """Return the memory in use by this process; 0 if the system does not report it."""
    path = Path("/proc/self/statm")
    if not path.exists():
        return 0
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
