"""One thread for matrix products while any of our work runs, because their bits depend on how many there are.

The limit is one of the process. Work on several threads begins and ends at different times: it is lifted when the last
of it ends, not, as with a plain context for each, while another still needs it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import OpenBLASController, threadpool_limits

_LOCK = threading.Lock()


class _Limit:
    n_users = 0
    held: threadpool_limits | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products in here take one thread each."""
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
    """From threadpoolctl 3.8 on, a thread that has set a limit is the only one who can; ours is lifted by the last."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
