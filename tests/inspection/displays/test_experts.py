"""Experts as lines on a plane."""

import numpy as np

from softpolytope.inspection.displays._experts import clip_line


def test_lines_outside_the_view():
    """A line that misses the view, or does not exist, has no ends."""
    bounds = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert clip_line(-5.0, np.array([1.0, 1.0]), bounds) is None
    assert clip_line(-5.0, np.array([1.0, 0.0]), bounds) is None
    assert clip_line(-np.inf, np.array([1.0, 0.0]), bounds) is None
    assert clip_line(1.0, np.zeros(2), bounds) is None
    np.testing.assert_allclose(np.sort(clip_line(-0.5, np.array([1.0, 0.0]), bounds)[:, 1]), [0.0, 1.0])
