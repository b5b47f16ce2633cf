"""Cache of rows and blocks: memory, threads, and release."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from partitioned import CHUNK, arrays, model, rows, sha
from scipy import sparse

from softpolytope import Prior
from softpolytope.data import OneVsRest, RowEncoding
from softpolytope.gibbs._block_factory import LatentBlockFactory
from softpolytope.gibbs._chain import ChainSettings
from softpolytope.gibbs._sweep import Moves
from softpolytope.gibbs._trace import Schedule
from softpolytope.parallel import _partition_blocks as partition_blocks
from softpolytope.parallel import _partition_cache as cache
from softpolytope.parallel._block_state import StatelessBlockFactory
from softpolytope.parallel._memory import Allowance

da = pytest.importorskip("dask.array")


@pytest.mark.parametrize("kind", ["map", "collapsed", pytest.param("paper", marks=pytest.mark.slow)])
def test_draws_do_not_depend_on_memory_or_threads(kind, monkeypatch):
    """Kept, compact and rebuilt blocks give the same bits."""
    X, y = arrays()
    expected = sha(model(kind, n_sweeps=6).fit(X, y, max_memory="8GB"))
    visits = []
    run = cache.PartitionCache.run

    def watched(self, owner, at, calls):
        visits.append((self._entries[owner, at].blocks is not None, self._entries[owner, at].is_compact))
        return run(self, owner, at, calls)

    monkeypatch.setattr(cache.PartitionCache, "run", watched)
    for room in (0, 40_000, 300_000):
        monkeypatch.setattr(partition_blocks, "allowance", lambda *_, room=room: Allowance(2**30, 2, room))
        assert sha(model(kind, n_sweeps=6, n_jobs=2).fit(X, y, max_memory="8GB")) == expected
    are_kept_and_rest = {(False, True), (True, False)} | (set() if kind == "map" else {(True, True)})
    assert set(visits) == are_kept_and_rest


class SlowFactory(StatelessBlockFactory):
    """Factory that is slow and counts how often it makes blocks."""

    rows_key = None

    def __init__(self):
        self.n_made = 0

    def rows(self, raw, partition):  # noqa: ARG002
        """Return rows as they come."""
        return raw

    def blocks(self, rows, partition):  # noqa: ARG002
        """Return no blocks, slowly."""
        self.n_made += 1
        time.sleep(0.02)
        return []

    def state_bytes(self, rows):  # noqa: ARG002
        """Return a size."""
        return 1000


def test_threads_that_share_blocks_make_them_once():
    """Blocks are made once for all threads, and their release frees all memory."""
    kept = cache.PartitionCache(lambda _: (np.zeros((2, 1)), np.zeros(2), None), Allowance(2**30, 2, 10**6))
    for owner in "abc":
        factory = SlowFactory()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _, owner=owner, factory=factory: kept.ensure(owner, 0, factory), range(8)))
        assert factory.n_made == 1
    rows_alone = kept._used - 3000
    for owner in "abc":
        kept.release(owner)
    assert kept._used == rows_alone


def test_threads_do_not_take_more_room_than_there_is():
    """Threads cannot reserve the same memory twice."""
    kept = cache.PartitionCache(lambda _: (np.zeros((2, 1)), np.zeros(2), None), Allowance(2**30, 2, 20_500))
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda owner: kept.ensure(str(owner), 0, SlowFactory()), range(60)))
    in_memory = sum(entry.blocks is not None for entry in kept._entries.values())
    assert in_memory == 20
    assert kept._used <= 20_500


@pytest.mark.parametrize("kind", ["map", "collapsed"])
def test_finished_blocks_are_released(kind, monkeypatch):
    """A fit of several classes releases the blocks of finished classes."""
    X, y = rows()
    y = y + (X[:, 2] > 1.0)
    left = []
    close = partition_blocks.LocalPartitionStore.close
    monkeypatch.setattr(
        partition_blocks.LocalPartitionStore, "close", lambda self: left.append(len(self.cache._entries)) or close(self)
    )
    model(kind, n_sweeps=4).fit(da.from_array(X, chunks=(CHUNK, 3)), da.from_array(y, chunks=CHUNK), max_memory="8GB")
    assert left == [0]


def test_sizes_count_rows_that_blocks_copy(rng):
    """Sizes include copies: slices of sparse rows, and positive rows repeated for the paper's scan."""
    raw = rng.normal(size=(500, 20)) * (rng.random((500, 20)) < 0.5)
    y, weights = np.repeat([0, 1], 250), np.repeat([1.0, 40.0], 250)
    settings = ChainSettings(3, 1, Prior(precision_rate=3.0), Moves.of("paper"), Schedule(10, 5, 5))
    one, zero = np.ones(21), np.zeros(21)
    encoding = RowEncoding(np.array([0, 1]), np.ones(2), zero, one, one, zero.astype(bool))
    factory = LatentBlockFactory(settings, labeling=OneVsRest(encoding, 1))
    for X, given in ((raw, weights), (sparse.csr_array(raw), None), (sparse.csr_array(raw), weights)):
        encoded = encoding.encode((X, y, given))
        blocks = factory.blocks(encoded, 0)
        designs = [block._rows.design for block in blocks]
        taken = sum(d.data.nbytes + d.indices.nbytes if sparse.issparse(d) else d.nbytes for d in designs)
        assert factory.compact_bytes(encoded) > taken
