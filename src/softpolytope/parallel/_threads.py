"""Tasks on threads that a user can stop, and what they tell on the way."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TypeVar

from softpolytope.parallel._checkpoint import CheckpointPlan

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Progress:
    """Told after every sweep of a chain, or every climb of a restart."""

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
    """Passes progress on, one call at a time, and remembers whether anyone asked to stop."""

    def __init__(self, callback: Callback | None) -> None:
        self._callback = callback
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._is_interrupted = False

    def tell(self, progress: Progress) -> None:
        """Call the callback, if there is one."""
        if self._callback is not None:
            with self._lock:
                if self._callback(progress):
                    self._stop.set()

    def stop(self) -> None:
        """Ask everyone to stop."""
        self._stop.set()

    def interrupt(self) -> None:
        """Ask everyone to stop because of Ctrl-C."""
        self._is_interrupted = True
        self._stop.set()

    def is_stopped(self) -> bool:
        """Whether anyone asked to stop."""
        return self._stop.is_set()

    def is_interrupted(self) -> bool:
        """Whether Ctrl-C asked to stop, which whoever asked for the work must hear of."""
        return self._is_interrupted


def run_all(tasks: Sequence[Callable[[], Result]], pool: ThreadPoolExecutor, reporting: Reporting) -> list[Result]:
    """Run tasks on the threads of a pool; results in the order of the tasks.

    Ctrl-C asks the tasks to stop, and waits until they have: never on this thread, where it would tear one in two. It
    is not raised but remembered (`Reporting.is_interrupted`), so that the caller can keep what was reached before it
    raises KeyboardInterrupt. The first task that fails stops the others, and its error is raised.
    """
    promises: list[Future[Result]] = [Future() for _ in tasks]
    begun: set[int] = set()
    lock = threading.Lock()

    def keep(number: int) -> None:
        with lock:
            if number in begun:
                return
            begun.add(number)
        try:
            promises[number].set_result(tasks[number]())
        except BaseException as error:
            reporting.stop()
            promises[number].set_exception(error)

    def submit_all() -> None:
        for number in range(len(tasks)):
            pool.submit(keep, number)

    try:
        submit_all()
        # A wait without end would sleep through a Ctrl-C that another thread received.
        while wait(promises, timeout=0.1).not_done:
            pass
    except KeyboardInterrupt:
        reporting.interrupt()
        # It may have come before the last task was handed over; none is begun twice.
        submit_all()
        wait(promises)
    return [promise.result() for promise in promises]
