"""Homes for blocks of rows on one machine: a plain loop, or threads.

A home calls a method of every block. Results come back in block order, whoever finished first; sums are taken over a
tree that the number of blocks alone decides (`sums.py`). So results do not depend on where blocks live.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any, Protocol

from softpolytope.parallel._reduction import GROUP_BLOCKS, fixed_order_sum, tree_sum

TASKS_PER_THREAD = 6


class Blocks(Protocol):
    """What inference needs of the place where blocks live."""

    def map(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every block; results in block order."""
        ...

    def each(self, method: str, *arguments: Any) -> None:
        """Call a method of every block that returns nothing."""
        ...

    def total(self, method: str, *arguments: Any) -> Any:
        """Call a method of every block; the sum of the results."""
        ...

    def begin_anew(self, method: str, *arguments: Any) -> None:
        """Say that blocks are as new ones would be after this call: who must build a block anew starts here."""
        ...

    def secure(self) -> None:
        """Say that a sweep has ended and what blocks know is worth a copy, where blocks can be lost."""
        ...

    def leave(self) -> None:
        """Give up the blocks."""
        ...


class SerialBlocks:
    """Blocks in one list, visited one after the other."""

    def __init__(self, blocks: Sequence[Any]) -> None:
        self._blocks = blocks

    def map(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every block; results in block order."""
        return [getattr(block, method)(*arguments) for block in self._blocks]

    def each(self, method: str, *arguments: Any) -> None:
        """Call a method of every block that returns nothing."""
        self.map(method, *arguments)

    def total(self, method: str, *arguments: Any) -> Any:
        """Call a method of every block; the sum of the results."""
        starts = range(0, len(self._blocks), GROUP_BLOCKS)
        return tree_sum(
            [group_total(self._blocks[start : start + GROUP_BLOCKS], method, arguments) for start in starts]
        )

    def begin_anew(self, method: str, *arguments: Any) -> None:
        """Blocks in this process are never lost."""

    def secure(self) -> None:
        """Blocks in this process are never lost."""

    def leave(self) -> None:
        """Blocks in a list go with who has it."""


class ThreadBlocks:
    """Blocks in one list, visited by the threads of a pool; the kernels release the interpreter lock."""

    def __init__(self, blocks: Sequence[Any], pool: ThreadPoolExecutor, n_threads: int) -> None:
        self._pool = pool
        # A task has several blocks, because handing one over costs as much as a small block's work; and every thread
        # has several tasks, because blocks differ.
        size = max(1, len(blocks) // (TASKS_PER_THREAD * n_threads))
        self._tasks = [blocks[start : start + size] for start in range(0, len(blocks), size)]
        self._has_many_groups = size >= GROUP_BLOCKS
        self._groups = [blocks[start : start + GROUP_BLOCKS] for start in range(0, len(blocks), GROUP_BLOCKS)]

    def map(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every block; results in block order."""

        def work(blocks: Sequence[Any]) -> list[Any]:
            return [getattr(block, method)(*arguments) for block in blocks]

        return [result for results in self._pool.map(work, self._tasks) for result in results]

    def each(self, method: str, *arguments: Any) -> None:
        """Call a method of every block that returns nothing."""
        self.map(method, *arguments)

    def total(self, method: str, *arguments: Any) -> Any:
        """Call a method of every block; the sum of the results."""
        if not self._has_many_groups:
            return fixed_order_sum(self.map(method, *arguments))
        return tree_sum(list(self._pool.map(lambda group: group_total(group, method, arguments), self._groups)))

    def begin_anew(self, method: str, *arguments: Any) -> None:
        """Blocks in this process are never lost."""

    def secure(self) -> None:
        """Blocks in this process are never lost."""

    def leave(self) -> None:
        """Blocks in a list go with who has it."""


def group_total(blocks: Sequence[Any], method: str, arguments: Sequence[Any]) -> Any:
    """Sum of the results of a group of blocks, one after the other."""
    return reduce(add, (getattr(block, method)(*arguments) for block in blocks))
