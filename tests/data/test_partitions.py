"""Datasets of partitions, and random samples of their rows."""

import numpy as np
import pytest
from partitioned import N_ROWS, arrays, model, rows, sha
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from softpolytope.data import InMemoryDataset, PartitionedSampler, RandomWeights
from softpolytope.data import _partitions as data_partitions
from softpolytope.data import _row_block as row_block
from softpolytope.optimize import _search as search
from softpolytope.parallel import _partition_blocks as partition_blocks
from softpolytope.parallel._memory import Allowance


def test_partitions_are_part_of_the_result():
    """Other chunks give other blocks, with other random streams."""
    X, y = arrays()
    one = sha(model("collapsed").fit(X, y, max_memory="8GB"))
    other = sha(model("collapsed").fit(X.rechunk((600, 3)), y.rechunk(600), max_memory="8GB"))
    assert one != other


@pytest.mark.parametrize("kind", ["map", "bootstrap"])
def test_one_partition_is_as_good_as_memory(kind):
    """Probabilities agree with those of a fit in memory, within the tolerance of the optimization."""
    X, y = rows()
    dX, dy = arrays()
    here = model(kind, symmetric=True).fit(X, y)
    there = model(kind, symmetric=True).fit(dX, dy, max_memory="8GB")
    assert there.bootstrap_ is (kind == "bootstrap")
    assert abs(log_loss(y, here.predict_proba(X)) - log_loss(y, there.predict_proba(X))) < 0.01


def test_members_do_not_depend_on_what_stays_in_memory(monkeypatch):
    """Random weights are those of the rows, however often a partition is loaded and its blocks are built."""
    X, y = arrays()
    found, built = [], []
    build = data_partitions.SampledBlockFactory.build
    monkeypatch.setattr(
        data_partitions.SampledBlockFactory,
        "build",
        lambda self, *given: built.append(self.weights) or build(self, *given),
    )
    for room in (10**9, 0):
        monkeypatch.setattr(partition_blocks, "allowance", lambda *_, room=room: Allowance(2**30, 2, room))
        built.append("next")
        fitted = model("bootstrap", symmetric=True, n_members=4).fit(X, y, max_memory="8GB")
        found.append(sha(fitted))
    assert len(set(found)) == 1
    assert fitted.posterior_.regressions[0].pool == "logarithmic"
    assert len(fitted.diagnostics()) == 10
    middle = built.index("next", 1)
    assert len(built) - middle > 2 * middle  # blocks were built again and again
    assert len({weights.key for weights in built if isinstance(weights, RandomWeights)}) == 4


def test_random_weights_of_partitions_are_those_of_their_rows():
    """Of a block that is built again; rows gathered from it have the same; another key gives others."""
    rng = np.random.default_rng(0)
    partition = InMemoryDataset.from_arrays(rng.normal(size=(300, 2)), rng.random(300) < 0.5)

    def block(weights, share=np.inf):
        factory = data_partitions.SampledBlockFactory(lambda *, block: np.random.default_rng(block), share, weights)
        (built,) = factory.build(partition, 3)
        return built

    weights = RandomWeights(5, 1.5)
    whole, again = (block(weights).rows_between(0.0, 1.0).row_weights for _ in range(2))
    assert np.array_equal(whole, again)
    plain = block(None).rows_between(0.0, 1.0)
    assert (plain.row_weights == 1.0).all()
    assert np.array_equal(plain.draw_weights(weights), whole)
    small = block(weights, share=0.3).rows_between(0.0, 1.0).lowest(1000)
    assert np.array_equal(small.row_weights, block(weights).rows_between(0.0, 0.3).lowest(1000).row_weights)
    assert not np.array_equal(block(RandomWeights(6, 1.5)).rows_between(0.0, 1.0).row_weights, whole)


@pytest.mark.slow
def test_samples_grow_where_the_rows_are(monkeypatch):
    """The first sample is gathered, larger ones stay in their partitions, and memory limits change no bit."""
    X, y = arrays()
    for module in (search, row_block, data_partitions):
        monkeypatch.setattr(module, "MAX_FIRST_ROWS", 300)
    monkeypatch.setattr(search, "MIN_GAIN", -10.0)  # so that samples of all sizes are used
    sizes = []
    blocks_of = PartitionedSampler.blocks
    monkeypatch.setattr(
        PartitionedSampler,
        "blocks",
        lambda self, n_rows, **given: sizes.append(n_rows) or blocks_of(self, n_rows, **given),
    )
    settings = {"prior": None, "max_experts": 3, "n_layers": 2, "n_restarts": 2, "symmetric": True}
    found = []
    for room in (10**9, 60_000, 0):
        monkeypatch.setattr(partition_blocks, "allowance", lambda *_, room=room: Allowance(2**30, 2, room))
        fitted = model("map", **settings).fit(X, y, max_memory="8GB")
        found.append(sha(fitted))
    assert len(set(found)) == 1
    assert sorted(set(sizes)) == [1200, N_ROWS]
    # How good the modes of so small a model are depends on the kernels of BLAS.
    linear = LogisticRegression().fit(*rows()).score(*rows())
    assert 1.0 - fitted.score(*rows()) < 0.5 * (1.0 - linear)
    assert abs(model("map", **settings).fit(*rows()).score(*rows()) - fitted.score(*rows())) < 0.03


def test_options_for_rows_in_memory_raise():
    """Warm starts of the paper's scan raise an error."""
    X, y = arrays()
    with pytest.raises(ValueError, match="use a checkpoint"):
        model("paper", warm_start=True).fit(X, y, max_memory="8GB")
