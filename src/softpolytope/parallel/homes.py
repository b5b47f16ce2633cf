"""Homes for blocks of rows on one machine: a plain loop, or threads.

A home calls a method of every block and returns the results in block order, whoever finished first. Sums
over them are added in that order, so results do not depend on the number of threads.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

TASKS_PER_THREAD = 6


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

    def __init__(self, blocks: Sequence[Any], pool: ThreadPoolExecutor, n_threads: int) -> None:
        self._pool = pool
        # A task has several blocks, because handing one over costs as much as a small block's work; and every thread
        # has several tasks, because blocks differ.
        size = max(1, len(blocks) // (TASKS_PER_THREAD * n_threads))
        self._tasks = [blocks[start : start + size] for start in range(0, len(blocks), size)]

    def map(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every block; results in block order."""

        def work(blocks: Sequence[Any]) -> list[Any]:
            return [getattr(block, method)(*arguments) for block in blocks]

        return [result for results in self._pool.map(work, self._tasks) for result in results]
