"""Threads of a search for modes."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

from softpolytope.parallel import BlockThreads, Reporting, run_all

Result = TypeVar("Result")


class Workers:
    """Threads of a search: one per restart, and the remaining ones for the blocks of each restart."""

    def __init__(self, stack: ExitStack, n_threads: int, n_parallel: int, reporting: Reporting) -> None:
        """Open a pool that `stack` closes; `n_parallel` restarts may wait for partitions at the same time."""
        self._stack, self._n_threads, self.reporting = stack, n_threads, reporting
        self._pool = stack.enter_context(ThreadPoolExecutor(max(n_threads, n_parallel)))
        self._block_pool: ThreadPoolExecutor | None = None

    def run(self, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run tasks on the threads; return their results in the order of the tasks."""
        return run_all(tasks, self._pool, self.reporting)

    def block_threads(self, n_tasks: int) -> BlockThreads | None:
        """Return each task's share of the threads if `n_tasks` run at once; None if it is less than two threads."""
        per_task = self._n_threads // n_tasks
        if per_task < 2:
            return None
        if self._block_pool is None:
            self._block_pool = self._stack.enter_context(ThreadPoolExecutor(self._n_threads))
        return BlockThreads(self._block_pool, per_task)
