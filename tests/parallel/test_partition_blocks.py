"""Calls on blocks of partitions in this process, and their checkpoints."""

import numpy as np
import pytest
from partitioned import arrays, model, sha, write_files

from softpolytope.data import _sources as sources
from softpolytope.parallel import _partition_blocks as partition_blocks
from softpolytope.parallel._block_state import StatelessBlockFactory
from softpolytope.parallel._blocks import read_only
from softpolytope.parallel._checkpoint import CheckpointPlan
from softpolytope.parallel._memory import Allowance
from softpolytope.parallel._threads import Reporting


class EnoughError(Exception):
    """Error that ends a fit."""


@pytest.fixture
def files(tmp_path):
    """Memory maps of the rows."""
    return write_files(tmp_path)


def test_calls_that_return_nothing_wait_for_one_that_does(files, monkeypatch):
    """Deferred calls run in the next visit of the rows, with the arguments at the time of the call."""
    loads = []
    load = sources.FileSource.load
    monkeypatch.setattr(sources.FileSource, "load", lambda self, part: loads.append(part) or load(self, part))
    monkeypatch.setattr(partition_blocks, "allowance", lambda *_: Allowance(2**30, 1, 0))
    monkeypatch.setattr(sources, "MAX_PARTITION_ROWS", 1024)
    source = sources.open_source(*files, None, has_client=False, is_limited=True)
    with partition_blocks.open_partition_store(source, None, 2**30, 1) as store:
        blocks = store.blocks(AddingFactory())
        number = np.array([1.0])
        blocks.broadcast(Adding.add, number)
        number[:] = 100.0
        blocks.broadcast(Adding.add, number)
        assert not loads
        assert blocks.sum(Adding.value) == 3 * 101.0
        assert blocks.map(Adding.value) == [101.0] * 3
    assert loads == [0, 0, 1, 1, 2, 2, 0, 1, 2]  # once to make blocks, and for each of two visits


class Adding:
    """Block that adds up numbers."""

    def __init__(self):
        self.sum = 0.0

    def add(self, number):
        """Add a number."""
        self.sum += number[0]

    @read_only
    def value(self):
        """Return the sum."""
        return self.sum


class AddingFactory(StatelessBlockFactory):
    """Factory of one block for every partition."""

    rows_key = None

    def rows(self, raw, partition):  # noqa: ARG002
        """Return rows as they come."""
        return raw

    def blocks(self, rows, partition):  # noqa: ARG002
        """Return one block."""
        return [Adding()]

    def state_bytes(self, rows):  # noqa: ARG002
        """Return more than there is room for."""
        return 1

    def save(self, block, number):  # noqa: ARG002
        """Return the sum."""
        return {"sum": np.array(block.sum)}

    def restore(self, block, number, saved):  # noqa: ARG002
        """Continue from a sum."""
        block.sum = float(saved["sum"])


@pytest.mark.parametrize("kind", ["collapsed", "paper"])
def test_checkpoint_of_partitions(kind, tmp_path):
    """A stopped fit continues from its checkpoint to the same draws; only the last counts are kept."""
    X, y = arrays()
    expected = sha(model(kind).fit(X, y, max_memory="8GB"))
    plan = CheckpointPlan(tmp_path, every_sweeps=3)
    tell = Reporting.report

    def stop(self, progress):
        tell(self, progress)
        if progress.n_done == 7:
            raise EnoughError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reporting, "report", stop)
        with pytest.raises(EnoughError):
            model(kind, checkpoint=plan).fit(X, y, max_memory="8GB")
    assert len(list(tmp_path.rglob("counts*"))) == (1 if kind == "paper" else 0)
    assert sha(model(kind, checkpoint=plan).fit(X, y, max_memory="8GB")) == expected
