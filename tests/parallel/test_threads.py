"""Tasks on threads: order, errors, stopping; and one thread for matrix products."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from softpolytope.data import DataSummary, open_source
from softpolytope.parallel import open_partition_store
from softpolytope.parallel._threads import Progress, Reporting, one_blas_thread, run_all

needs_blas = pytest.mark.skipif(
    not any(pool["user_api"] == "blas" for pool in threadpool_info()), reason="no library whose threads can be told"
)

PROGRESS = Progress(0, 0, 1, 2, "optimizations", -1.0, 3)


def test_results_are_in_the_order_of_the_tasks():
    """Results are in the order of the tasks, not of their ends."""
    with ThreadPoolExecutor(4) as pool:
        tasks = [lambda n=n: time.sleep(0.02 * (4 - n)) or n for n in range(5)]
        assert run_all(tasks, pool, Reporting(None)) == [0, 1, 2, 3, 4]


def test_an_error_stops_the_others_and_is_raised():
    """After an error, other tasks stop, and the error of the first task is raised."""
    reporting = Reporting(None)
    ended = threading.Event()

    def patient():
        for _ in range(500):
            if reporting.is_stopped():
                ended.set()
                return
            time.sleep(0.01)

    def broken():
        raise KeyError("this one")

    with ThreadPoolExecutor(2) as pool, pytest.raises(KeyError, match="this one"):
        run_all([patient, broken], pool, reporting)
    assert ended.is_set()


def test_an_interrupt_asks_all_to_stop():
    """After Ctrl-C, results are kept, and the reason is recorded."""
    reporting = Reporting(None)

    def patient():
        for n in range(1000):
            if n == 3:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            if reporting.is_stopped():
                return "stopped"
            time.sleep(0.01)
        return "ran to its end"

    with ThreadPoolExecutor(1) as pool:
        assert run_all([patient], pool, reporting) == ["stopped"]
    assert reporting.is_interrupted()


def test_a_callback_that_says_true_stops():
    """Only True stops the tasks, not False or None."""
    for answer, is_stopped in ((True, True), (False, False), (None, False)):
        reporting = Reporting(lambda _, answer=answer: answer)
        reporting.report(PROGRESS)
        assert reporting.is_stopped() == is_stopped
        assert not reporting.is_interrupted()
    Reporting(None).report(PROGRESS)


class InterruptedPool(ThreadPoolExecutor):
    """Pool in which Ctrl-C is pressed while the third task is submitted."""

    def __init__(self, is_late):
        super().__init__(2)
        self._is_late, self._n_submitted = is_late, 0

    def submit(self, *given):
        """Submit a task."""
        self._n_submitted += 1
        if self._n_submitted == 3 and not self._is_late:
            raise KeyboardInterrupt
        future = super().submit(*given)
        if self._n_submitted == 3:
            raise KeyboardInterrupt
        return future


@pytest.mark.parametrize("is_late", [False, True])
def test_an_interrupt_between_two_tasks_loses_none(is_late):
    """All tasks run once, and can see that they should stop."""
    reporting, runs = Reporting(None), []
    with InterruptedPool(is_late) as pool:
        tasks = [lambda n=n: runs.append(n) or (n, reporting.is_stopped()) for n in range(6)]
        results = run_all(tasks, pool, reporting)
    assert [n for n, _ in results] == list(range(6))
    assert sorted(runs) == list(range(6))
    assert results[-1][1]


def n_threads():
    """Return the numbers of threads of the libraries for matrix products."""
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@needs_blas
def test_the_limit_lasts_until_the_last_user_ends():
    """The first user to end does not lift the limit for the others; the last restores the original limit."""
    with threadpool_limits(3, user_api="blas"):
        before, is_inside, may_end = n_threads(), threading.Event(), threading.Event()

        def other():
            with one_blas_thread():
                is_inside.set()
                may_end.wait()

        thread = threading.Thread(target=other)
        with one_blas_thread():
            thread.start()
            is_inside.wait()
        assert n_threads() == {1}
        may_end.set()
        thread.join()
        assert n_threads() == before


@needs_blas
def test_an_error_lifts_the_limit():
    """An error restores the original limit."""
    with threadpool_limits(3, user_api="blas"):
        before = n_threads()
        with pytest.raises(KeyError), one_blas_thread():
            raise KeyError
        assert n_threads() == before


@needs_blas
def test_summary_does_not_depend_on_threads(tmp_path, rng):
    """Moments of many rows have the same bits for any number of threads outside."""
    np.save(tmp_path / "X.npy", rng.normal(size=(60_000, 20)))
    np.save(tmp_path / "y.npy", rng.integers(0, 2, 60_000))
    found = set()
    for limit in (1, 2, 4):
        with threadpool_limits(limit, user_api="blas"):
            files = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy"]
            source = open_source(*files, None, has_client=False, is_limited=True)
            with open_partition_store(source, None, 2**31, 1) as store:
                summary = DataSummary.from_store(store, None)
        moments = [item for _, item in sorted(summary.by_label.items())]
        found.add(b"".join(item.mean.tobytes() + item.square.tobytes() for item in moments))
    assert len(found) == 1
