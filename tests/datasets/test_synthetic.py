"""Synthetic data sets follow the laws of the paper's captions."""

import numpy as np
import pytest
from scipy import stats

from softpolytope.datasets import make_circle, make_double_moon, make_waveform, make_xor

LEVEL = 1e-4


def test_circle_is_that_of_the_caption():
    """Radii of the ring are N(2, 0.5^2) and coordinates of the disc N(0, 0.5^2), not N(0, 0.55^2)."""
    X, y = make_circle(20_000, random_state=0)
    # A negative radius, one in 30,000, appears on the opposite side.
    assert stats.kstest(np.hypot(*X[y == 1].T), stats.norm(2.0, 0.5).cdf).pvalue > LEVEL
    angle = np.arctan2(X[y == 1, 1], X[y == 1, 0])
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > LEVEL
    assert stats.kstest(X[y == 0].reshape(-1), stats.norm(0.0, 0.5).cdf).pvalue > LEVEL
    assert stats.kstest(X[y == 0].reshape(-1), stats.norm(0.0, 0.55).cdf).pvalue < LEVEL


def test_xor_has_its_corners():
    """Each label has two clouds of variance one around opposite corners."""
    X, y = make_xor(8000, random_state=0)
    for label, corners in ((1, [(-2, 2), (2, -2)]), (0, [(2, 2), (-2, -2)])):
        for corner in corners:
            rows = X[y == label][corners.index(corner) :: 2]
            assert len(rows) == 2000
            for axis in (0, 1):
                assert stats.kstest(rows[:, axis], stats.norm(corner[axis], 1.0).cdf).pvalue > LEVEL


def test_moons_interlock():
    """Each label has half of the rows, a seed repeats them, and too few rows are refused."""
    X, y = make_double_moon(500, random_state=3)
    assert y.sum() == 250
    assert np.array_equal(X, make_double_moon(500, random_state=3)[0])
    with pytest.raises(ValueError, match="n_samples must be at least 2; got 1"):
        make_double_moon(1)


def test_waveform_is_breimans():
    """Rows have a uniform share and noise along the difference of their class's triangles, and only noise across it."""
    X, y = make_waveform(30_000, n_classes=3, random_state=0)
    column = np.arange(21)
    triangle = {peak: np.maximum(6 - np.abs(column - peak), 0) for peak in (6, 10, 14)}
    for label, (first, second) in enumerate([(10, 14), (10, 6), (14, 6)]):
        rows = X[y == label]
        # The share of the first triangle is u: along the difference of both, rows are normal around it.
        step = (triangle[first] - triangle[second]).astype(float)
        shares = (rows - triangle[second]) @ step / (step @ step)
        spread = 1.0 / np.sqrt(step @ step)
        assert stats.kstest(shares, _blurred_uniform(spread)).pvalue > LEVEL
        assert stats.kstest(shares, _blurred_uniform(2.0 * spread)).pvalue < LEVEL
        # Across it there is only noise.
        across = np.linalg.svd(step[None])[2][1:]
        noise = (rows - triangle[second]) @ across.T
        assert stats.kstest(noise.reshape(-1), stats.norm(0.0, 1.0).cdf).pvalue > LEVEL
    assert stats.chisquare(np.bincount(y)).pvalue > LEVEL


def _blurred_uniform(spread):
    """Return the distribution function of a uniform number plus normal noise."""

    def distribution(value):
        def part(shift):
            scaled = (value - shift) / spread
            return spread * (scaled * stats.norm.cdf(scaled) + stats.norm.pdf(scaled))

        return part(0.0) - part(1.0)

    return distribution


def test_two_classes_of_waveform():
    """Label 1 is one of the three classes, as in the benchmark set."""
    X, y = make_waveform(3000, random_state=1)
    again, three = make_waveform(3000, n_classes=3, random_state=1)
    assert np.array_equal(X, again)
    assert np.array_equal(y, three == 1)
    with pytest.raises(ValueError, match="n_classes must be 2 or 3; got 4"):
        make_waveform(n_classes=4)
