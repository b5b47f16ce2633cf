"""How much memory there is to use, and how much is used."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

# Copies of a partition's rows that exist at once while it is read, checked and standardized; measured by
# benchmarks/scale.py memory.
COPIES_IN_FLIGHT = 4
# Of the memory that is free: for sums and one block's state at a time, and for what the allocator does not give back.
SHARE_TO_SPARE = 0.15


@dataclass(frozen=True, slots=True)
class Allowance:
    """What rows may take of the memory."""

    max_memory: int
    n_in_flight: int  # partitions that may be read and worked on at once
    for_rows: int  # bytes of rows and blocks that may entry between calls


def parse_bytes(value: Any) -> int:
    """A size in bytes, from a number or a text such as "4GB".

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
    """Share the memory that this process does not yet use; partitions at work may have half of it, not more."""
    used = resident_bytes()
    free = max_memory - used
    per_partition = COPIES_IN_FLIGHT * partition_bytes
    n_in_flight = min(n_threads, free // 2 // max(per_partition, 1))
    if n_in_flight < 1:
        raise ValueError(
            f"max_memory is {max_memory / 1e6:.0f} MB, of which this process uses {used / 1e6:.0f} MB already, and a "
            f"partition of rows takes {per_partition / 1e6:.0f} MB while it is worked on; half of what is left is for "
            "that. Allow more memory, or cut the rows into smaller partitions (chunks, or row groups)."
        )
    return Allowance(max_memory, n_in_flight, int((1.0 - SHARE_TO_SPARE) * free) - n_in_flight * per_partition)


def resident_bytes() -> int:
    """Memory this process has; 0 where the system does not say."""
    path = Path("/proc/self/statm")
    if not path.exists():
        return 0
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
