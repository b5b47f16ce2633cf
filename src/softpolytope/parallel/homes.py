"""Homes for blocks of rows on one machine: a plain loop, or threads.

A home calls a method of every block and returns the results in block order, whoever finished first. Sums
over them are added in that order, so results do not depend on the number of threads.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol


class Home(Protocol):
    """What the sampler needs of the place where blocks live."""

    def map(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every block; results in block order."""
        ...


class SerialHome:
    """Blocks in one list, visited one after the other."""

    def __init__(self, blocks: Sequence[Any]) -> None:
        self._blocks = blocks

    def map(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every block; results in block order."""
        return [getattr(block, method)(*arguments) for block in self._blocks]


class ThreadHome:
    """Blocks in one list, visited by the threads of a pool; the kernels release the interpreter lock."""

    def __init__(self, blocks: Sequence[Any], pool: ThreadPoolExecutor) -> None:
        self._blocks = blocks
        self._pool = pool

    def map(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every block; results in block order."""
        return list(self._pool.map(lambda block: getattr(block, method)(*arguments), self._blocks))
