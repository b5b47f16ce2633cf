"""Tasks on threads that a user can stop, and what they tell on the way."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Progress:
    """Told after every sweep of a chain, or every climb of a restart."""

    labelling: int
    chain: int  # or restart
    n_done: int  # sweeps of this chain, or climbs of this restart
    n_in_all: int
    unit: str  # "sweeps" or "climbs"
    log_likelihood: float
    n_active: int  # experts with counts, or of any weight


Callback = Callable[[Progress], bool | None]


class Reporting:
    """Passes progress on, one call at a time, and remembers whether anyone asked to stop."""

    def __init__(self, callback: Callback | None) -> None:
        self._callback = callback
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def tell(self, progress: Progress) -> None:
        """Call the callback, if there is one."""
        if self._callback is not None:
            with self._lock:
                if self._callback(progress):
                    self._stop.set()

    def stop(self) -> None:
        """Ask everyone to stop."""
        self._stop.set()

    def is_stopped(self) -> bool:
        """Whether anyone asked to stop."""
        return self._stop.is_set()


def run_all(tasks: Sequence[Callable[[], Result]], pool: ThreadPoolExecutor, reporting: Reporting) -> list[Result]:
    """Run tasks on the threads of a pool; results in the order of the tasks.

    Ctrl-C asks the tasks to stop, and waits until they have: never on this thread, where it would tear one in two. The
    first task that fails stops the others, and its error is raised.
    """

    def watched(task: Callable[[], Result]) -> Result:
        try:
            return task()
        except BaseException:
            reporting.stop()
            raise

    futures: list[Future[Result]] = []
    try:
        futures.extend(pool.submit(watched, task) for task in tasks)
        # A wait without end would sleep through a Ctrl-C that another thread received.
        while wait(futures, timeout=0.1).not_done:
            pass
    except KeyboardInterrupt:
        reporting.stop()
        wait(futures)
    return [future.result() for future in futures]
