"""A cluster of worker processes, and the hashes of fits in this process."""

import logging
import warnings

import pytest
from partitioned import FITS, arrays, model, sha

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

from clusters import scaled  # noqa: E402


@pytest.fixture(scope="module")
def expected():
    """Return hashes of the same fits in this process."""
    X, y = arrays()
    return {kind: sha(model(kind).fit(X, y, max_memory="8GB")) for kind in FITS}


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of two worker processes."""
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
    """Return a client of the cluster, which is back at two workers."""
    with distributed.Client(cluster, set_as_default=False) as connected:
        scaled(cluster, connected, 2)
        yield connected
