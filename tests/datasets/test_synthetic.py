"""Generators: the laws of the paper's captions."""

import numpy as np
import pytest
from scipy import stats

from softpolytope.datasets import make_circle, make_double_moon, make_xor

LEVEL = 1e-4


def test_circle_is_that_of_the_caption():
    """Radii of the ring N(2, 0.5^2), coordinates of the disc N(0, 0.5^2); not N(0, 0.55^2)."""
    X, y = make_circle(20_000, random_state=0)
    # A radius below zero turns up on the other side: one in 30,000.
    assert stats.kstest(np.hypot(*X[y == 1].T), stats.norm(2.0, 0.5).cdf).pvalue > LEVEL
    angle = np.arctan2(X[y == 1, 1], X[y == 1, 0])
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > LEVEL
    assert stats.kstest(X[y == 0].reshape(-1), stats.norm(0.0, 0.5).cdf).pvalue > LEVEL
    assert stats.kstest(X[y == 0].reshape(-1), stats.norm(0.0, 0.55).cdf).pvalue < LEVEL


def test_xor_has_its_corners():
    """Two clouds of each label, of variance one around opposite corners."""
    X, y = make_xor(8000, random_state=0)
    for label, corners in ((1, [(-2, 2), (2, -2)]), (0, [(2, 2), (-2, -2)])):
        for corner in corners:
            rows = X[y == label][corners.index(corner) :: 2]
            assert len(rows) == 2000
            for axis in (0, 1):
                assert stats.kstest(rows[:, axis], stats.norm(corner[axis], 1.0).cdf).pvalue > LEVEL


def test_moons_interlock():
    """Half of each label; a seed gives the same rows again; too few rows are refused."""
    X, y = make_double_moon(500, random_state=3)
    assert y.sum() == 250
    assert np.array_equal(X, make_double_moon(500, random_state=3)[0])
    with pytest.raises(ValueError, match="n_samples must be at least 2; got 1"):
        make_double_moon(1)
