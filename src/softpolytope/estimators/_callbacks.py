"""Progress of a fit: scikit-learn's callbacks where there are any, otherwise one line on the terminal."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

from softpolytope._format import format_count, format_duration
from softpolytope.estimators._parameters import Settings
from softpolytope.estimators._problems import Problem
from softpolytope.optimize import max_optimizations
from softpolytope.parallel import Callback, Progress

if TYPE_CHECKING:
    from softpolytope.estimators._base import SoftplusBase

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in for versions of scikit-learn without callbacks."""

    def with_callbacks(method: Callable[..., object]) -> Callable[..., object]:
        """Return the method itself, for versions of scikit-learn without callbacks."""
        return method


__all__ = ["CallbackSupportMixin", "ProgressLine", "make_callback", "with_callbacks"]

# Seconds between two updates of the line on a terminal.
BETWEEN_UPDATES = 0.2
# Seconds until the first line of a log file, then twice as long each time, up to the last.
FIRST_LINE, MAX_BETWEEN_LINES = 10.0, 600.0


def make_callback(classifier: "SoftplusBase", settings: Settings, problems: Sequence[Problem]) -> Callback | None:
    """Return what is to be called after each step of each chain or restart, None if nothing is."""
    callbacks: list[Callback] = []
    n_runs = len(problems) * len(settings.labelings)
    n_runs *= settings.n_chains if settings.inference == "gibbs" else settings.n_restarts
    if getattr(classifier, "_skl_callbacks", None):
        n_steps = 1  # members of a bootstrap
        if settings.inference == "gibbs":
            n_steps = settings.schedule.n_sweeps
        elif settings.inference == "map":
            n_steps = max_optimizations(problems[0].rows.n_rows, settings.prior)
        callbacks.append(_scikit_learn_callback(classifier, n_runs * n_steps))
    if classifier.verbose:
        callbacks.append(ProgressLine(n_runs, sys.stderr))
    if not callbacks:
        return None

    def report(progress: Progress) -> bool:
        # Call all of them, even if one has asked to stop.
        answers = [bool(callback(progress)) for callback in callbacks]
        return any(answers)

    return report


def _scikit_learn_callback(classifier: "SoftplusBase", n_tasks: int) -> Callback:
    root = classifier._init_callback_context(max_subtasks=n_tasks)

    def report(progress: Progress) -> bool:
        if progress.unit == "members":
            name = f"member {progress.chain} of labeling {progress.labeling}"
        else:
            run = "chain" if progress.unit == "sweeps" else "restart"
            name = f"{progress.unit} of labeling {progress.labeling}, {run} {progress.chain}"
        context = root.subcontext(task_name=name)
        context.call_on_fit_task_begin(estimator=classifier)
        return bool(context.call_on_fit_task_end(estimator=classifier))

    return report


class ProgressLine:
    """One line with the progress of all chains or restarts, the state of the last one, and the time left.

    A terminal shows one line that is updated in place. A file keeps everything that is written to it, so it gets a new
    line ever less often, and one at the end.
    """

    def __init__(self, n_runs: int, out: TextIO) -> None:
        self._n_runs = n_runs
        self._out = out
        self._n_done = 0  # steps of all runs, those of an earlier fit included
        self._n_seen = 0
        self._n_done_by_run: dict[tuple[int, int], int] = {}
        # A notebook updates a line in place, though it is not a terminal.
        self._is_live = out.isatty() or type(out).__module__.startswith("ipykernel")
        self._wait = BETWEEN_UPDATES if self._is_live else FIRST_LINE
        self._is_over = False
        self._start = self._last = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Count a step, and write the line if it is time."""
        self._count(progress)
        now = time.monotonic()
        n_in_all = self._n_runs * progress.n_in_all
        is_last = self._n_done >= n_in_all
        if self._is_over or (now - self._last < self._wait and not is_last):
            return
        self._last, self._is_over = now, is_last
        left = (now - self._start) * (n_in_all - self._n_done) / self._n_seen
        line = (
            f"{self._n_done / n_in_all:4.0%} of {n_in_all} {progress.unit}, {format_duration(left)} left; "
            f"log-likelihood {progress.log_likelihood:.1f}, {format_count(progress.n_active, 'expert')}"
        )
        if self._is_live:
            self._out.write("\r" + line.ljust(79) + ("\n" if is_last else ""))
        else:
            self._wait = min(2.0 * self._wait, MAX_BETWEEN_LINES)
            self._out.write(line.strip() + "\n")
        self._out.flush()

    def _count(self, progress: Progress) -> None:
        """Count steps: a run that resumes has made some before, one that starts again is that of the next class."""
        run = (progress.labeling, progress.chain)
        before = self._n_done_by_run.get(run, 0)
        self._n_done += progress.n_done - (before if before < progress.n_done else 0)
        self._n_done_by_run[run] = progress.n_done
        self._n_seen += 1
