"""Long computations that each write a file, run in several processes with an estimate of the time left."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from joblib import Parallel, delayed

from softpolytope._format import format_duration

Report: TypeAlias = Callable[[str], object]  # called with one line at a time

# Seconds between two checks whether the parent process is still alive.
_CHECK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Job:
    """A computation that writes a file and depends on nothing else than its arguments."""

    name: str
    expected_seconds: float  # on one core: determines the order of the jobs and the estimate of the time left
    run: Callable[..., str | None]  # returns a remark for the user, or None
    arguments: tuple[Any, ...]  # those of `run`

    def run_for(self, parent: int) -> "FinishedJob":
        """Run it on behalf of the process `parent`."""
        if os.getpid() != parent:
            _exit_with(parent)
        start = time.monotonic()
        remark = self.run(*self.arguments)
        return FinishedJob(self, time.monotonic() - start, remark)


@dataclass(frozen=True, slots=True)
class FinishedJob:
    """A job, how long it took and its remark."""

    job: Job
    seconds: float
    remark: str | None


def run_jobs(jobs: Sequence[Job], n_processes: int) -> Iterator[FinishedJob]:
    """Run jobs in `n_processes` processes; yield each as soon as it is finished."""
    parallel = Parallel(n_jobs=n_processes, return_as="generator_unordered")
    with _ignore_interrupts():
        results = parallel(delayed(job.run_for)(os.getpid()) for job in jobs)
    yield from results


def run_with_reports(jobs: Sequence[Job], n_processes: int, report: Report) -> Iterator[Job]:
    """Run jobs, report each with its time, its remark and the time left, and yield it."""
    time_left = TimeLeft(jobs, n_processes)
    for n_done, finished in enumerate(run_jobs(jobs, n_processes), start=1):
        job, seconds = finished.job, finished.seconds
        left = f"; about {format_duration(time_left.after(job, seconds))} left" if n_done < len(jobs) else ""
        report(f"[{n_done}/{len(jobs)}] {job.name}: {seconds:.1f} s{left}")
        if finished.remark:
            report(f"  {finished.remark}")
        yield job


class TimeLeft:
    """Estimate of the time of the remaining jobs from that of the finished ones."""

    def __init__(self, jobs: Sequence[Job], n_processes: int) -> None:
        self._left = {job.name: job.expected_seconds for job in jobs}
        self._expected = self._taken = 0.0
        self._n_processes = n_processes

    def after(self, job: Job, seconds: float) -> float:
        """Return the seconds left once `job` has finished after `seconds`."""
        del self._left[job.name]
        self._expected += job.expected_seconds
        self._taken += seconds
        left = self._left.values()
        # Jobs are distributed over processes, but one job runs in one process.
        return max(sum(left) / self._n_processes, max(left, default=0.0)) * self._taken / self._expected


@cache
def _exit_with(parent: int) -> None:
    """Exit soon after the parent process, however it ended.

    Otherwise this process would continue for hours, and write to the files of the next run of the same job.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_CHECK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C in processes started here; this process ends them without their tracebacks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
