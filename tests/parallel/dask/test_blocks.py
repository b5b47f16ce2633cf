"""Blocks on worker processes, with the same bits whatever happens to the workers."""

import random

import numpy as np
import pytest
from clusters import Trouble, kill_soon, scaled
from partitioned import CHUNK, FITS, arrays, model, rows, sha

from softpolytope.parallel._checkpoint import CheckpointPlan
from softpolytope.parallel._threads import Reporting
from softpolytope.parallel.dask import _blocks as dask_blocks
from softpolytope.parallel.dask import _cluster as dask_cluster

dask = pytest.importorskip("dask")


distributed = pytest.importorskip("distributed")


da = pytest.importorskip("dask.array")


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_draws_do_not_depend_on_workers(n_workers, cluster, client, expected):
    """One, two and four processes give the bits of this process, for both scans and for modes."""
    scaled(cluster, client, n_workers)
    X, y = arrays()
    for kind in FITS:
        assert sha(model(kind).fit(X, y, client=client)) == expected[kind], kind


@pytest.mark.parametrize("kind", FITS)
def test_killed_workers_change_nothing(kind, client, expected, monkeypatch):
    """Killing a random worker in every fifth sweep, or fiftieth gradient, changes no bit."""
    X, y = arrays()
    chance = random.Random(kind)  # noqa: S311
    sweeps = [0]

    def is_time(n_calls, method):
        sweeps[0] += method == "log_likelihood"
        if kind in ("map", "bootstrap"):
            return n_calls % 50 == 20
        return method in ("draw_top_counts", "advance", "finish") and sweeps[0] % 5 == 4 and chance.random() < 0.6

    trouble = Trouble(monkeypatch, is_time, lambda: kill_soon(client, chance))
    assert sha(model(kind).fit(X, y, client=client)) == expected[kind]
    assert trouble.n_done >= 1
    client.wait_for_workers(2, timeout=60)


def test_copies_are_lost_too(client, expected, monkeypatch):
    """Chains of the paper's scan are rebuilt from copies, or from the start if both copies are lost."""
    X, y = arrays()
    monkeypatch.setattr(dask_blocks, "SWEEPS_BETWEEN_COPIES", 2)
    starts = []
    build_from = dask_blocks.DaskBlocks._build_from

    def noted(self, point, partitions):
        if partitions:
            starts.append("copies" if point.copies is not None else "new")
        build_from(self, point, partitions)

    monkeypatch.setattr(dask_blocks.DaskBlocks, "_build_from", noted)
    alive = dask_cluster.Cluster.find_alive
    are_lost = [False]
    monkeypatch.setattr(dask_cluster.Cluster, "find_alive", lambda *given: set() if are_lost[0] else alive(*given))

    def kill():
        are_lost[0] = trouble.n_done == 2
        kill_soon(client, random.Random(trouble.n_done))  # noqa: S311

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
    """An empty copy that the scheduler has recomputed is not used."""
    X, y = arrays()
    monkeypatch.setattr(dask_blocks, "SWEEPS_BETWEEN_COPIES", 2)
    replicate = dask_blocks.DaskBlocks.replicate

    def emptied(self):
        replicate(self)
        for point in self._replay_points:
            if point.copies:
                point.copies = dict.fromkeys(point.copies, client.submit(dict, pure=False))

    monkeypatch.setattr(dask_blocks.DaskBlocks, "replicate", emptied)
    sweeps = [0]

    def is_time(_, method):
        sweeps[0] += method == "log_likelihood"
        return method == "begin" and sweeps[0] == 5

    trouble = Trouble(monkeypatch, is_time, lambda: kill_soon(client, random.Random(0)))  # noqa: S311
    assert sha(model("paper").fit(X, y, client=client)) == expected["paper"]
    assert trouble.n_done == 1
    client.wait_for_workers(2, timeout=60)


def test_errors_of_workers_are_the_users(client):
    """Errors about rows are raised unchanged, at once."""
    X, y = rows()
    X[900, 1] = np.inf
    with pytest.raises(ValueError, match="in partition 2: Column 1 of input X holds inf"):
        model("map").fit(da.from_array(X, chunks=(CHUNK, 3)), da.from_array(y, chunks=CHUNK), client=client)


def test_nothing_as_long_as_the_rows_travels(client, monkeypatch):
    """Arguments and results do not grow with the number of rows."""
    sizes = {}
    for copies in (1, 10):
        X, y = rows()
        X, y = np.tile(X, (copies, 1)), np.tile(y, copies)
        given = da.from_array(X, chunks=(CHUNK * copies, 3)), da.from_array(y, chunks=CHUNK * copies)
        found = []
        ask_all = dask_blocks.DaskBlocks._ask_all

        def noted(self, task, patience, found=found, ask_all=ask_all):
            answer = ask_all(self, task, patience)
            sent = task([(partition, 0, 0) for partition in range(6)])
            found.append(len(distributed.protocol.pickle.dumps((sent[1], answer))))
            return answer

        with monkeypatch.context() as patch:
            patch.setattr(dask_blocks.DaskBlocks, "_ask_all", noted)
            model("paper", n_sweeps=3).fit(*given, client=client)
        sizes[copies] = found[1:]  # the first is the summary, which returns a few rows for diagnostics
    assert len(sizes[1]) == len(sizes[10])
    np.testing.assert_allclose(sizes[1], sizes[10], rtol=0.05)


def test_workers_write_the_counts_of_checkpoints(client, tmp_path, expected):
    """A stopped chain of the paper's scan continues from files written by workers."""
    X, y = arrays()
    plan = CheckpointPlan(tmp_path, every_sweeps=3)
    tell = Reporting.report

    def stop(self, progress):
        tell(self, progress)
        if progress.n_done == 7:
            raise KeyError("enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reporting, "report", stop)
        with pytest.raises(KeyError, match="enough"):
            model("paper", checkpoint=plan).fit(X, y, client=client)
    assert len(list(tmp_path.rglob("counts6/partition*.npz"))) == 6
    assert sha(model("paper", checkpoint=plan).fit(X, y, client=client)) == expected["paper"]
