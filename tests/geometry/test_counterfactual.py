"""Counterfactuals of fitted classifiers: limits, tables and text."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from softpolytope import SumSoftplusClassifier, SumStackSoftplusClassifier


def test_bounds_and_fixed_features_hold(circle):
    """Bounds hold, fixed features do not change, and rows without an answer are reported."""
    model, X = circle
    found = model.counterfactual(X[:60], bounds={"x0": (-3.5, 3.5)}, fixed=["x1"])
    assert 0 < found.is_found.sum() < 60
    assert (found.changes[found.is_found, 1] == 0.0).all()
    assert (np.abs(found.points[found.is_found, 0]) <= 3.5).all()
    assert np.isnan(found.points[~found.is_found]).all()
    lost = int(np.flatnonzero(~found.is_found)[0])
    assert "no change within the bounds was found" in found.in_words(lost)


def test_target_among_several_classes(rng):
    """The target is reached; rows that already have it do not change."""
    X = rng.normal(size=(300, 2)) + np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], 100, axis=0)
    y = np.repeat(["a", "b", "c"], 100)
    model = SumSoftplusClassifier(random_state=0, inference="map", n_restarts=2).fit(X, y)
    found = model.counterfactual(X[::20], target="c")
    assert (found.counterfactual_class == "c").all()
    is_there = found.predicted == "c"
    assert (found.distances[is_there] == 0.0).all()
    first = int(np.flatnonzero(is_there)[0])
    assert found.in_words(first) == f"Row {first}: the prediction is already 'c'; no change is needed."
    assert (found.distances[~is_there] > 0.0).all()


def test_table_and_words(circle):
    """The table and the text have one line per row with the changes by name."""
    model, X = circle
    named = SumStackSoftplusClassifier(random_state=0, inference="map", n_restarts=1).fit(
        pd.DataFrame(X, columns=["age", "income"]), model.predict(X)
    )
    found = named.counterfactual(pd.DataFrame(X[:3], columns=["age", "income"]))
    table = found.table()
    assert list(table.columns) == ["predicted", "counterfactual_class", "distance", "change of age", "change of income"]
    assert len(table) == 3
    assert "the prediction changes from" in found.in_words(1)


def test_counterfactuals_are_read_row_by_row(circle):
    """They print as text and support length, indexing, slices and iteration."""
    model, X = circle
    found = model.counterfactual(X[:8])
    assert len(found) == 8
    assert str(found[3]) == found.in_words(3)
    assert str(found[3]).startswith("Row 3: the prediction changes from ")
    assert [str(item) for item in found] == [found.in_words(row) for row in range(8)]
    np.testing.assert_array_equal(found[2:5].points, found.points[2:5])
    assert found[2:5].in_words(1) == found[-5].in_words() == found.in_words(3)
    assert str(found).splitlines()[:-1] == [found.in_words(row) for row in range(5)]
    assert str(found).splitlines()[-1] == "... and 3 more rows: use [i] or in_words(i) for one, table() for all."
    assert len(repr(found)) < 80
    for row in (8, -9):
        with pytest.raises(IndexError, match=f"there is no row {row}: this result has the rows 0 to 7"):
            found.in_words(row)
        with pytest.raises(IndexError, match="there is no row"):
            found[row]


def test_one_deviation_is_singular(circle):
    """The noun is singular if the rounded distance is 1; changes that are not named are counted."""
    model, X = circle
    found = model.counterfactual(X[:1])
    assert "(1 standard deviation away)" in replace(found, distances=np.ones(1)).in_words()
    assert "(1.5 standard deviations away)" in replace(found, distances=np.array([1.5])).in_words()
    assert " and 1 smaller change (" in found.in_words(max_features=1)


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
    """The message names the parameter, the value and what is allowed."""
    model, X = circle
    with pytest.raises(ValueError, match=message):
        model.counterfactual(X[:2], **arguments)
