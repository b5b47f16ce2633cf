"""Planes through the feature space."""

import numpy as np
import pytest

from softpolytope.inspection.displays import Plane


def test_planes_are_checked():
    """The vectors must be finite, of one length, and in two directions."""
    with pytest.raises(ValueError, match="one number per feature"):
        Plane(np.zeros(3), np.ones(2), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="two different directions"):
        Plane(np.zeros(2), np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="finite"):
        Plane(np.full(2, np.nan), np.ones(2), np.array([1.0, 0.0]))


def test_old_name_of_project():
    """`points_of` is now `project`."""
    plane = Plane(np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    with pytest.warns(FutureWarning, match="'points_of' is now 'project'"):
        assert plane.points_of(np.ones((1, 2))).tolist() == [[1.0, 1.0]]
