"""Partitions that move to other workers, and sources that workers read."""

import numpy as np
import pytest
from clusters import Trouble, scaled
from partitioned import arrays, model, rows, sha

from softpolytope.parallel.dask import _placement as dask_placement

dask = pytest.importorskip("dask")


distributed = pytest.importorskip("distributed")


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def test_late_worker_gets_partitions(cluster, client, expected, monkeypatch):
    """A worker that joins during a fit gets its share of the partitions."""
    scaled(cluster, client, 1)
    X, y = arrays()
    monkeypatch.setattr(dask_placement, "BETWEEN_REBALANCES", 0.1)
    owners = []
    move_to = dask_placement.DaskPartitionStore._move_to

    def noted(self, slots):
        move_to(self, slots)
        owners.append({slot.address: list(self._slots.values()).count(slot) for slot in slots})

    monkeypatch.setattr(dask_placement.DaskPartitionStore, "_move_to", noted)
    Trouble(monkeypatch, lambda n_calls, _: n_calls == 30, lambda: scaled(cluster, client, 2))
    assert sha(model("paper").fit(X, y, client=client)) == expected["paper"]
    assert sorted(owners[0].values()) == [3, 3]


def test_persisted_collections_and_default_client(cluster, expected):
    """Persisted rows are fitted with the current client."""
    X, y = arrays()
    with distributed.Client(cluster):
        X, y = dask.persist(X, y)
        assert sha(model("collapsed").fit(X, y)) == expected["collapsed"]
        fitted = model("map").fit(X, y)
        assert sha(fitted) == expected["map"]
        np.testing.assert_array_equal(fitted.predict(X).compute(), fitted.predict(rows()[0]))


def test_workers_read_files(client, tmp_path):
    """Workers read memory maps, and only parameters and sums pass the client."""
    for name, array in zip("Xy", rows(), strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    X, y = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy")
    fitted = model("collapsed").fit(X, y, client=client)
    assert sha(fitted) == sha(model("collapsed").fit(X, y, max_memory="8GB"))
    with pytest.raises(ValueError, match="y is an array in memory"):
        model("collapsed").fit(X, rows()[1], client=client)
