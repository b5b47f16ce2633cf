"""Blocks on a real cluster with worker processes: the same bits, whatever happens to the workers."""

import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from partitioned import CHUNK, FITS, model, rows, sha

from softpolytope.exceptions import BlocksLostError
from softpolytope.optimize import _checkpoints as climb_log
from softpolytope.parallel._checkpoint import CheckpointPlan
from softpolytope.parallel._threads import Reporting

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from softpolytope.parallel.dask import _blocks as dask_home  # noqa: E402
from softpolytope.parallel.dask import _cluster as dask_cluster  # noqa: E402
from softpolytope.parallel.dask import _placement as dask_place  # noqa: E402
from softpolytope.parallel.dask import _worker as dask_worker  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def arrays():
    """Dask arrays of the rows."""
    X, y = rows()
    return da.from_array(X, chunks=(CHUNK, 3)), da.from_array(y, chunks=CHUNK)


@pytest.fixture(scope="module")
def expected():
    """Hashes of the same fits in this process."""
    X, y = arrays()
    return {kind: sha(model(kind).fit(X, y, max_memory="8GB")) for kind in FITS}


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes; a test that needs more or fewer says so."""
    # A loaded machine takes longer than the default to start a worker in the place of a lost one.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "120s"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit="2GiB",
            silence_logs=logging.CRITICAL,
        )
        with started:
            yield started


@pytest.fixture
def client(cluster):
    """A client of the cluster, back at two workers."""
    with distributed.Client(cluster, set_as_default=False) as connected:
        scaled(cluster, connected, 2)
        yield connected


def scaled(cluster, client, n_workers):
    """Wait until the cluster has so many workers."""
    if len(client.nthreads()) != n_workers:
        cluster.scale(n_workers)
        deadline = time.monotonic() + 60.0
        while len(client.nthreads()) != n_workers and time.monotonic() < deadline:
            time.sleep(0.1)
    assert len(client.nthreads()) == n_workers


class Trouble:
    """Does something to the workers in the middle of chosen calls of a fit."""

    def __init__(self, patch, when, do):
        self.n_calls, self.n_done = 0, 0
        lock = threading.Lock()
        run = dask_home.DaskBlocks._run

        def troubled(blocks, calls):
            with lock:
                self.n_calls += 1
                is_time = when(self.n_calls, calls[-1].method.__name__)
            if is_time:
                self.n_done += 1
                do()
            return run(blocks, calls)

        patch.setattr(dask_home.DaskBlocks, "_run", troubled)


def pids(client):
    """Process ids of the workers."""
    return sorted(client.run(os.getpid).values())


def killed_soon(client, chance):
    """Kill a worker at random, some milliseconds from now."""
    pid = chance.choice(pids(client))

    def kill():
        time.sleep(0.03 * chance.random())
        os.kill(pid, signal.SIGKILL)

    threading.Thread(target=kill).start()


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_draws_do_not_depend_on_workers(n_workers, cluster, client, expected):
    """One, two and four processes give the bits of this one, for both scans and climbs."""
    scaled(cluster, client, n_workers)
    X, y = arrays()
    for kind in FITS:
        assert sha(model(kind).fit(X, y, client=client)) == expected[kind], kind


@pytest.mark.parametrize("kind", FITS)
def test_killed_workers_change_nothing(kind, client, expected, monkeypatch):
    """A worker is killed in the middle of every fifth sweep, or fiftieth gradient, at random."""
    X, y = arrays()
    chance = random.Random(kind)  # noqa: S311
    sweeps = [0]

    def is_time(n_calls, method):
        sweeps[0] += method == "log_likelihood"
        if kind == "map":
            return n_calls % 50 == 20
        return method in ("draw_top_counts", "advance", "finish") and sweeps[0] % 5 == 4 and chance.random() < 0.6

    trouble = Trouble(monkeypatch, is_time, lambda: killed_soon(client, chance))
    assert sha(model(kind).fit(X, y, client=client)) == expected[kind]
    assert trouble.n_done >= 1
    client.wait_for_workers(2, timeout=60)


def test_copies_are_lost_too(client, expected, monkeypatch):
    """Chains of the paper's scan are rebuilt from their copies, and from the beginning if both are gone."""
    X, y = arrays()
    monkeypatch.setattr(dask_home, "SWEEPS_BETWEEN_COPIES", 2)
    starts = []
    build_from = dask_home.DaskBlocks._build_from

    def noted(self, base, partitions):
        if partitions:
            starts.append("copies" if base.copies is not None else "new")
        build_from(self, base, partitions)

    monkeypatch.setattr(dask_home.DaskBlocks, "_build_from", noted)
    alive = dask_cluster.Cluster.find_alive
    are_lost = [False]
    monkeypatch.setattr(dask_cluster.Cluster, "find_alive", lambda *given: set() if are_lost[0] else alive(*given))

    def kill():
        are_lost[0] = trouble.n_done == 2
        killed_soon(client, random.Random(trouble.n_done))  # noqa: S311

    sweeps = [0]

    def is_time(_, method):
        sweeps[0] += method == "log_likelihood"
        return method == "begin" and sweeps[0] in (5, 8)

    trouble = Trouble(monkeypatch, is_time, kill)
    assert sha(model("paper").fit(X, y, client=client)) == expected["paper"]
    assert trouble.n_done == 2
    assert starts[0] == "new"
    assert "copies" in starts
    assert starts[-1] == "new"
    client.wait_for_workers(2, timeout=60)


def test_copies_of_nothing_are_not_built_from(client, expected, monkeypatch):
    """A copy that the scheduler made again, where there was nothing to copy, is told from a true one."""
    X, y = arrays()
    monkeypatch.setattr(dask_home, "SWEEPS_BETWEEN_COPIES", 2)
    replicate = dask_home.DaskBlocks.replicate

    def emptied(self):
        replicate(self)
        for base in self._bases:
            if base.copies:
                base.copies = dict.fromkeys(base.copies, client.submit(dict, pure=False))

    monkeypatch.setattr(dask_home.DaskBlocks, "replicate", emptied)
    sweeps = [0]

    def is_time(_, method):
        sweeps[0] += method == "log_likelihood"
        return method == "begin" and sweeps[0] == 5

    trouble = Trouble(monkeypatch, is_time, lambda: killed_soon(client, random.Random(0)))  # noqa: S311
    assert sha(model("paper").fit(X, y, client=client)) == expected["paper"]
    assert trouble.n_done == 1
    client.wait_for_workers(2, timeout=60)


# Places that a worker has rows of; workers do not have this module.
KEPT_PLACES = "len(__import__('softpolytope.parallel.dask._worker', fromlist=['_CACHES'])._CACHES)"


def test_workers_that_were_given_up_forget_too(client, expected, monkeypatch):
    """A worker that was silent for long keeps no rows when the fit is over, though it has no part in it any more."""
    X, y = arrays()
    silent = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
    place = []
    make = dask_place.DaskPartitionStore.__init__
    monkeypatch.setattr(
        dask_place.DaskPartitionStore, "__init__", lambda self, *given: place.append(self) or make(self, *given)
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
    while any(client.run(eval, KEPT_PLACES).values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(client.run(eval, KEPT_PLACES).values())


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
    """It could not say good-bye; the fit of another client that runs meanwhile keeps what it has."""
    monkeypatch.setattr(dask_place, "ORPHANS_AFTER", 0.0)
    command = [sys.executable, "-c", ENDLESS_FIT, cluster.scheduler_address]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    killed, alive = (subprocess.Popen(command, env=environment) for _ in range(2))  # noqa: S603

    def wait_for_places(n_places):
        deadline = time.monotonic() + 60.0
        while set(client.run(eval, KEPT_PLACES).values()) != {n_places} and time.monotonic() < deadline:
            time.sleep(0.1)
        assert set(client.run(eval, KEPT_PLACES).values()) == {n_places}

    try:
        wait_for_places(2)
        killed.kill()
        killed.wait()
        assert set(client.run(eval, KEPT_PLACES).values()) == {2}
        X, y = arrays()
        assert sha(model("collapsed").fit(X, y, client=client)) == expected["collapsed"]
        wait_for_places(1)
        assert alive.poll() is None
    finally:
        for process in (killed, alive):
            process.kill()
            process.wait()
        client.run(dask_worker.release_orphans, {client.id}, 0.0)


def test_orphans_are_told_by_the_name_of_their_client(monkeypatch):
    """Which may have slashes; those used a moment ago entry."""
    monkeypatch.setattr(dask_worker, "_CACHES", dict.fromkeys(["Client-a/b-1/x", "Client-c-2/y"]))
    monkeypatch.setattr(dask_worker, "_USED", dict.fromkeys(["Client-a/b-1/x", "Client-c-2/y"], time.monotonic()))
    dask_worker.release_orphans({"Client-a/b-1"}, 60.0)
    assert len(dask_worker._CACHES) == 2
    dask_worker.release_orphans({"Client-a/b-1"}, 0.0)
    assert list(dask_worker._CACHES) == list(dask_worker._USED) == ["Client-a/b-1/x"]


def test_scheduler_needs_no_package(monkeypatch):
    """What is run on it is sent whole, not as a name to be imported."""
    sent = []
    monkeypatch.setattr(dask_cluster, "check_client", lambda _: None)
    client = SimpleNamespace(id="me", run_on_scheduler=None)
    client.sync = lambda _, function, **__: sent.append(distributed.protocol.pickle.dumps(function)) or []
    asking = dask_cluster.Cluster(client)
    asking._frozen = {"tcp://one"}
    assert asking.clients() == {"me"}
    asking._remove_frozen()
    asking.close()
    assert len(sent) == 2
    for whole in sent:
        code = "import sys, pickle; sys.modules['softpolytope'] = None; pickle.loads(sys.stdin.buffer.read())"
        subprocess.run([sys.executable, "-c", code], input=whole, check=True)  # noqa: S603


def test_frozen_worker_is_given_up(client, expected, monkeypatch):
    """A worker that is stopped, not killed, costs some seconds; awake again, it does no harm."""
    X, y = arrays()
    monkeypatch.setattr(dask_cluster, "FROZEN_AFTER", 3.0)
    victim = pids(client)[0]
    trouble = Trouble(monkeypatch, lambda n_calls, _: n_calls == 40, lambda: os.kill(victim, signal.SIGSTOP))
    start = time.monotonic()
    try:
        assert sha(model("collapsed").fit(X, y, client=client)) == expected["collapsed"]
    finally:
        os.kill(victim, signal.SIGCONT)
    assert trouble.n_done == 1
    assert time.monotonic() - start > 3.0
    monkeypatch.undo()
    assert sha(model("paper").fit(X, y, client=client)) == expected["paper"]


def test_worker_frozen_before_the_fit_is_given_up(cluster, client, expected, monkeypatch):
    """A worker that stands still from the beginning costs some seconds too; so does one that has nothing imported."""
    X, y = arrays()
    monkeypatch.setattr(dask_cluster, "FROZEN_AFTER", 4.0)
    scaled(cluster, client, 1)
    (old,) = pids(client)
    scaled(cluster, client, 2)
    (victim,) = set(pids(client)) - {old}
    os.kill(victim, signal.SIGSTOP)
    start = time.monotonic()
    try:
        assert sha(model("collapsed").fit(X, y, client=client)) == expected["collapsed"]
    finally:
        os.kill(victim, signal.SIGCONT)
    assert 3.0 < time.monotonic() - start < 30.0


def test_worker_without_the_package_is_told(client, monkeypatch):
    """The error says what to install where."""
    X, y = arrays()
    submit = dask_cluster.Cluster.submit

    def without(self, slot, function, *arguments):
        return submit(self, slot, function, *("import no_such_package" if function is exec else a for a in arguments))

    monkeypatch.setattr(dask_cluster.Cluster, "submit", without)
    with pytest.raises(ImportError, match="Install it on all workers"):
        model("map").fit(X, y, client=client)


def test_silent_worker_is_given_up(client, expected, monkeypatch):
    """A worker that lives but does not answer in many times the usual time is not waited for."""
    X, y = arrays()
    monkeypatch.setattr(dask_home, "MIN_PATIENCE", 4.0)
    monkeypatch.setattr(dask_home, "PATIENCE_FACTOR", 1e-9)
    address = sorted(client.nthreads())[0]
    busy = []

    def occupy():
        busy.append(client.submit(time.sleep, 12, workers=[address], pure=False, priority=1000))

    trouble = Trouble(monkeypatch, lambda n_calls, _: n_calls == 60, occupy)
    assert sha(model("collapsed").fit(X, y, client=client)) == expected["collapsed"]
    assert trouble.n_done == 1
    busy[0].result(timeout=60)


def test_worker_busy_from_the_beginning_is_not_waited_for(client, expected, monkeypatch):
    """The others begin; if all are busy, an error says so."""
    X, y = arrays()
    monkeypatch.setattr(dask_cluster, "IMPORT_PATIENCE", 2.0)
    addresses = sorted(client.nthreads())
    busy = [client.submit(time.sleep, 9, workers=[addresses[0]], pure=False, priority=1000)]
    assert sha(model("collapsed").fit(X, y, client=client)) == expected["collapsed"]
    monkeypatch.setattr(dask_cluster, "MAX_IMPORTS", 1)
    busy += [client.submit(time.sleep, 12, workers=[address], pure=False, priority=1000) for address in addresses]
    with pytest.raises(BlocksLostError, match="may be busy with other work"):
        model("collapsed").fit(X, y, client=client)
    client.gather(busy)


def test_late_worker_gets_partitions(cluster, client, expected, monkeypatch):
    """A worker that joins in the middle of a fit is given its share."""
    scaled(cluster, client, 1)
    X, y = arrays()
    monkeypatch.setattr(dask_place, "BETWEEN_REBALANCES", 0.1)
    owners = []
    move_to = dask_place.DaskPartitionStore._move_to

    def noted(self, slots):
        move_to(self, slots)
        owners.append({slot.address: list(self._slots.values()).count(slot) for slot in slots})

    monkeypatch.setattr(dask_place.DaskPartitionStore, "_move_to", noted)
    Trouble(monkeypatch, lambda n_calls, _: n_calls == 30, lambda: scaled(cluster, client, 2))
    assert sha(model("paper").fit(X, y, client=client)) == expected["paper"]
    assert sorted(owners[0].values()) == [3, 3]


def test_errors_of_workers_are_the_users(client):
    """What is wrong with rows is said as it is, at once."""
    X, y = rows()
    X[900, 1] = np.inf
    with pytest.raises(ValueError, match="in partition 2: Column 1 of input X holds inf"):
        model("map").fit(da.from_array(X, chunks=(CHUNK, 3)), da.from_array(y, chunks=CHUNK), client=client)


def test_persisted_collections_and_default_client(cluster, expected):
    """Rows that live on the workers already; the current client is found."""
    X, y = arrays()
    with distributed.Client(cluster):
        X, y = dask.persist(X, y)
        assert sha(model("collapsed").fit(X, y)) == expected["collapsed"]
        fitted = model("map").fit(X, y)
        assert sha(fitted) == expected["map"]
        np.testing.assert_array_equal(fitted.predict(X).compute(), fitted.predict(rows()[0]))


def test_workers_read_files(client, tmp_path):
    """Memory maps are read by the workers, and only parameters and sums pass the client."""
    for name, array in zip("Xy", rows(), strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    X, y = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy")
    fitted = model("collapsed").fit(X, y, client=client)
    assert sha(fitted) == sha(model("collapsed").fit(X, y, max_memory="8GB"))
    with pytest.raises(ValueError, match="y is an array in memory"):
        model("collapsed").fit(X, rows()[1], client=client)


def test_nothing_as_long_as_the_rows_travels(client, monkeypatch):
    """What calls send and bring is the same for ten times the rows; no argument or result has a row's length."""
    sizes = {}
    for copies in (1, 10):
        X, y = rows()
        X, y = np.tile(X, (copies, 1)), np.tile(y, copies)
        given = da.from_array(X, chunks=(CHUNK * copies, 3)), da.from_array(y, chunks=CHUNK * copies)
        found = []
        ask_all = dask_home.DaskBlocks._ask_all

        def noted(self, task, patience, found=found, ask_all=ask_all):
            answer = ask_all(self, task, patience)
            sent = task([(partition, 0, 0) for partition in range(6)])
            found.append(len(distributed.protocol.pickle.dumps((sent[1], answer))))
            return answer

        with monkeypatch.context() as patch:
            patch.setattr(dask_home.DaskBlocks, "_ask_all", noted)
            model("paper", n_sweeps=3).fit(*given, client=client)
        sizes[copies] = found[1:]  # the first is the survey, which brings a few rows for diagnostics
    assert len(sizes[1]) == len(sizes[10])
    np.testing.assert_allclose(sizes[1], sizes[10], rtol=0.05)


def test_workers_write_the_counts_of_checkpoints(client, tmp_path, expected):
    """A chain of the paper's scan that was stopped goes on from files that workers have written."""
    X, y = arrays()
    plan = CheckpointPlan(tmp_path, every_sweeps=3)
    tell = Reporting.tell

    def stop(self, progress):
        tell(self, progress)
        if progress.n_done == 7:
            raise KeyError("enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reporting, "tell", stop)
        with pytest.raises(KeyError, match="enough"):
            model("paper", checkpoint=plan).fit(X, y, client=client)
    assert len(list(tmp_path.rglob("counts6/partition*.npz"))) == 6
    assert sha(model("paper", checkpoint=plan).fit(X, y, client=client)) == expected["paper"]


CLUSTER = """
import logging, time
import distributed
if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None,
                                       silence_logs=logging.CRITICAL)
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize(("kind", "changes"), [("map", {"n_restarts": 3}), ("collapsed", {})])
def test_lost_scheduler_ends_the_fit_with_a_checkpoint(kind, changes, tmp_path, monkeypatch):
    """Within thirty seconds an error says where chains or climbs are; they go on elsewhere to the same end."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)  # noqa: S603
    X, y = arrays()
    folder, killed = tmp_path / "saved", []
    monkeypatch.setattr(climb_log, "SECONDS_BETWEEN_WRITES", 0.0)  # the climbs of so few rows take less than one

    def is_time(n_calls, _):
        return n_calls == 80 if kind == "collapsed" else not killed and any(folder.rglob("modes.npz"))

    def kill():
        process.kill()
        killed.append(time.monotonic())

    try:
        client = distributed.Client(process.stdout.readline().strip(), set_as_default=False)
        Trouble(monkeypatch, is_time, kill)
        with pytest.raises(BlocksLostError, match=f"saved in {folder}: .*continues from there"):
            model(kind, checkpoint=folder, **changes).fit(X, y, client=client)
        assert time.monotonic() - killed[0] < 30.0
        client.close(timeout=1)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    if kind == "collapsed":
        with np.load(next(folder.rglob("*.npz"))) as saved:
            assert 0 < len(saved["trace.log_likelihood"]) < 10
    resumed = model(kind, checkpoint=folder, **changes).fit(X, y, max_memory="8GB")
    assert sha(resumed) == sha(model(kind, **changes).fit(X, y, max_memory="8GB"))
