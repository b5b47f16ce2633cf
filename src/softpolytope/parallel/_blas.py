"""One thread for matrix products during a fit, because their bits depend on the number of threads.

The limit holds for the whole process. Fits on several threads start and end at different times, so the limit is lifted
when the last of them ends; plain nested contexts would lift it while another fit still needs it.
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
    """Limit matrix products to one thread."""
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
