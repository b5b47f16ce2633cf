"""The plane on which a row's prediction can be seen."""

import numpy as np
import pandas as pd
import pytest

from softpolytope import SumSoftplusClassifier
from softpolytope.inspection.displays import explanation_plane


@pytest.fixture(scope="module")
def model_and_rows():
    """Return a model of four features with very different scales, two of them relevant, and its rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * [1.0, 100.0, 0.01, 1.0]
    y = np.hypot(X[:, 0], X[:, 1] / 100.0) > 1.2
    return SumSoftplusClassifier(random_state=0, inference="map", n_restarts=2).fit(X, y), X


def test_row_is_at_the_origin_and_the_way_out_is_horizontal(model_and_rows):
    """(0, 0) is the row; the nearest point with another prediction is straight to the right, at its distance."""
    model, X = model_and_rows
    plane = explanation_plane(model, X[3])
    found = model.counterfactual(X[3:4])
    np.testing.assert_allclose(plane.rows_at(np.zeros((1, 2))), X[3:4])
    np.testing.assert_allclose(plane.rows_at(np.array([[found.distances[0], 0.0]])), found.points, rtol=1e-9)
    assert "towards" in plane.horizontal_label


def test_axes_are_standard_deviations_at_right_angles(model_and_rows):
    """Both directions have length one and are orthogonal in standard deviations."""
    model, X = model_and_rows
    plane = explanation_plane(model, X[3])
    scaled = plane.directions / X.std(axis=0)
    np.testing.assert_allclose(scaled @ scaled.T, np.eye(2), atol=1e-9)
    # Rows are projected in standard deviations too: no point of the plane is nearer.
    points = plane.project(X[:20])
    gaps = (plane.rows_at(points) - X[:20]) / X.std(axis=0)
    np.testing.assert_allclose(gaps @ scaled.T, 0.0, atol=1e-9)


def test_data_frames_and_single_rows_only(model_and_rows):
    """A data frame of one row is accepted; two rows are refused."""
    model, X = model_and_rows
    names = ["a", "b", "c", "d"]
    named = SumSoftplusClassifier(random_state=0, inference="map", n_restarts=1).fit(
        pd.DataFrame(X, columns=names), model.predict(X)
    )
    assert any(name in explanation_plane(named, pd.DataFrame(X[:1], columns=names)).horizontal_label for name in names)
    with pytest.raises(ValueError, match="takes one row; got 2"):
        explanation_plane(model, X[:2])


def test_one_feature_has_no_plane(rng):
    """A model of one feature gives an error."""
    X = rng.normal(size=(80, 1))
    model = SumSoftplusClassifier(random_state=0, inference="map", n_restarts=1).fit(X, X[:, 0] > 0.2)
    with pytest.raises(ValueError, match="a plane needs two features"):
        explanation_plane(model, X[0])
