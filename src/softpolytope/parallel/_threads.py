"""Tasks on threads that report progress and can be stopped, and one thread for matrix products."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from threadpoolctl import OpenBLASController, threadpool_limits

from softpolytope.parallel._checkpoint import CheckpointPlan

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a fit, reported after every sweep of a chain or every optimization of a restart."""

    labeling: int
    chain: int  # or restart
    n_done: int  # sweeps of this chain, or optimizations of this restart
    n_in_all: int
    unit: str  # "sweeps" or "optimizations"
    log_likelihood: float
    n_active: int  # experts with counts, or of any weight


Callback = Callable[[Progress], bool | None]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run of chains or a search for modes; none of them changes a result."""

    n_threads: int = 1
    callback: Callback | None = None  # called after every sweep or optimization, one call at a time; True stops
    checkpoint: CheckpointPlan | None = None
    folder: str = "."  # of the checkpoints, within that of the plan
    keeps_states: bool = False  # whether chains keep the state from which they can continue


class Reporting:
    """Calls of a user's callback, one at a time, and requests to stop."""

    def __init__(self, callback: Callback | None) -> None:
        self._callback = callback
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._is_interrupted = False

    def report(self, progress: Progress) -> None:
        """Call the callback, if there is one; it stops the tasks by returning True."""
        if self._callback is not None:
            with self._lock:
                if self._callback(progress):
                    self._stop.set()

    def stop(self) -> None:
        """Request that all tasks stop."""
        self._stop.set()

    def interrupt(self) -> None:
        """Request that all tasks stop because of Ctrl-C."""
        self._is_interrupted = True
        self._stop.set()

    def is_stopped(self) -> bool:
        """Return whether tasks should stop."""
        return self._stop.is_set()

    def is_interrupted(self) -> bool:
        """Return whether Ctrl-C was pressed; the caller then raises KeyboardInterrupt."""
        return self._is_interrupted


def run_all(tasks: Sequence[Callable[[], Result]], pool: ThreadPoolExecutor, reporting: Reporting) -> list[Result]:
    """Run tasks on the threads of a pool and return their results in order.

    After Ctrl-C, wait until the tasks have stopped. Tasks never run on this thread, where Ctrl-C would break one off.
    It is not raised but recorded in `reporting`, so that the caller can keep results before it raises
    KeyboardInterrupt. The first task that fails stops the others, and its error is raised.
    """
    futures: list[Future[Result]] = [Future() for _ in tasks]
    started: set[int] = set()
    lock = threading.Lock()

    def run(number: int) -> None:
        with lock:
            if number in started:
                return
            started.add(number)
        try:
            futures[number].set_result(tasks[number]())
        except BaseException as error:
            reporting.stop()
            futures[number].set_exception(error)

    def submit_all() -> None:
        for number in range(len(tasks)):
            pool.submit(run, number)

    try:
        submit_all()
        # A wait without timeout would not notice a Ctrl-C that another thread received.
        while wait(futures, timeout=0.1).not_done:
            pass
    except KeyboardInterrupt:
        reporting.interrupt()
        # It may have come before the last task was submitted; no task is started twice.
        submit_all()
        wait(futures)
    return [future.result() for future in futures]


_LOCK = threading.Lock()


class _Limit:
    n_users = 0
    held: threadpool_limits | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit matrix products to one thread, because their bits depend on the number of threads.

    The limit holds for the whole process. Fits on several threads start and end at different times, so it is lifted
    when the last of them ends; plain nested contexts would lift it while another fit still needs it.
    """
    with _LOCK:
        if _Limit.n_users == 0:
            _let_any_thread_set_limits()
            _Limit.held = threadpool_limits(1, user_api="blas")
        _Limit.n_users += 1
    try:
        yield
    finally:
        with _LOCK:
            _Limit.n_users -= 1
            if _Limit.n_users == 0 and _Limit.held is not None:
                _let_any_thread_set_limits()
                _Limit.held.restore_original_limits()
                _Limit.held = None
                _let_any_thread_set_limits()


def _let_any_thread_set_limits() -> None:
    """Let the last thread lift the limit: from threadpoolctl 3.8 on, only the thread that has set a limit can."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
