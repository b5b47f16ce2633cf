"""Lazy predictions of Dask collections."""

import numpy as np
import pytest
from partitioned import CHUNK, model, rows

from softpolytope.estimators import _predict

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function", "predict_interval"]


@pytest.fixture(scope="module")
def fitted():
    """Return a classifier fitted with names, text labels and chains."""
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return model("collapsed", n_sweeps=40).fit(frame, np.where(y, "in", "out"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_lazy_predictions(fitted, method, kind, monkeypatch):
    """Predictions are lazy, have chunks, type and shape, and equal those in memory."""
    X, _ = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    given = da.from_array(X, chunks=(CHUNK, 3)) if kind == "array" else dd.from_pandas(frame, npartitions=5)
    with monkeypatch.context() as patch:
        patch.setattr(_predict, "validate_rows", lambda *_: pytest.fail("work was done"))
        lazy = getattr(fitted, method)(given)
    assert isinstance(lazy, da.Array)
    expected = getattr(fitted, method)(frame)
    assert lazy.dtype == expected.dtype
    assert lazy.ndim == expected.ndim
    if kind == "array":
        assert lazy.shape == expected.shape
        assert lazy.chunks[0] == given.chunks[0]
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), expected)


def test_wrong_columns_are_found_at_once(fitted):
    """Wrong columns raise an error before anything is computed."""
    X, _ = rows()
    with pytest.raises(ValueError, match="X has 2 features, but"):
        fitted.predict_proba(da.from_array(X[:, :2], chunks=(CHUNK, 2)))
    with pytest.raises(ValueError, match=r"rechunk\(\{1: -1\}\)"):
        fitted.predict(da.from_array(X, chunks=(CHUNK, 2)))
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "d"]), npartitions=2)
    with pytest.raises(ValueError, match="X has d"):
        fitted.predict(frame)


def test_what_is_not_by_row_needs_rows_in_memory(fitted):
    """Methods that need rows in memory raise an error at once."""
    X, _ = rows()
    with pytest.raises(ValueError, match=r"X\.compute\(\)"):
        fitted.predict_proba_draws(da.from_array(X, chunks=(CHUNK, 3)))
