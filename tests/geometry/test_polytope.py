"""Intersections of half-spaces whose answers are known."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from softpolytope.geometry import _polytope as polytope
from softpolytope.geometry._polytope import Polytope

SQUARE = Polytope(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.ones(4))


def with_face(start, normal, offset):
    """Return a polytope with one more half-space."""
    return Polytope(np.vstack([start.normals, normal]), np.append(start.offsets, offset))


def test_square():
    """A square is bounded, not empty, and has four corners."""
    assert not SQUARE.is_empty()
    assert SQUARE.is_bounded()
    corners = {tuple(corner) for corner in SQUARE.corners().round(9).tolist()}
    assert corners == {(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)}
    assert SQUARE.contains(np.array([[0.0, 0.5], [1.5, 0.0]])).tolist() == [True, False]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_units_do_not_matter(unit):
    """Faces and corners do not depend on the units of the features."""
    scaled = Polytope(SQUARE.normals * [1.0, unit], SQUARE.offsets)
    assert scaled.is_bounded()
    assert scaled.needed_faces().all()
    np.testing.assert_allclose(np.abs(scaled.corners()), np.tile([1.0, 1.0 / unit], (4, 1)), rtol=1e-9)


def test_redundant_faces_go():
    """A face beyond the others, a repeated, an infinite and an empty one are redundant."""
    more = with_face(with_face(with_face(SQUARE, [1.0, 1.0], 5.0), [1.0, 0.0], 1.0), [1.0, 0.0], np.inf)
    more = with_face(more, [0.0, 0.0], 1.0)
    assert more.needed_faces().sum() == 4
    assert len(more.without_redundant().offsets) == 4
    assert len(more.corners()) == 4


def test_a_face_that_cuts_a_corner_stays():
    """The control: such a face is needed, and gives five corners."""
    cut = with_face(SQUARE, [1.0, 1.0], 1.5)
    assert cut.needed_faces().all()
    assert len(cut.corners()) == 5


def test_empty():
    """The polytope is empty for x <= -1 and x >= 1, and for a zero normal with 0 <= -1."""
    assert with_face(SQUARE, [-1.0, 0.0], -3.0).is_empty()
    assert with_face(SQUARE, [0.0, 0.0], -1.0).is_empty()
    assert with_face(SQUARE, [-1.0, 0.0], -3.0).corners().shape == (0, 2)


@pytest.mark.parametrize("n_left_out", [1, 2, 4])
def test_unbounded(n_left_out):
    """Without some of its sides the square is unbounded and has no list of corners."""
    part = Polytope(SQUARE.normals[n_left_out:], SQUARE.offsets[n_left_out:])
    assert not part.is_bounded()
    assert not part.is_empty()
    assert part.corners() is None


def test_strip_is_not_bounded():
    """Parallel faces bound one direction only, though zero is a positive combination of them."""
    assert not Polytope(np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 0.0]]), np.ones(3)).is_bounded()


def test_one_feature():
    """A polytope in one dimension is an interval."""
    interval = Polytope(np.array([[2.0], [-1.0], [1.0]]), np.array([4.0, 1.0, 9.0]))
    assert interval.is_bounded()
    assert sorted(interval.corners().ravel().tolist()) == [-1.0, 2.0]
    assert interval.needed_faces().tolist() == [True, True, False]


def test_box_cuts():
    """A box adds its finite bounds only."""
    part = SQUARE.within(np.array([-np.inf, 0.0]), np.array([0.5, np.inf]))
    assert len(part.offsets) == 6
    assert np.abs(part.corners()[:, 0]).max() == 1.0
    assert part.corners()[:, 0].max() == 0.5


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e9, 1e20, 1e300])
def test_size_of_a_face_does_not_matter(size):
    """Multiplying both sides of an inequality does not change the half-space."""
    cut = Polytope(SQUARE.normals, SQUARE.offsets + SQUARE.normals @ [2.0, 2.0])  # [1, 3] x [1, 3]
    cut = with_face(cut, [size, size], 5.0 * size)
    assert not cut.is_empty()
    assert cut.is_bounded()
    assert cut.needed_faces().all()
    assert len(cut.corners()) == 5


@pytest.mark.parametrize("far", [1e9, 1e20, 1e22, 1e300])
def test_faces_far_off(far):
    """Very distant faces, as of weak experts, cut off nothing of a square but can bound an unbounded polytope."""
    more = with_face(SQUARE, [1.0, 1.0], far)
    assert not more.is_empty()
    assert more.needed_faces().tolist() == [True] * 4 + [False]
    assert len(more.corners()) == 4
    strip = Polytope(SQUARE.normals[[0, 2, 3]], np.array([-1.0, 1.0, 1.0]))
    closed = with_face(strip, [-1.0, 0.0], far)
    for half_open in (strip, with_face(strip, [1.0, 0.0], far), with_face(strip, [1.0, 0.0], 1e-22)):
        assert not half_open.is_empty()
        assert not half_open.is_bounded()
        assert half_open.needed_faces().tolist() == [True] * 3 + [False] * (len(half_open.offsets) - 3)
    assert not closed.is_empty()
    assert closed.is_bounded()
    assert closed.needed_faces().all()
    assert with_face(SQUARE, [1.0, 1.0], -far).is_empty()
    assert with_face(SQUARE, [1.0, 0.0], -np.inf).is_empty()
    assert with_face(SQUARE, [1e-300, 0.0], -far).is_empty()
    assert with_face(strip, [1e-300, 0.0], far).needed_faces().tolist() == [True] * 3 + [False]


@pytest.mark.parametrize("place", [1e3, 1e9, 1e12])
def test_small_and_far_from_zero(place):
    """Small polytopes far from zero keep their faces and corners."""
    cut = with_face(SQUARE, [1.0, 1.0], 1.5)
    moved = Polytope(cut.normals, cut.offsets + cut.normals @ [place, -place])
    assert not moved.is_empty()
    assert moved.needed_faces().all()
    assert with_face(moved, [1.0, 0.0], place + 1.1).needed_faces().tolist() == [True] * 5 + [False]
    corners = np.unique(moved.corners() - [place, -place], axis=0)
    # What place + 1 keeps of the digits of 1.
    np.testing.assert_allclose(corners, np.unique(cut.corners(), axis=0), atol=place * 1e-15)


def test_mostly_far_faces(rng):
    """Near faces are found among many distant ones, in any units of faces and features."""
    normals = rng.normal(size=(30, 2))
    offsets = np.append(SQUARE.offsets + SQUARE.normals @ [2.0, 2.0], 10.0 ** rng.uniform(20.0, 60.0, 30))
    normals = np.vstack([SQUARE.normals, normals])
    sizes, units = 10.0 ** rng.uniform(-30.0, 30.0, 34), np.array([1e-9, 1e9])
    found = Polytope(normals * sizes[:, None] * units, offsets * sizes)
    assert not found.is_empty()
    assert found.needed_faces().tolist() == [True] * 4 + [False] * 30
    np.testing.assert_allclose(np.sort(found.corners() * units, axis=0), [[1.0, 1.0]] * 2 + [[3.0, 3.0]] * 2, rtol=1e-9)


def test_unsolved_programs_raise(monkeypatch):
    """An unsolved linear program raises, since it is unknown whether the polytope is empty."""
    failed = OptimizeResult(status=4, x=None, message="numerical difficulties")
    monkeypatch.setattr(polytope, "linprog", lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match="could not be solved: numerical difficulties"):
        with_face(SQUARE, [1.0, 0.0], -0.5).is_empty()


def test_random_polytopes_against_their_points(rng):
    """All corners are inside, and each needed face touches one of them."""
    for _ in range(10):
        normals = rng.normal(size=(12, 3))
        found = Polytope(normals, rng.uniform(0.5, 2.0, 12)).within(-3.0 * np.ones(3), 3.0 * np.ones(3))
        corners, is_needed = found.corners(), found.needed_faces()
        gaps = found.offsets - corners @ found.normals.T
        assert (gaps > -1e-8).all()
        assert ((gaps.min(axis=0) < 1e-8) == is_needed).all()
