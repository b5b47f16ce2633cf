"""One thread for matrix products."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from softpolytope.data import DataSummary, open_source
from softpolytope.parallel import _partition_blocks as partition_blocks
from softpolytope.parallel._blas import one_blas_thread

pytestmark = pytest.mark.skipif(
    not any(pool["user_api"] == "blas" for pool in threadpool_info()), reason="no library whose threads can be told"
)


def n_threads():
    """Return the numbers of threads of the libraries for matrix products."""
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


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


def test_an_error_lifts_the_limit():
    """An error restores the original limit."""
    with threadpool_limits(3, user_api="blas"):
        before = n_threads()
        with pytest.raises(KeyError), one_blas_thread():
            raise KeyError
        assert n_threads() == before


def test_summary_does_not_depend_on_threads(tmp_path, rng):
    """Moments of many rows have the same bits for any number of threads outside."""
    np.save(tmp_path / "X.npy", rng.normal(size=(60_000, 20)))
    np.save(tmp_path / "y.npy", rng.integers(0, 2, 60_000))
    found = set()
    for limit in (1, 2, 4):
        with threadpool_limits(limit, user_api="blas"):
            files = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy"]
            source = open_source(*files, None, has_client=False, is_limited=True)
            with partition_blocks.open_partition_store(source, None, 2**31, 1) as store:
                summary = DataSummary.from_store(store, None)
        moments = [item for _, item in sorted(summary.by_label.items())]
        found.add(b"".join(item.mean.tobytes() + item.square.tobytes() for item in moments))
    assert len(found) == 1
