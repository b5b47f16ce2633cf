"""Decision maps."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from softpolytope import SumSoftplusClassifier
from softpolytope.geometry import criterion_offsets, n_criteria_met, n_yes
from softpolytope.inspection.displays import DecisionDisplay, Plane
from softpolytope.inspection.displays import _drawing as drawing
from softpolytope.inspection.displays._experts import HalfSpaceLine, Region


def test_probability(summed, circle):
    """The map has the prediction of every cell, from the bottom up."""
    display = DecisionDisplay.from_estimator(summed, *circle, n_cells=20)
    expected = summed.predict_proba(display.view.rows())[:, 1]
    np.testing.assert_array_equal(display.values.ravel(), expected)
    assert display.view.rows()[1, 0] > display.view.rows()[0, 0]
    assert display.view.rows()[20, 1] > display.view.rows()[0, 1]
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), display.values)
    assert display.ax_.images[0].get_clim() == (0.0, 1.0)
    assert display.colorbar_.ax.get_ylabel() == "P(out)"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("feature 0", "feature 1")


def test_other_responses(stacked, circle):
    """Deviation, counts and criteria equal those of the posterior and of the geometry."""
    X, y = circle
    made = {
        name: DecisionDisplay.from_estimator(stacked, X, y, response=name, n_cells=12, experts=None)
        for name in ("deviation", "count", "count_deviation", "criteria", "criteria_deviation")
    }
    rows = made["count"].view.rows()
    labeling = stacked.posterior_.regressions[0].labelings[0]
    every = [labeling.draws[number] for number in range(5)]
    counts = np.array([n_yes(draw, rows) for draw in every])
    expected = {
        "deviation": stacked.predict_proba_draws(rows).std(axis=0),
        "count": n_yes(labeling.best, rows),
        "count_deviation": counts.std(axis=0),
        "criteria": n_criteria_met(labeling.best, rows)[np.argmax(labeling.best.expert_weights)],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(made[name].values.ravel(), values, atol=1e-12)
    mean = DecisionDisplay.from_estimator(stacked, X, response="count", estimate="mean", n_cells=12)
    np.testing.assert_allclose(mean.values.ravel(), counts.mean(axis=0))
    assert made["criteria_deviation"].values.shape == (12, 12)


def test_one_labeling_alone(summed, circle):
    """Labeling 1 is the model of the opposite labels, in the opposite colors."""
    X, y = circle
    display = DecisionDisplay.from_estimator(summed, X, y, labeling=1, estimate="best", n_cells=10)
    best = summed.posterior_.regressions[0].labelings[1].best
    np.testing.assert_allclose(display.values.ravel(), -np.expm1(-best.rates(display.view.rows())[0]))
    assert display.colorbar_.ax.get_ylabel() == "P(in)"
    colors = [
        DecisionDisplay.from_estimator(summed, X, labeling=side, n_cells=4).ax_.images[0].get_cmap()(0.0)
        for side in (0, 1)
    ]
    assert colors[0] != colors[1]
    swapped = DecisionDisplay.from_estimator(summed, X, y, target="in", labeling=0, estimate="best", n_cells=10)
    np.testing.assert_array_equal(swapped.values, display.values)


def test_rows(summed, circle):
    """The dots are the rows, those of the target first; without labels all look the same."""
    X, y = circle
    target, others = DecisionDisplay.from_estimator(summed, X, y, experts=None, n_cells=5).ax_.collections[-2:]
    np.testing.assert_array_equal(target.get_offsets(), X[y == "out"])
    np.testing.assert_array_equal(others.get_offsets(), X[y == "in"])
    assert [target.get_label(), others.get_label()] == ["out", "in"]
    plain = DecisionDisplay.from_estimator(summed, X, experts=None, n_cells=5).ax_.collections[-1]
    assert len(plain.get_offsets()) == 120


def test_lines_are_the_criteria(summed, circle):
    """The criterion is just met at the ends of a line, on the border of the view, and met on the side of the ticks."""
    display = DecisionDisplay.from_estimator(summed, *circle, n_cells=40)
    assert display.experts
    left, right, bottom, top = display.view.extent
    for line in display.experts:
        assert isinstance(line, HalfSpaceLine)
        best = summed.posterior_.regressions[0].labelings[line.labeling].best
        expert = np.argsort(-best.expert_weights, kind="stable")[line.expert - 1]
        beta = best.coefficients[expert, line.layer]
        offset = criterion_offsets(best.expert_weights, 0.5, 1)[expert, line.layer]
        excess = beta[0] + line.ends @ beta[1:] - offset
        np.testing.assert_allclose(excess, 0.0, atol=1e-8 * np.abs(beta).max())
        along = line.ends[1] - line.ends[0]
        assert beta[1:] @ [-along[1], along[0]] > 0.0
        is_on_border = np.isclose(line.ends, [[left, bottom]]) | np.isclose(line.ends, [[right, top]])
        assert is_on_border.any(axis=1).all()
    drawn = [line for line in display.ax_.lines if len(line.get_xdata()) == 2]
    assert len(drawn) == len(display.experts)
    styles = [drawing.SIDE_DASHES[line.labeling] for line in display.experts]
    assert [line.get_linestyle() for line in drawn] == styles
    pairs = zip(display.experts, drawn, strict=True)
    colors = {(item.labeling, item.expert): line.get_color() for item, line in pairs}
    assert len(set(colors.values())) == min(len(colors), len(drawing.EXPERT_COLORS))


def test_regions(stacked, circle):
    """With several layers the borders of regions are drawn by default; lines or nothing can be chosen."""
    X, y = circle
    display = DecisionDisplay.from_estimator(stacked, X, y, labeling=0, n_cells=30)
    assert display.experts
    assert all(isinstance(item, Region) for item in display.experts)
    best = stacked.posterior_.regressions[0].labelings[0].best
    if len(display.experts) == len(best.expert_weights):
        total = sum((item.margin > 0.0).astype(int) for item in display.experts)
        np.testing.assert_array_equal(total.ravel(), n_yes(best, display.view.rows()))
    lines = DecisionDisplay.from_estimator(stacked, X, y, experts="lines", n_cells=30)
    assert all(isinstance(item, HalfSpaceLine) for item in lines.experts)
    assert DecisionDisplay.from_estimator(stacked, X, y, experts=None, n_cells=30).experts == []
    assert DecisionDisplay.from_estimator(stacked, X, y, response="count", n_cells=30).experts == []


def test_contour_at_the_threshold(summed, circle):
    """The contour is drawn only if the probability crosses the threshold."""
    name = "P(out) = 0.5"
    display = DecisionDisplay.from_estimator(summed, *circle, experts=None, n_cells=30)
    assert name in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    paths = display.ax_.collections[0].get_paths()
    assert np.abs(summed.predict_proba(paths[0].vertices)[:, 1] - 0.5).max() < 0.1
    display = DecisionDisplay.from_estimator(summed, *circle, threshold=0.9999, experts=None, n_cells=30)
    assert len(display.ax_.collections) == 2


def test_pair_of_features(several):
    """Two features are given by name or number; the others stay at their medians or at given values."""
    model, X, y = several
    display = DecisionDisplay.from_estimator(model, X, y, view=("depth", "height"), target="bee", n_cells=8)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("depth", "height")
    rows = pd.DataFrame(display.view.rows(), columns=X.columns)
    assert (rows["width"] == X["width"].median()).all()
    np.testing.assert_allclose(display.values.ravel(), model.predict_proba(rows)[:, 1])
    assert display.view.horizontal[0] < X["depth"].min()
    by_number = DecisionDisplay.from_estimator(model, X, y, view=(2, 0), target="bee", n_cells=8)
    np.testing.assert_array_equal(by_number.values, display.values)
    at = DecisionDisplay.from_estimator(model, X, y, at=[0.0, 0.0, 7.0], target="bee", n_cells=8)
    assert (at.view.rows()[:, 2] == 7.0).all()
    spread = DecisionDisplay.from_estimator(model, X, y, response="deviation", target="bee", n_cells=8)
    rows = pd.DataFrame(spread.view.rows(), columns=X.columns)
    np.testing.assert_allclose(spread.values.ravel(), model.predict_proba_draws(rows)[:, :, 1].std(axis=0))


@pytest.mark.parametrize("response", ["deviation", "count_deviation", "criteria_deviation"])
def test_spread_of_plain_modes_is_labeled(circle, summed, response):
    """The color bar says so for plain modes, but not for draws or bootstrapped modes."""
    X, y = circle
    plain = SumSoftplusClassifier(max_experts=3, inference="map", n_restarts=2, random_state=0).fit(X, y)
    bootstrapped = clone(plain).set_params(inference="bootstrap", n_restarts=5, n_members=4).fit(X, y)
    for model, is_told in ((plain, True), (bootstrapped, False), (summed, False)):
        display = DecisionDisplay.from_estimator(model, X, y, response=response, n_cells=4)
        assert ("over modes, not the posterior" in display.colorbar_.ax.get_ylabel()) is is_told


def test_plane(several):
    """Any plane can be shown, with its labels; rows are projected onto it."""
    model, X, y = several
    plane = Plane(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 2.0]), "both", "twice")
    display = DecisionDisplay.from_estimator(model, X, y, view=plane, target="cat", n_cells=8)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("both", "twice")
    gaps = X.to_numpy() - plane.rows_at(display.view.points)
    np.testing.assert_allclose(gaps @ plane.directions.T, 0.0, atol=1e-10)
    np.testing.assert_allclose(display.view.rows() @ [1.0, -1.0, 0.0], -1.0, atol=1e-12)


def test_given_axes(summed, circle):
    """The display is drawn on given axes, and by `plot` on others."""
    _, axes = plt.subplots(1, 2)
    display = DecisionDisplay.from_estimator(summed, *circle, ax=axes[0], n_cells=5, colorbar=False, legend=False)
    assert display.ax_ is axes[0]
    assert display.colorbar_ is None
    assert axes[0].get_legend() is None
    assert display.plot(axes[1]) is display
    assert display.ax_ is axes[1]
    assert display.figure_ is axes[1].figure


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"response": "price"}, "response must be one of"),
        ({"estimate": "median"}, "estimate must be"),
        ({"threshold": 1.0}, "threshold must be a number between 0 and 1"),
        ({"labeling": 2}, "labeling must be from 0 to 1; got 2"),
        ({"target": "fish"}, "target must be one of the classes"),
        ({"experts": "planes"}, "experts must be"),
        ({"n_cells": 1}, "n_cells must be at least 2"),
        ({"view": (0, 0)}, "two different features"),
        ({"view": (0, 5)}, "view must name features of the model"),
        ({"view": ("height", 1)}, "view must name features of the model"),
        ({"view": "01"}, "view must be a pair"),
        ({"at": [0.0]}, "at must hold 2 numbers"),
        ({"view": Plane(np.zeros(3), np.eye(3)[0], np.eye(3)[1])}, "the plane must be one of 2 features; got 3"),
    ],
)
def test_bad_arguments(summed, circle, how, message):
    """The message names what is wrong."""
    with pytest.raises(ValueError, match=message):
        DecisionDisplay.from_estimator(summed, *circle, **how)


def test_bad_rows(summed, circle, several):
    """Rows are validated by the classifier, labels must be known, and several classes need a target."""
    X, y = circle
    with pytest.raises(ValueError, match="features"):
        DecisionDisplay.from_estimator(summed, X[:, :1], y)
    with pytest.raises(ValueError, match="not one of the classes"):
        DecisionDisplay.from_estimator(summed, X, np.full(len(X), "fish"))
    model, X, y = several
    with pytest.raises(ValueError, match="feature names"):
        DecisionDisplay.from_estimator(model, X.rename(columns={"depth": "age"}), y, target="ant")
    with pytest.raises(ValueError, match="target must be one of the classes"):
        DecisionDisplay.from_estimator(model, X, y)
