"""Caches on workers, and their release."""

import os
import subprocess
import sys
import time

import pytest
from clusters import Trouble
from partitioned import arrays, model, sha

from softpolytope.parallel.dask import _placement as dask_placement
from softpolytope.parallel.dask import _worker as dask_worker

dask = pytest.importorskip("dask")


distributed = pytest.importorskip("distributed")


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


# Places that a worker has rows of; workers do not have this module.
N_CACHES = "len(__import__('softpolytope.parallel.dask._worker', fromlist=['_CACHES'])._CACHES)"


def test_workers_that_were_given_up_release_rows(client, expected, monkeypatch):
    """A worker that was given up releases its rows at the end of the fit."""
    X, y = arrays()
    silent = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
    place = []
    make = dask_placement.DaskPartitionStore.__init__
    monkeypatch.setattr(
        dask_placement.DaskPartitionStore, "__init__", lambda self, *given: place.append(self) or make(self, *given)
    )

    def give_up():
        slots = {slot for slot in place[0].by_slot(list(range(place[0].n_partitions))) if slot.address == silent}
        assert slots
        place[0].cluster._shunned[silent] = time.monotonic() + 600.0
        place[0].give_up(slots)

    trouble = Trouble(monkeypatch, lambda n_calls, _: n_calls == 8, give_up)
    assert sha(model("collapsed").fit(X, y, client=client)) == expected["collapsed"]
    assert trouble.n_done == 1
    deadline = time.monotonic() + 20.0
    while any(client.run(eval, N_CACHES).values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(client.run(eval, N_CACHES).values())


ENDLESS_FIT = """
import sys
import distributed
from partitioned import model, rows
import dask.array as da
client = distributed.Client(sys.argv[1], set_as_default=False)
X, y = (da.from_array(part, chunks=(400, *part.shape[1:])) for part in rows())
model("collapsed", n_sweeps=10**6).fit(X, y, client=client)
"""


def test_rows_of_a_killed_client_are_left_at_the_next_fit(cluster, client, expected, monkeypatch):
    """The next fit releases rows of a killed client, but not those of other running fits."""
    monkeypatch.setattr(dask_placement, "ORPHANS_AFTER", 0.0)
    command = [sys.executable, "-c", ENDLESS_FIT, cluster.scheduler_address]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    killed, alive = (subprocess.Popen(command, env=environment) for _ in range(2))  # noqa: S603

    def wait_for_places(n_stores):
        deadline = time.monotonic() + 60.0
        while set(client.run(eval, N_CACHES).values()) != {n_stores} and time.monotonic() < deadline:
            time.sleep(0.1)
        assert set(client.run(eval, N_CACHES).values()) == {n_stores}

    try:
        wait_for_places(2)
        killed.kill()
        killed.wait()
        assert set(client.run(eval, N_CACHES).values()) == {2}
        X, y = arrays()
        assert sha(model("collapsed").fit(X, y, client=client)) == expected["collapsed"]
        wait_for_places(1)
        assert alive.poll() is None
    finally:
        for process in (killed, alive):
            process.kill()
            process.wait()
        client.run(dask_worker.release_orphans, {client.id}, 0.0)


def test_orphans_are_found_by_the_name_of_their_client(monkeypatch):
    """Client names may have slashes; stores used a moment ago stay."""
    monkeypatch.setattr(dask_worker, "_CACHES", dict.fromkeys(["Client-a/b-1/x", "Client-c-2/y"]))
    monkeypatch.setattr(dask_worker, "_USED", dict.fromkeys(["Client-a/b-1/x", "Client-c-2/y"], time.monotonic()))
    dask_worker.release_orphans({"Client-a/b-1"}, 60.0)
    assert len(dask_worker._CACHES) == 2
    dask_worker.release_orphans({"Client-a/b-1"}, 0.0)
    assert list(dask_worker._CACHES) == list(dask_worker._USED) == ["Client-a/b-1/x"]
