"""Faces around the regions of experts: correctness and cost, for few features and for many."""

from unittest import mock

import numpy as np
import pytest
from scipy.optimize import linprog

from benchmarks.geometry import broken_faces, random_case
from softpolytope.geometry import _faces as module
from softpolytope.geometry import _polytope as polytope
from softpolytope.geometry._faces import Box, Faces, bounding_faces
from softpolytope.geometry._half_spaces import log_contributions_at

N_LAYERS, N_EXPERTS = 3, 4


def random_layers(rng, n_features):
    """Return hyperplanes whose predictors have a standard deviation near one for any number of features."""
    slopes = rng.standard_normal((N_LAYERS, n_features)) / np.sqrt(n_features)
    return np.column_stack([rng.standard_normal(N_LAYERS), slopes])


def unit_box(n_features):
    """Return a box of three standard deviations in each direction."""
    return Box(np.full(n_features, -3.0), np.full(n_features, 3.0))


@pytest.mark.parametrize("n_features", [40, 400])
def test_linear_programs_do_not_grow_with_the_features(rng, n_features):
    """At most thirty programs per layer for any width, none with more constraints than there were programs and layers.

    Before, each side of the box had a program of its own, with both sides of every feature as constraints.
    """
    solve = mock.Mock(wraps=linprog)
    with mock.patch.object(module, "linprog", solve), mock.patch.object(polytope, "linprog", solve):
        for _ in range(N_EXPERTS):
            bounding_faces(random_layers(rng, n_features), 0.0, unit_box(n_features))
    assert 0 < solve.call_count <= 30 * N_LAYERS * N_EXPERTS
    n_constraints = [len(call.kwargs.get("A_ub", ())) for call in solve.call_args_list]
    assert max(n_constraints) <= 30 * N_LAYERS


@pytest.mark.parametrize("n_features", [5, pytest.param(35, marks=pytest.mark.slow)])
def test_faces_hold_and_touch_the_region(rng, n_features):
    """Points with a yes vote satisfy all faces, and one such point is within a ten-thousandth of each face."""
    layers, box = random_layers(rng, n_features), unit_box(n_features)
    faces = bounding_faces(layers, 0.0, box)
    assert len(faces.offsets)
    points = rng.uniform(-3.0, 3.0, (20_000, n_features))
    is_yes = log_contributions_at(layers[None, :, :1] + layers[None, :, 1:] @ points.T, np.ones(1))[0] > 0.0
    assert is_yes.any()
    assert (points[is_yes] @ faces.normals.T > faces.offsets).all()
    for normal, offset in zip(faces.normals, faces.offsets, strict=True):
        region = module._Region(layers, 0.0, box)
        width = box.upper - box.lower
        with mock.patch.object(module, "MAX_FEATURES_FOR_SOLVER", 1000):
            nearest = box.lower + width * region._outermost(normal * width / np.abs(normal * width).max())
        assert abs(region._gap_and_gradient((nearest - box.lower) / width)[0]) < 1e-4
        assert normal @ nearest - offset < 1e-4 * np.abs(normal * width).max()


def test_faces_that_follow_from_others_are_left_out():
    """In the unit square: a face that holds everywhere, a looser copy, and a sum of two others are not needed."""
    normals = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    offsets = np.array([0.3, 0.4, 0.7, 0.2, 0.9, -2.0])
    found = module._is_needed_in(Faces(normals, offsets, is_empty=False), Box(np.zeros(2), np.ones(2)))
    assert found.tolist() == [True, True, False, False, True, False]


def test_of_equal_faces_one_stays():
    """The last of equal faces is kept."""
    normals, offsets = np.array([[1.0, 1.0]] * 3), np.full(3, 0.5)
    found = module._is_needed_in(Faces(normals, offsets, is_empty=False), Box(np.zeros(2), np.ones(2)))
    assert found.tolist() == [False, False, True]


@pytest.mark.parametrize("n_layers", [1, 2, 3, 5, 20])
def test_faces_hold_the_region(n_layers):
    """Within the box, an expert votes yes only where all its faces hold."""
    assert all(broken_faces(random_case(seed, n_layers, threshold=0.5)) == 0 for seed in range(6))


def test_wrong_faces_are_seen():
    """The control: faces moved inwards by a tenth of the box cut off rows that vote yes."""
    n_cut = 0
    for seed in range(40):
        case = random_case(seed, 3, 0.0, 0.5)
        faces = case.polytopes.regions[0].faces()
        votes = case.polytopes.votes(case.rows)[0] & (np.abs(case.rows) <= 3.0).all(axis=1)
        moved = faces.offsets + 0.6 * np.abs(faces.normals).sum(axis=1)
        n_cut += int((votes & ~(case.rows @ faces.normals.T > moved).all(axis=1)).sum())
    assert n_cut > 0


@pytest.mark.parametrize("size", [1e-12, 1e9, 1e12])
def test_faces_of_features_of_any_size(stack_model, size):
    """The half-spaces do not depend on the units of a feature or its distance from zero."""
    for region in stack_model.polytopes()[0].regions:
        plain = region.faces()
        moved = region.coefficients / [1.0, size, 1.0]
        moved[:, 0] -= moved[:, 1] * size
        box = Box(region.features.lower * [size, 1.0] + [size, 0.0], region.features.upper * [size, 1.0] + [size, 0.0])
        found = bounding_faces(moved, region.log_needed, box)
        np.testing.assert_allclose(found.normals * [size, 1.0], plain.normals, rtol=1e-9)
        assert len(found.offsets) > 0
