"""Log-likelihood by sweep."""

import numpy as np
import pytest

from softpolytope import SumSoftplusClassifier
from softpolytope.inspection.displays import LogLikelihoodDisplay


def test_log_likelihood(summed, stacked, circle):
    """There is a line per chain and labeling, divided by the number of rows or their weight."""
    X, _ = circle
    display = LogLikelihoodDisplay.from_estimator(summed, X)
    lines = [line for line in display.ax_.lines if len(line.get_xdata()) == 60]
    assert len(lines) == 4
    np.testing.assert_allclose(lines[1].get_ydata(), summed.log_likelihood_[0][1] / 120)
    assert display.n_burn_in == 30
    weighted = LogLikelihoodDisplay.from_estimator(stacked, X, sample_weight=np.full(120, 2.0))
    np.testing.assert_allclose(weighted.traces["in"], stacked.log_likelihood_[1] / 240)
    with pytest.raises(ValueError, match="sample_weight must hold"):
        LogLikelihoodDisplay.from_estimator(stacked, X, sample_weight=[1.0])


def test_log_likelihood_without_rows(summed, circle, chain):
    """The default divisor is the total weight of the training rows."""
    display = LogLikelihoodDisplay.from_estimator(summed)
    np.testing.assert_allclose(display.traces["in"], summed.log_likelihood_[1] / 120)
    model = SumSoftplusClassifier(n_chains=1, **chain).fit(*circle, sample_weight=np.full(120, 0.5))
    display = LogLikelihoodDisplay.from_estimator(model)
    np.testing.assert_allclose(display.traces["in"], model.log_likelihood_[1] / 60)
    with pytest.raises(ValueError, match="without X"):
        LogLikelihoodDisplay.from_estimator(summed, sample_weight=[1.0])


def test_log_likelihood_needs_chains(several):
    """Modes have no traces, so the display is refused."""
    model, X, _ = several
    with pytest.raises(ValueError, match="requires posterior draws of chains"):
        LogLikelihoodDisplay.from_estimator(model, X, target="ant")
