"""What a user sees of a fit under way: scikit-learn's callbacks where there are any, else one line on the terminal."""

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from softpolytope._format import format_count
from softpolytope.parallel import Progress

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Stands in where scikit-learn has no callbacks."""
        return method


__all__ = ["CallbackSupportMixin", "ProgressLine", "Reporter", "reporter_of", "with_callbacks"]

Reporter = Callable[[Progress], bool | None]

# Seconds between two updates of the line on a terminal.
BETWEEN_UPDATES = 0.2
# Seconds until the first line of a log file, then twice as long each time, up to the last.
FIRST_LINE, MAX_BETWEEN_LINES = 10.0, 600.0


def reporter_of(estimator: Any, n_runs: int, n_steps: int) -> Reporter | None:
    """What is called after each of up to `n_steps` steps of each of `n_runs` chains or restarts, if asked for."""
    reporters: list[Reporter] = []
    if getattr(estimator, "_skl_callbacks", None):
        reporters.append(_scikit_learn_reporter(estimator, n_runs * n_steps))
    if estimator.verbose:
        reporters.append(ProgressLine(n_runs, sys.stderr))
    if not reporters:
        return None

    def report(progress: Progress) -> bool:
        # All are told, even if one has asked to stop.
        answers = [bool(reporter(progress)) for reporter in reporters]
        return any(answers)

    return report


def _scikit_learn_reporter(estimator: Any, n_tasks: int) -> Reporter:
    root = estimator._init_callback_context(max_subtasks=n_tasks)

    def report(progress: Progress) -> bool:
        run = "chain" if progress.unit == "sweeps" else "restart"
        name = f"{progress.unit} of labeling {progress.labeling}, {run} {progress.chain}"
        context = root.subcontext(task_name=name)
        context.call_on_fit_task_begin(estimator=estimator)
        return bool(context.call_on_fit_task_end(estimator=estimator))

    return report


class ProgressLine:
    """One line that says how far all chains or restarts are, what the last one is at, and how long it will take.

    On a terminal it is written over and over. A file keeps all that is written to it: there it is one line of its own
    now and then, ever less often, and one at the end.
    """

    def __init__(self, n_runs: int, out: TextIO) -> None:
        self._n_runs = n_runs
        self._out = out
        self._n_done = 0  # steps of all runs, those of an earlier fit included
        self._n_seen = 0
        self._of_chain: dict[tuple[int, int], int] = {}
        # A notebook shows a line that is written over, though it is not a terminal.
        self._is_live = out.isatty() or type(out).__module__.startswith("ipykernel")
        self._wait = BETWEEN_UPDATES if self._is_live else FIRST_LINE
        self._is_over = False
        self._start = self._last = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Count a sweep, and write the line if it is time."""
        self._count(progress)
        now = time.monotonic()
        n_in_all = self._n_runs * progress.n_in_all
        is_last = self._n_done >= n_in_all
        if self._is_over or (now - self._last < self._wait and not is_last):
            return
        self._last, self._is_over = now, is_last
        left = (now - self._start) * (n_in_all - self._n_done) / self._n_seen
        line = (
            f"{self._n_done / n_in_all:4.0%} of {n_in_all} {progress.unit}, {_duration(left)} left; "
            f"log-likelihood {progress.log_likelihood:.1f}, {format_count(progress.n_active, 'expert')}"
        )
        if self._is_live:
            self._out.write("\r" + line.ljust(79) + ("\n" if is_last else ""))
        else:
            self._wait = min(2.0 * self._wait, MAX_BETWEEN_LINES)
            self._out.write(line.strip() + "\n")
        self._out.flush()

    def _count(self, progress: Progress) -> None:
        """A chain that resumes brings its earlier sweeps with it; one that starts again belongs to the next class."""
        chain = (progress.labeling, progress.chain)
        before = self._of_chain.get(chain, 0)
        self._n_done += progress.n_done - (before if before < progress.n_done else 0)
        self._of_chain[chain] = progress.n_done
        self._n_seen += 1


def _duration(seconds: float) -> str:
    """3 s, 2:05 min or 1:02:05 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d} h"
