"""What takes time, done by several processes, and how long it will take."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from joblib import Parallel, delayed

# Between looks for the process that asked for a job.
_SECONDS_OF_A_LOOK = 0.5


@dataclass(frozen=True, slots=True)
class Job:
    """Something that leaves a file; whoever runs it needs nothing but what is in here."""

    name: str
    seconds: float  # on one core, about
    run: Callable[..., None]
    arguments: tuple[Any, ...]

    def timed(self, asked_by: int) -> tuple["Job", float]:
        """Run it, for the process of that number; returns how long that took."""
        if os.getpid() != asked_by:
            _end_with(asked_by)
        start = time.monotonic()
        self.run(*self.arguments)
        return self, time.monotonic() - start


def run_jobs(jobs: list[Job], n_processes: int) -> Iterator[tuple[Job, float]]:
    """Run jobs, several at a time; each is given back with its seconds as soon as it is done."""
    parallel = Parallel(n_jobs=n_processes, return_as="generator_unordered")
    with _deaf_to_interrupts():
        results = parallel(delayed(job.timed)(os.getpid()) for job in jobs)
    yield from results


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent, however that was ended.

    Else it would go on with a job of hours, and write to the files of whoever runs the same job anew.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_SECONDS_OF_A_LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started in here ignore Ctrl-C: this one hears it and ends them, instead of each with a traceback."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class TimeLeft:
    """How long the rest will take, judged by how long the jobs done so far took."""

    def __init__(self, jobs: list[Job], n_processes: int) -> None:
        self._left = {job.name: job.seconds for job in jobs}
        self._expected = self._taken = 0.0
        self._n_processes = n_processes

    def after(self, job: Job, seconds: float) -> float:
        """Seconds left now that a job is done."""
        del self._left[job.name]
        self._expected += job.seconds
        self._taken += seconds
        left = self._left.values()
        # Processes share jobs, but no job is shared.
        return max(sum(left) / self._n_processes, max(left, default=0.0)) * self._taken / self._expected


def duration(seconds: float) -> str:
    """40 s, 2:05 min or 1:02:05 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, rest = divmod(whole, 3600)
    clock = f"{rest // 60:02d}:{rest % 60:02d}"
    return f"{hours}:{clock} h" if hours else f"{rest // 60}:{rest % 60:02d} min"
