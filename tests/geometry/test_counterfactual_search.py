"""Search for the nearest point with a different prediction: it flips, and nothing is nearer."""

import numpy as np
import pytest

from benchmarks.geometry import dense_distances
from softpolytope import SoftplusClassifier, SumSoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.datasets import make_circle, make_double_moon, make_xor
from softpolytope.geometry import _counterfactual_search as search
from softpolytope.geometry._counterfactual_search import shortest_steps


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_circle, make_xor, make_double_moon])
def test_flips_and_nothing_is_nearer(make, rng):
    """Each row gets a point with a different prediction, and no point of a fine grid is nearer."""
    X, y = make(300, random_state=1)
    model = SumStackSoftplusClassifier(random_state=0, inference="map", n_restarts=2).fit(X, y)
    rows = rng.uniform(X.min(axis=0), X.max(axis=0), (40, 2))
    found = model.counterfactual(rows)
    assert found.is_found.all()
    assert (model.predict(found.points) != found.predicted).all()
    assert (model.predict(found.points) == found.counterfactual_class).all()
    assert (found.distances <= dense_distances(model, X, rows, found.predicted)).all()


def test_one_hyperplane_has_a_closed_form(rng):
    """The nearest point is the foot of the perpendicular in standard deviations."""
    X = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.1]
    y = X @ [1.0, 0.1, 3.0] + rng.normal(size=200) > 0.3
    model = SoftplusClassifier(symmetric=False, estimate="best", random_state=0).fit(X, y)
    found = model.counterfactual(X[:50])
    region = model.polytopes()[0].regions[0]
    normal = region.normals[0] * X.std(axis=0)
    expected = np.abs(X[:50] @ region.normals[0] - region.offsets[0]) / np.linalg.norm(normal)
    np.testing.assert_allclose(found.distances, expected, rtol=1e-9)
    assert (model.predict(found.points) != found.predicted).all()


@pytest.mark.parametrize("location", [0.0, 1e6])
@pytest.mark.parametrize("estimate", ["best", "mean"])
def test_points_flip_the_prediction_one_at_a_time(location, estimate, rng):
    """The prediction differs however many rows are evaluated at once, that is, in any order of summation."""
    X = rng.normal(size=(100, 30)) + location
    y = (X - location) @ rng.normal(size=30) + rng.normal(size=100) > 0.0
    model = SoftplusClassifier(symmetric=False, estimate=estimate, random_state=0).fit(X, y)
    found = model.counterfactual(X)
    assert found.is_found.all()
    assert [model.predict(point[None])[0] for point in found.points] == found.counterfactual_class.tolist()


def test_outliers_find_what_they_aim_at(circle):
    """A small class far away lies between two steps along a ray, but is found because the ray aims at it."""
    model, _ = circle
    angles = np.linspace(0.0, 6.0, 12)
    rows = np.geomspace(10.0, 1e4, 12)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    found = model.counterfactual(rows)
    assert found.is_found.all()
    assert (model.predict(found.points) == found.counterfactual_class).all()
    assert (found.counterfactual_class != found.predicted).all()


@pytest.mark.parametrize("estimate", ["best", "mean"])
def test_bounds_hold_to_the_last_bit(estimate, rng):
    """Rounding does not carry points beyond a bound."""
    X = rng.normal(size=(200, 3)) * [0.1, 0.3, 0.7]
    model = SoftplusClassifier(symmetric=False, estimate=estimate, random_state=0).fit(X, X.sum(axis=1) > 0.1)
    lower, upper = X.min(axis=0), X.max(axis=0)
    rows = rng.uniform(lower, upper, (100, 3))
    for share in (0.3, 0.6):
        ends = (np.minimum(lower * share, rows.min(axis=0)), np.maximum(upper * share, rows.max(axis=0)))
        found = model.counterfactual(rows, bounds=ends, scale=[0.1, 1.7, 0.9])
        points = found.points[found.is_found]
        assert ((points >= ends[0]) & (points <= ends[1])).all()


def test_bounded_search_is_as_near_as_a_line_search(circle):
    """With one free feature the answer is the nearest change along it in either direction."""
    model, X = circle
    found = model.counterfactual(X[:30], fixed=[1])
    steps = np.linspace(-12.0, 12.0, 24001)
    for row, point, predicted in zip(X[:30], found.points, found.predicted, strict=True):
        line = np.column_stack([row[0] + steps, np.full(len(steps), row[1])])
        # The search ends one width of the training rows beyond them.
        width = np.ptp(X[:, 0])
        is_near = (line[:, 0] > X[:, 0].min() - width) & (line[:, 0] < X[:, 0].max() + width)
        changed = steps[(model.predict(line) != predicted) & is_near]
        if len(changed):
            assert abs(point[0] - row[0]) <= np.abs(changed).min() + 1e-9
        else:
            assert np.isnan(point).all()


def test_shortest_steps_within_bounds():
    """In a case solved by hand, the first feature stops at its bound and the second supplies the rest."""
    steps = shortest_steps(np.array([[1.0, 1.0]]), np.array([3.0]), np.full((1, 2), -9.0), np.array([[1.0, 9.0]]))
    np.testing.assert_allclose(steps, [[1.0, 2.0]], rtol=1e-12)


@pytest.mark.slow
def test_last_turns_find_what_slides_miss(monkeypatch):
    """Without sliding, rotations alone come as near as sliding does; without them nothing does."""
    X, y = make_circle(200, random_state=0)
    model = SumSoftplusClassifier(random_state=0).fit(X, y)
    rows = X[:20]
    slid = model.counterfactual(rows).distances
    monkeypatch.setattr(search._Search, "_slide", lambda _, __, steps: steps)
    turned = model.counterfactual(rows).distances
    monkeypatch.setattr(search._Search, "_rotate", lambda _, __, steps: steps)
    neither = model.counterfactual(rows).distances
    np.testing.assert_allclose(turned, slid, rtol=1e-6)
    assert (neither > slid * (1.0 + 1e-6)).any()
