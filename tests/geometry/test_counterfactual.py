"""The nearest point on the other side: it flips, nothing is nearer, bounds and whole numbers hold."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.geometry import dense_distances
from softpolytope import SoftplusClassifier, SumSoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.datasets import make_circle, make_double_moon, make_xor
from softpolytope.geometry import _counterfactual_search as nearest
from softpolytope.geometry._counterfactual_search import shortest_steps
from softpolytope.geometry._decision import Decision


@pytest.fixture(scope="module")
def circle():
    """A model of the circle and its rows."""
    X, y = make_circle(300, random_state=0)
    return SumStackSoftplusClassifier(random_state=0, n_restarts=2).fit(X, y), X


@pytest.fixture(scope="module")
def counts():
    """A model of two counts and a number."""
    rng = np.random.default_rng(0)
    X = rng.poisson(3.0, (300, 3)).astype(float)
    X[:, 2] = rng.normal(size=300)
    model = SumStackSoftplusClassifier(random_state=0, n_restarts=2)
    return model.fit(X, (X[:, 0] + X[:, 1] > 6.0) ^ (X[:, 2] > 1.0)), X


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_circle, make_xor, make_double_moon])
def test_flips_and_nothing_is_nearer(make, rng):
    """Every row gets a point that is decided otherwise; no point of a fine grid is nearer."""
    X, y = make(300, random_state=1)
    model = SumStackSoftplusClassifier(random_state=0, n_restarts=2).fit(X, y)
    rows = rng.uniform(X.min(axis=0), X.max(axis=0), (40, 2))
    found = model.counterfactual(rows)
    assert found.is_found.all()
    assert (model.predict(found.points) != found.decided).all()
    assert (model.predict(found.points) == found.otherwise).all()
    assert (found.distances <= dense_distances(model, X, rows, found.decided)).all()


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
    assert (model.predict(found.points) != found.decided).all()


@pytest.mark.parametrize("place", [0.0, 1e6])
@pytest.mark.parametrize("estimate", ["best", "mean"])
def test_points_are_decided_otherwise_one_at_a_time(place, estimate, rng):
    """However many rows are asked about at once, and so in whatever order sums are taken."""
    X = rng.normal(size=(100, 30)) + place
    y = (X - place) @ rng.normal(size=30) + rng.normal(size=100) > 0.0
    model = SoftplusClassifier(symmetric=False, estimate=estimate, random_state=0).fit(X, y)
    found = model.counterfactual(X)
    assert found.is_found.all()
    assert [model.predict(point[None])[0] for point in found.points] == found.otherwise.tolist()


def test_outliers_find_what_they_aim_at(circle):
    """A small class far away lies between two steps along a ray, but the ray knows where it aims."""
    model, _ = circle
    angles = np.linspace(0.0, 6.0, 12)
    rows = np.geomspace(10.0, 1e4, 12)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    found = model.counterfactual(rows)
    assert found.is_found.all()
    assert (model.predict(found.points) == found.otherwise).all()
    assert (found.otherwise != found.decided).all()


@pytest.mark.parametrize("estimate", ["best", "mean"])
def test_bounds_hold_to_the_last_bit(estimate, rng):
    """Points on a bound are not a rounding beyond it."""
    X = rng.normal(size=(200, 3)) * [0.1, 0.3, 0.7]
    model = SoftplusClassifier(symmetric=False, estimate=estimate, random_state=0).fit(X, X.sum(axis=1) > 0.1)
    lower, upper = X.min(axis=0), X.max(axis=0)
    rows = rng.uniform(lower, upper, (100, 3))
    for share in (0.3, 0.6):
        ends = (np.minimum(lower * share, rows.min(axis=0)), np.maximum(upper * share, rows.max(axis=0)))
        found = model.counterfactual(rows, bounds=ends, scale=[0.1, 1.7, 0.9])
        points = found.points[found.is_found]
        assert ((points >= ends[0]) & (points <= ends[1])).all()


def test_bounds_and_fixed_features_hold(circle):
    """Nothing leaves its bounds, fixed features do not move, and what cannot be reached is said."""
    model, X = circle
    found = model.counterfactual(X[:60], bounds={"x0": (-3.5, 3.5)}, fixed=["x1"])
    assert 0 < found.is_found.sum() < 60
    assert (found.changes[found.is_found, 1] == 0.0).all()
    assert (np.abs(found.points[found.is_found, 0]) <= 3.5).all()
    assert np.isnan(found.points[~found.is_found]).all()
    lost = int(np.flatnonzero(~found.is_found)[0])
    assert "no other decision was found within bounds" in found.in_words(lost)


def test_bounded_search_is_as_near_as_a_line_search(circle):
    """With one free feature the answer is the first change along it, either way."""
    model, X = circle
    found = model.counterfactual(X[:30], fixed=[1])
    steps = np.linspace(-12.0, 12.0, 24001)
    for row, point, decided in zip(X[:30], found.points, found.decided, strict=True):
        line = np.column_stack([row[0] + steps, np.full(len(steps), row[1])])
        # The search ends one width of the training rows beyond them.
        width = np.ptp(X[:, 0])
        is_near = (line[:, 0] > X[:, 0].min() - width) & (line[:, 0] < X[:, 0].max() + width)
        changed = steps[(model.predict(line) != decided) & is_near]
        if len(changed):
            assert abs(point[0] - row[0]) <= np.abs(changed).min() + 1e-9
        else:
            assert np.isnan(point).all()


def test_whole_numbers_stay_whole(counts):
    """Features named whole are whole at the answer, and no nearer choice of them flips."""
    model, X = counts
    found = model.counterfactual(X[:15], integer=[0, 1], fixed=[2], bounds={0: (0, 12), 1: (0, 12)})
    choices = np.stack(np.meshgrid(np.arange(13.0), np.arange(13.0)), axis=-1).reshape(-1, 2)
    scale = found.features.scale[:2]
    for row, distance, decided in zip(X[:15], found.distances, found.decided, strict=True):
        candidates = np.column_stack([choices, np.full(len(choices), row[2])])
        flips = model.predict(candidates) != decided
        best = np.linalg.norm((choices[flips] - row[:2]) / scale, axis=1).min(initial=np.inf)
        np.testing.assert_allclose(distance, best, rtol=1e-12)


@pytest.mark.slow
def test_whole_and_other_features_together(counts):
    """With a free number beside them, whole features stay whole, and moving them too is never a loss."""
    model, X = counts
    found = model.counterfactual(X[:6], integer=[0, 1])
    alone = model.counterfactual(X[:6], fixed=[0, 1])
    assert (found.points[:, :2] == np.round(found.points[:, :2])).all()
    assert (model.predict(found.points) != found.decided).all()
    assert (found.distances <= alone.distances * (1.0 + 1e-9)).all()


def test_target_among_several_classes(rng):
    """A wanted class is reached; rows that have it stay."""
    X = rng.normal(size=(300, 2)) + np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], 100, axis=0)
    y = np.repeat(["a", "b", "c"], 100)
    model = SumSoftplusClassifier(random_state=0, n_restarts=2).fit(X, y)
    found = model.counterfactual(X[::20], target="c")
    assert (found.otherwise == "c").all()
    is_there = found.decided == "c"
    assert (found.distances[is_there] == 0.0).all()
    first = int(np.flatnonzero(is_there)[0])
    assert found.in_words(first) == f"Row {first} is 'c', as asked for; nothing has to change."
    assert (found.distances[~is_there] > 0.0).all()


def test_table_and_words(circle):
    """One line per row with the changes by name."""
    model, X = circle
    named = SumStackSoftplusClassifier(random_state=0, n_restarts=1).fit(
        pd.DataFrame(X, columns=["age", "income"]), model.predict(X)
    )
    found = named.counterfactual(pd.DataFrame(X[:3], columns=["age", "income"]))
    table = found.table()
    assert list(table.columns) == ["decided", "otherwise", "distance", "change of age", "change of income"]
    assert len(table) == 3
    assert "it would be" in found.in_words(1)


def test_counterfactuals_are_read_row_by_row(circle):
    """Printed they are text, and they have a length, rows, slices and an end."""
    model, X = circle
    found = model.counterfactual(X[:8])
    assert len(found) == 8
    assert str(found[3]) == found.in_words(3)
    assert str(found[3]).startswith("Row 3 is ")
    assert [str(item) for item in found] == [found.in_words(row) for row in range(8)]
    np.testing.assert_array_equal(found[2:5].points, found.points[2:5])
    assert found[2:5].in_words(1) == found[-5].in_words() == found.in_words(3)
    assert str(found).splitlines()[:-1] == [found.in_words(row) for row in range(5)]
    assert str(found).splitlines()[-1] == "... and 3 more rows: [i] or in_words(i) has one, table() all."
    assert len(repr(found)) < 80
    for row in (8, -9):
        with pytest.raises(IndexError, match=f"there is no row {row}: this result has the rows 0 to 7"):
            found.in_words(row)
        with pytest.raises(IndexError, match="there is no row"):
            found[row]


def test_one_deviation_is_singular(circle):
    """Where the rounded distance is 1; changes beyond those named are counted."""
    model, X = circle
    found = model.counterfactual(X[:1])
    assert "(1 standard deviation away)" in replace(found, distances=np.ones(1)).in_words()
    assert "(1.5 standard deviations away)" in replace(found, distances=np.array([1.5])).in_words()
    assert " and 1 smaller change (" in found.in_words(most_features=1)


def test_gap_slopes_are_derivatives(circle, rng):
    """Of the log odds, averaged over modes, by the features."""
    model, _ = circle
    decision = Decision(model.posterior_, "mean")
    rows = rng.uniform(-2.0, 2.0, (20, 2))
    is_wanted = np.repeat([[False], [True]], 20, axis=1)
    slopes = decision.gap_slopes(rows, is_wanted)
    for column in range(2):
        step = np.zeros(2)
        step[column] = 1e-6
        difference = (decision.gap(rows + step, is_wanted) - decision.gap(rows - step, is_wanted)) / 2e-6
        np.testing.assert_allclose(slopes[:, column], difference, rtol=1e-5, atol=1e-6)


def test_shortest_steps_within_bounds():
    """Against a case done by hand: the first feature stops at its bound, the second does the rest."""
    steps = shortest_steps(np.array([[1.0, 1.0]]), np.array([3.0]), np.full((1, 2), -9.0), np.array([[1.0, 9.0]]))
    np.testing.assert_allclose(steps, [[1.0, 2.0]], rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fixed": ["age"]}, "fixed names the feature 'age', which the model does not have"),
        ({"fixed": "x0"}, "fixed must be a list of features; got the text 'x0'"),
        ({"integer": [7]}, "integer names the feature 7"),
        ({"bounds": {"x0": 3}}, "bounds of 'x0' must be a pair"),
        ({"bounds": {"x0": (2, 1)}}, "lower <= upper"),
        ({"bounds": [1, 2, 3]}, "bounds must be a dict of features to pairs, or two arrays of 2 numbers"),
        ({"bounds": {"x0": (100, 200)}}, "row 0 of X has x0 = .* outside its bounds"),
        ({"target": "b"}, "target must be one of the classes"),
        ({"scale": [1.0]}, "scale must be 2 positive numbers"),
    ],
)
def test_bad_arguments(circle, arguments, message):
    """Each names the parameter, what was seen and what is right."""
    model, X = circle
    with pytest.raises(ValueError, match=message):
        model.counterfactual(X[:2], **arguments)


def test_last_turns_find_what_slides_miss(monkeypatch):
    """Where no point slides along the boundary, turning alone comes as near as sliding; without it, none does."""
    X, y = make_circle(200, random_state=0)
    model = SumSoftplusClassifier(random_state=0).fit(X, y)
    rows = X[:20]
    slid = model.counterfactual(rows).distances
    monkeypatch.setattr(nearest._Search, "_turned", lambda _, __, steps: steps)
    turned = model.counterfactual(rows).distances
    monkeypatch.setattr(nearest._Search, "_polished", lambda _, __, steps: steps)
    neither = model.counterfactual(rows).distances
    np.testing.assert_allclose(turned, slid, rtol=1e-6)
    assert (neither > slid * (1.0 + 1e-6)).any()
