"""Summaries of rows in partitions: checks, and units of the columns."""

import numpy as np
import pytest
from partitioned import CHUNK, N_ROWS, model, rows, sha

from softpolytope import Prior, SoftplusClassifier
from softpolytope.parallel import _partition_blocks as partition_blocks
from softpolytope.parallel._memory import Allowance

da = pytest.importorskip("dask.array")


@pytest.mark.parametrize("room", [0, 40_000])
def test_partitions_of_one_label(room, monkeypatch):
    """A file sorted by label has blocks without counts, which are rebuilt during a sweep."""
    X, y = rows()
    order = np.argsort(y, kind="stable")
    parts = da.from_array(X[order], chunks=(CHUNK, 3)), da.from_array(y[order], chunks=CHUNK)
    expected = sha(model("paper", n_sweeps=6).fit(*parts, max_memory="8GB"))
    monkeypatch.setattr(partition_blocks, "allowance", lambda *_: Allowance(2**30, 2, room))
    assert sha(model("paper", n_sweeps=6).fit(*parts, max_memory="8GB")) == expected


def test_summary_gives_the_units_of_memory():
    """The mode of logistic regression is that of rows in memory, with weights of rows and classes."""
    X, _ = rows()
    rng = np.random.default_rng(1)
    X = X * [1.0, 1e4, 1e-3] + [5.0, 0.0, 3.0]
    y = np.where(rng.random(N_ROWS) < 1.0 / (1.0 + np.exp(-X[:, 0] + 5.0)), "yes", "no")
    weights = rng.integers(0, 3, N_ROWS).astype(float)
    settings = {"fit_weight": False, "symmetric": False, "n_restarts": 1, "class_weight": "balanced"}
    settings |= {"prior": Prior(precision_rate=1.0), "inference": "map", "random_state": 0}
    here = SoftplusClassifier(**settings).fit(X, y, weights)
    parts = [da.from_array(array, chunks=(CHUNK, *array.shape[1:])) for array in (X, y.astype(object), weights)]
    there = SoftplusClassifier(**settings).fit(*parts, max_memory="8GB")
    assert there.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(there.coefficients_[0], here.coefficients_[0], rtol=1e-3, atol=1e-9)
    here_features, there_features = here._fits[0].features, there._fits[0].features
    for name in ("mean", "deviation", "lower", "upper"):
        np.testing.assert_allclose(getattr(there_features, name), getattr(here_features, name), rtol=1e-9)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, _: X.__setitem__((900, 1), np.nan), "partition 2: Column 1 of input X holds NaN at row 100"),
        (lambda _, y: y.__setitem__(1300, np.nan), "no label at row 100 of partition 3"),
        (lambda _, y: y.__setitem__(slice(None), 1.0), "only one class"),
    ],
)
def test_bad_rows_are_found_by_the_summary(spoil, message):
    """Errors name partition, row and column."""
    X, y = rows()
    y = y.astype(float)
    spoil(X, y)
    with pytest.raises(ValueError, match=message):
        model("map").fit(da.from_array(X, chunks=(CHUNK, 3)), da.from_array(y, chunks=CHUNK), max_memory="8GB")
