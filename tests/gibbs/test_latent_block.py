"""Counts of rows that stand for many copies."""

import numpy as np
import pytest
from chains import one_row

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.distributions import Streams, SweepStreams
from softpolytope.model._prior import Prior

PRIOR = Prior(precision_shape=1.0, precision_rate=1.0)


def test_small_experts_keep_their_share_of_large_counts():
    """Beside an expert with 6e41 counts, one of 1e-20 of its rate has its 6e21, whoever comes first."""
    for order in ([0, 1], [1, 0]):
        log_weights = np.array([0.0, -46.0])[order]
        block = one_row(1e40, np.full((2, 1, 1), 60.0))
        counts = block.draw_counts(SweepStreams(Streams(0), 0, 0, 0), log_weights)[-1]
        assert counts == pytest.approx(1e40 * 60.0 * np.exp(log_weights), rel=1e-6)


@pytest.mark.parametrize(("weight", "log_rate"), [(1e18, np.log(1e-8)), (1e34, 0.0), (1e80, np.log(0.5))])
def test_counts_of_many_copies(weight, log_rate):
    """Each of w copies has l / (1 - e^-l) counts on average, and they are not dealt one by one."""
    block = one_row(weight, np.full((1, 1, 1), 60.0))
    rate = np.exp(log_rate)
    counts = block.draw_counts(SweepStreams(Streams(0), 0, 0, 0), np.array([log_rate - np.log(60.0)]))[-1]
    assert counts[0] == pytest.approx(weight * rate / -np.expm1(-rate), rel=1e-6)


def test_weights_beyond_all_counts_are_refused():
    """With what was seen, and what to do."""
    with pytest.raises(ValueError, match=r"row_weights must be at most 1e\+90; got 1e\+300\. Divide them"):
        InMemoryDataset.from_arrays(np.ones((1, 1)), np.array([True]), np.array([1e300]))
    rows = InMemoryDataset.from_arrays(np.ones((1, 1)), np.array([True]), np.array([1e10]))
    with pytest.raises(ValueError, match=r"every copy of a positive row, and the weights stand for 1e\+10 copies"):
        rows.with_single_positives()
