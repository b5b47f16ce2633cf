"""Quantiles of draws at (n + 1) positions."""

import numpy as np
import pytest
from checks import LEVEL
from scipy import stats

from softpolytope.model import central_interval, draw_quantiles


@pytest.mark.parametrize("n_draws", [19, 99])
def test_intervals_cover_a_new_draw_at_their_level(rng, n_draws):
    """A new draw lies within the interval with its probability, by a binomial test at level `LEVEL`.

    The control, NumPy's default positions, is rejected at that level.
    """
    n_sets = 40_000
    draws, new = rng.normal(size=(n_draws, n_sets)), rng.normal(size=n_sets)
    low, high = central_interval(draws, 0.9)
    assert binomial_pvalue((low <= new) & (new <= high), 0.9) > LEVEL
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    assert binomial_pvalue((low <= new) & (new <= high), 0.9) < LEVEL


def test_few_draws_give_their_range():
    """A level that so few draws cannot reach is that of the smallest and largest."""
    assert central_interval(np.arange(5.0), 0.89).tolist() == [0.0, 4.0]
    assert draw_quantiles(np.arange(6.0).reshape(3, 2), [0.25, 0.5]).tolist() == [[0.0, 1.0], [2.0, 3.0]]


def binomial_pvalue(is_inside, probability):
    """Return the p-value of the number of sets covered."""
    return stats.binomtest(int(is_inside.sum()), len(is_inside), probability).pvalue
