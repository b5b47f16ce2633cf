"""Softplus regressions under the paper's protocol."""

import signal
import time

import numpy as np
import pytest
from scipy import sparse

from softpolytope.datasets import make_circle
from softpolytope.paper import TableProtocol
from softpolytope.paper.tables._softplus import SoftplusRegression
from softpolytope.parallel._threads import Reporting


def wait_until(is_true):
    """Wait as long as a busy machine may take."""
    deadline = time.monotonic() + 60.0
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_true()


@pytest.mark.parametrize("is_sparse", [False, True])
def test_softplus_regression_learns_the_circle(is_sparse):
    """The paper's protocol, with few sweeps, and one labeling that cannot solve the circle alone."""
    X, y = make_circle(200, random_state=0)
    X_test, y_test = make_circle(500, random_state=1)
    rows = sparse.csr_array(X) if is_sparse else X
    model = SoftplusRegression(10, 1, 0, TableProtocol(n_sweeps=400, n_draws=20)).fit(rows, y)
    assert np.mean(model.predict(X_test) != y_test) < 0.15
    assert np.mean(model.predict_by_mean(X_test) != y_test) < 0.15
    assert model.n_experts >= 4


def test_a_checkpoint_resumes_to_the_same_model(tmp_path, monkeypatch):
    """A fit that was stopped midway and one that was not end in the same place."""
    X, y = make_circle(100, random_state=0)
    protocol = TableProtocol(n_sweeps=60, n_draws=10)
    whole = SoftplusRegression(5, 2, 0, protocol).fit(X, y)
    tell, reports = Reporting.report, []

    def stop(self, progress):
        reports.append(progress)
        if len(reports) == 40:
            signal.raise_signal(signal.SIGINT)
            wait_until(self.is_stopped)
        return tell(self, progress)

    with monkeypatch.context() as patch:
        patch.setattr(Reporting, "report", stop)
        with pytest.raises(KeyboardInterrupt):
            SoftplusRegression(5, 2, 0, protocol).fit(X, y, tmp_path / "kept")
    with np.load(next((tmp_path / "kept").rglob("*.npz"))) as saved:
        assert 0 < len(saved["trace.log_likelihood"]) < 60
    resumed = SoftplusRegression(5, 2, 0, protocol).fit(X, y, tmp_path / "kept")
    for draw, other in zip(resumed.best, whole.best, strict=True):
        assert np.array_equal(draw.coefficients, other.coefficients)
