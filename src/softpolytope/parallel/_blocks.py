"""Blocks of rows in memory, evaluated by a loop or by threads.

A caller names a method of the block class, `blocks.sum(RowBlock.gradient, coefficients, log_weights)`, and `Blocks`
calls it on every block. Results are in block order, and sums are taken over a tree that depends only on the number of
blocks, so that no result depends on where blocks are evaluated.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import add
from typing import Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar

TASKS_PER_THREAD = 6
# Results of this many neighboring blocks are added from left to right. Their sums are the leaves of the tree.
GROUP_BLOCKS = 64

# (height, number) of a node in the tree; a node of height h has the leaves number * 2^h to (number + 1) * 2^h - 1.
Node = tuple[int, int]

Kind = Literal["map", "sum", "broadcast"]

P = ParamSpec("P")
Result = TypeVar("Result")
Block = TypeVar("Block")
Block_co = TypeVar("Block_co", covariant=True)
Method = TypeVar("Method", bound=Callable[..., object])


def read_only(method: Method) -> Method:
    """Mark a method that does not change its block: it need not be called again when a lost block is rebuilt."""
    vars(method)["is_read_only"] = True
    return method


@dataclass(frozen=True, slots=True)
class Call:
    """Call of a method on every block, sent to where the blocks are; pickle sends the method by its name."""

    kind: Kind  # how the results are combined
    method: Callable[..., object]
    args: tuple[object, ...]
    kwargs: dict[str, object]

    @property
    def is_read_only(self) -> bool:
        """Whether the call leaves blocks unchanged."""
        return "is_read_only" in vars(self.method)

    def __call__(self, block: object) -> object:
        """Call the method on a block."""
        return self.method(block, *self.args, **self.kwargs)


class Blocks(Protocol[Block_co]):
    """Blocks of rows, in this process or on workers."""

    def map(
        self, method: Callable[Concatenate[Block_co, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> list[Result]:
        """Call a method on every block and return the results in block order."""
        ...

    def sum(self, method: Callable[Concatenate[Block_co, P], Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """Call a method on every block and return the sum of the results."""
        ...

    def broadcast(self, method: Callable[Concatenate[Block_co, P], object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call a method on every block and ignore the results."""
        ...

    def mark_replay_point(
        self, method: Callable[Concatenate[Block_co, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Declare that a new block after this call equals the present one, so that recovery can start here."""
        ...

    def replicate(self) -> None:
        """Declare that a sweep has ended, after which blocks that can be lost are worth a copy."""
        ...

    def close(self) -> None:
        """Release the blocks."""
        ...


class _BlocksInMemory(Generic[Block]):
    """Operations that blocks of this process do not need, since they cannot be lost."""

    def mark_replay_point(
        self, method: Callable[Concatenate[Block, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Do nothing: blocks of this process are never rebuilt."""

    def replicate(self) -> None:
        """Do nothing: blocks of this process are never lost."""

    def close(self) -> None:
        """Do nothing: blocks are garbage-collected."""


class SerialBlocks(_BlocksInMemory[Block]):
    """Blocks in one list, visited one after the other."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks

    def map(self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs) -> list[Result]:
        """Call a method on every block and return the results in block order."""
        return [method(block, *args, **kwargs) for block in self._blocks]

    def sum(self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """Call a method on every block and return the sum of the results."""
        return fixed_order_sum(method(block, *args, **kwargs) for block in self._blocks)

    def broadcast(self, method: Callable[Concatenate[Block, P], object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call a method on every block and ignore the results."""
        for block in self._blocks:
            method(block, *args, **kwargs)


class ThreadBlocks(_BlocksInMemory[Block]):
    """Blocks in one list, visited by the threads of a pool; the kernels release the interpreter lock."""

    def __init__(self, blocks: Sequence[Block], pool: ThreadPoolExecutor, n_threads: int) -> None:
        self._pool = pool
        # A task has several blocks, because handing one over costs as much as the work of a small block; and every
        # thread has several tasks, because blocks differ.
        size = max(1, len(blocks) // (TASKS_PER_THREAD * n_threads))
        self._tasks = [blocks[start : start + size] for start in range(0, len(blocks), size)]
        self._has_many_groups = size >= GROUP_BLOCKS
        self._groups = [blocks[start : start + GROUP_BLOCKS] for start in range(0, len(blocks), GROUP_BLOCKS)]

    def map(self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs) -> list[Result]:
        """Call a method on every block and return the results in block order."""

        def work(blocks: Sequence[Block]) -> list[Result]:
            return [method(block, *args, **kwargs) for block in blocks]

        return [result for results in self._pool.map(work, self._tasks) for result in results]

    def sum(self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """Call a method on every block and return the sum of the results."""
        if not self._has_many_groups:
            return fixed_order_sum(self.map(method, *args, **kwargs))

        def work(group: Sequence[Block]) -> Result:
            return fixed_order_sum(method(block, *args, **kwargs) for block in group)

        return tree_sum(list(self._pool.map(work, self._groups)))

    def broadcast(self, method: Callable[Concatenate[Block, P], object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call a method on every block and ignore the results."""
        self.map(method, *args, **kwargs)


@dataclass(frozen=True, slots=True)
class BlockThreads:
    """Threads that evaluate the blocks of one caller."""

    pool: ThreadPoolExecutor
    n_threads: int


def blocks_in_memory(blocks: Sequence[Block], threads: BlockThreads | None = None) -> Blocks[Block]:
    """Return blocks that are evaluated on the given threads, or in a loop if there are none."""
    return SerialBlocks(blocks) if threads is None else ThreadBlocks(blocks, threads.pool, threads.n_threads)


def fixed_order_sum(results: Iterable[Result]) -> Result:
    """Sum the results of blocks: group by group, then over the tree of groups.

    Examples
    --------
    >>> from softpolytope.parallel import fixed_order_sum
    >>> fixed_order_sum([1.0, 2.0, 3.0])
    6.0
    """
    groups: list[Result] = []
    for number, result in enumerate(results):
        if number % GROUP_BLOCKS == 0:
            groups.append(result)
        else:
            groups[-1] = add(groups[-1], result)
    return groups[0] if len(groups) == 1 else tree_sum(groups)


def combine(results: Iterable[object], kind: Kind) -> object:
    """Combine results of blocks, in their order, as a kind of call says."""
    if kind == "map":
        return list(results)
    if kind == "broadcast":
        deque(results, maxlen=0)
        return None
    return fixed_order_sum(results)


def tree_sum(leaves: Sequence[Result]) -> Result:
    """Sum over the tree: neighbors, then the sums of neighbors, and so on."""
    (total,) = merge_siblings({(0, number): leaf for number, leaf in enumerate(leaves)}, len(leaves)).values()
    return total


def merge_siblings(nodes: Mapping[Node, Result], n_leaves: int) -> dict[Node, Result]:
    """Add siblings wherever both are present, from the leaves up.

    A process that has some of the leaves sends the few nodes returned. Merged again, the nodes of all processes are one
    node, the total, after the same additions for any distribution of the leaves.

    Examples
    --------
    >>> from softpolytope.parallel import merge_siblings
    >>> mine = merge_siblings({(0, 0): 1, (0, 1): 2, (0, 2): 3}, 5)
    >>> yours = merge_siblings({(0, 3): 4, (0, 4): 5}, 5)
    >>> mine, yours
    ({(0, 2): 3, (1, 0): 3}, {(0, 3): 4, (2, 1): 5})
    >>> merge_siblings(mine | yours, 5)
    {(3, 0): 15}
    """
    left = dict(nodes)
    height, width = 0, n_leaves
    while width > 1:
        for number in sorted(number for at, number in left if at == height and number % 2 == 0):
            if number + 1 == width:  # the last of an odd number has no sibling
                left[height + 1, number // 2] = left.pop((height, number))
            elif (height, number + 1) in left:
                left[height + 1, number // 2] = add(left.pop((height, number)), left.pop((height, number + 1)))
        height, width = height + 1, (width + 1) // 2
    return left
