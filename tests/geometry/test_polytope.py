"""Intersections of half-spaces whose answers are known."""

import numpy as np
import pytest

from softpolytope.geometry.polytope import Polytope

SQUARE = Polytope(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.ones(4))


def with_face(polytope, normal, offset):
    """One more half-space."""
    return Polytope(np.vstack([polytope.normals, normal]), np.append(polytope.offsets, offset))


def test_square():
    """Bounded, not empty, four corners."""
    assert not SQUARE.is_empty()
    assert SQUARE.is_bounded()
    corners = {tuple(corner) for corner in SQUARE.corners().round(9).tolist()}
    assert corners == {(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)}
    assert SQUARE.contains(np.array([[0.0, 0.5], [1.5, 0.0]])).tolist() == [True, False]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_units_do_not_matter(unit):
    """Features of very different sizes have the same faces and corners."""
    scaled = Polytope(SQUARE.normals * [1.0, unit], SQUARE.offsets)
    assert scaled.is_bounded()
    assert scaled.needed_faces().all()
    np.testing.assert_allclose(np.abs(scaled.corners()), np.tile([1.0, 1.0 / unit], (4, 1)), rtol=1e-9)


def test_redundant_faces_go():
    """A face beyond the others, a repeated one, an infinite and an empty one are not needed."""
    more = with_face(with_face(with_face(SQUARE, [1.0, 1.0], 5.0), [1.0, 0.0], 1.0), [1.0, 0.0], np.inf)
    more = with_face(more, [0.0, 0.0], 1.0)
    assert more.needed_faces().sum() == 4
    assert len(more.without_redundant().offsets) == 4
    assert len(more.corners()) == 4


def test_a_face_that_cuts_a_corner_stays():
    """The control: it is needed, and makes five corners."""
    cut = with_face(SQUARE, [1.0, 1.0], 1.5)
    assert cut.needed_faces().all()
    assert len(cut.corners()) == 5


def test_empty():
    """x <= -1 and x >= 1; and a zero normal that asks for 0 <= -1."""
    assert with_face(SQUARE, [-1.0, 0.0], -3.0).is_empty()
    assert with_face(SQUARE, [0.0, 0.0], -1.0).is_empty()
    assert with_face(SQUARE, [-1.0, 0.0], -3.0).corners().shape == (0, 2)


@pytest.mark.parametrize("n_left_out", [1, 2, 4])
def test_unbounded(n_left_out):
    """Without some sides the square does not end, and has no list of corners."""
    part = Polytope(SQUARE.normals[n_left_out:], SQUARE.offsets[n_left_out:])
    assert not part.is_bounded()
    assert not part.is_empty()
    assert part.corners() is None


def test_strip_is_not_bounded():
    """Parallel faces bound one direction only, though zero is a positive combination of them."""
    assert not Polytope(np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 0.0]]), np.ones(3)).is_bounded()


def test_one_feature():
    """An interval."""
    interval = Polytope(np.array([[2.0], [-1.0], [1.0]]), np.array([4.0, 1.0, 9.0]))
    assert interval.is_bounded()
    assert sorted(interval.corners().ravel().tolist()) == [-1.0, 2.0]
    assert interval.needed_faces().tolist() == [True, True, False]


def test_box_cuts():
    """Within a box; infinite ends add nothing."""
    part = SQUARE.within(np.array([-np.inf, 0.0]), np.array([0.5, np.inf]))
    assert len(part.offsets) == 6
    assert np.abs(part.corners()[:, 0]).max() == 1.0
    assert part.corners()[:, 0].max() == 0.5


def test_random_polytopes_against_their_points(rng):
    """Corners are inside, and every needed face touches one of them."""
    for _ in range(10):
        normals = rng.normal(size=(12, 3))
        polytope = Polytope(normals, rng.uniform(0.5, 2.0, 12)).within(-3.0 * np.ones(3), 3.0 * np.ones(3))
        corners, is_needed = polytope.corners(), polytope.needed_faces()
        gaps = polytope.offsets - corners @ polytope.normals.T
        assert (gaps > -1e-8).all()
        assert ((gaps.min(axis=0) < 1e-8) == is_needed).all()
