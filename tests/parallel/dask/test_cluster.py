"""Workers that are frozen, silent, busy or without the package, and lost schedulers."""

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from clusters import Trouble, pids, scaled
from partitioned import arrays, model, sha

from softpolytope.exceptions import BlocksLostError
from softpolytope.optimize import _checkpoints as mode_checkpoints
from softpolytope.parallel.dask import _blocks as dask_blocks
from softpolytope.parallel.dask import _cluster as dask_cluster

dask = pytest.importorskip("dask")


distributed = pytest.importorskip("distributed")


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def test_scheduler_needs_no_package(monkeypatch):
    """Functions for the scheduler are pickled by value, not by name."""
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
    """A frozen worker costs some seconds, and does no harm when it resumes."""
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
    """A worker that is frozen before the fit, with or without the package, costs some seconds."""
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


def test_worker_without_the_package_raises(client, monkeypatch):
    """The error says what to install on which machines."""
    X, y = arrays()
    submit = dask_cluster.Cluster.submit

    def without(self, slot, function, *arguments):
        return submit(self, slot, function, *("import no_such_package" if function is exec else a for a in arguments))

    monkeypatch.setattr(dask_cluster.Cluster, "submit", without)
    with pytest.raises(ImportError, match="Install the version of the client on all workers"):
        model("map").fit(X, y, client=client)


def test_silent_worker_is_given_up(client, expected, monkeypatch):
    """A live worker that takes many times as long as usual is given up."""
    X, y = arrays()
    monkeypatch.setattr(dask_blocks, "MIN_PATIENCE", 4.0)
    monkeypatch.setattr(dask_blocks, "PATIENCE_FACTOR", 1e-9)
    address = sorted(client.nthreads())[0]
    busy = []

    def occupy():
        busy.append(client.submit(time.sleep, 12, workers=[address], pure=False, priority=1000))

    trouble = Trouble(monkeypatch, lambda n_calls, _: n_calls == 60, occupy)
    assert sha(model("collapsed").fit(X, y, client=client)) == expected["collapsed"]
    assert trouble.n_done == 1
    busy[0].result(timeout=60)


def test_worker_busy_from_the_beginning_is_not_waited_for(client, expected, monkeypatch):
    """Other workers start without a busy one; if all are busy, an error says so."""
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
    """Within thirty seconds an error names the checkpoint, from which the fit continues to the same result."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)  # noqa: S603
    X, y = arrays()
    folder, killed = tmp_path / "saved", []
    monkeypatch.setattr(mode_checkpoints, "SECONDS_BETWEEN_WRITES", 0.0)  # optimizations of few rows are fast

    def is_time(n_calls, _):
        return n_calls == 80 if kind == "collapsed" else not killed and any(folder.rglob("modes.npz"))

    def kill():
        process.kill()
        killed.append(time.monotonic())

    try:
        client = distributed.Client(process.stdout.readline().strip(), set_as_default=False)
        Trouble(monkeypatch, is_time, kill)
        with pytest.raises(BlocksLostError, match=rf"saved in {folder}[.:] .*continue"):
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
