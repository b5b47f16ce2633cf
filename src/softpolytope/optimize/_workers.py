"""Threads of a search: one per restart, and what is left over for the blocks of each."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from softpolytope.data import RowBlock, TrainingData
from softpolytope.parallel import Blocks, SerialBlocks, ThreadBlocks


class Workers:
    """Threads: one per restart, and what is left over for the blocks of each."""

    def __init__(self, stack: ExitStack, n_threads: int, n_tasks: int = 1) -> None:
        """`n_tasks` is how many restarts may wait for rows that live elsewhere at once."""
        self._n_threads = n_threads
        self.pool = stack.enter_context(ThreadPoolExecutor(max(n_threads, n_tasks)))
        self._stack = stack
        self._block_pool: ThreadPoolExecutor | None = None

    def blocks(self, rows: TrainingData, n_tasks: int) -> Blocks[RowBlock]:
        """Return the blocks of some rows, when `n_tasks` tasks run at once."""
        blocks = [RowBlock(block) for block in rows.blocks()]
        per_task = self._n_threads // n_tasks
        if per_task < 2:
            return SerialBlocks(blocks)
        if self._block_pool is None:
            self._block_pool = self._stack.enter_context(ThreadPoolExecutor(self._n_threads))
        return ThreadBlocks(blocks, self._block_pool, per_task)
