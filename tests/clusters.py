"""Clusters of worker processes for tests, and trouble for their workers."""

import os
import signal
import threading
import time

from softpolytope.parallel.dask._blocks import DaskBlocks


def scaled(cluster, client, n_workers):
    """Scale a cluster and wait for its workers."""
    if len(client.nthreads()) != n_workers:
        cluster.scale(n_workers)
        deadline = time.monotonic() + 60.0
        while len(client.nthreads()) != n_workers and time.monotonic() < deadline:
            time.sleep(0.1)
    assert len(client.nthreads()) == n_workers


class Trouble:
    """Patch that runs a function during chosen calls of a fit."""

    def __init__(self, patch, when, do):
        self.n_calls, self.n_done = 0, 0
        lock = threading.Lock()
        run = DaskBlocks._run

        def troubled(blocks, calls):
            with lock:
                self.n_calls += 1
                is_time = when(self.n_calls, calls[-1].method.__name__)
            if is_time:
                self.n_done += 1
                do()
            return run(blocks, calls)

        patch.setattr(DaskBlocks, "_run", troubled)


def pids(client):
    """Return the process ids of the workers."""
    return sorted(client.run(os.getpid).values())


def kill_soon(client, chance):
    """Kill a random worker some milliseconds later."""
    pid = chance.choice(pids(client))

    def kill():
        time.sleep(0.03 * chance.random())
        os.kill(pid, signal.SIGKILL)

    threading.Thread(target=kill).start()
