"""Displays: what is on the axes, and what they refuse."""

import builtins
import itertools
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from softpolytope import StackSoftplusClassifier, SumSoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.datasets import make_circle
from softpolytope.geometry import criterion_offsets, linear_predictors, n_criteria_met, n_yes
from softpolytope.inspection.displays import (
    DecisionDisplay,
    ExpertWeightsDisplay,
    LatentCountsDisplay,
    LogLikelihoodDisplay,
    Plane,
    ReliabilityDisplay,
)
from softpolytope.inspection.displays import _drawing as drawing
from softpolytope.inspection.displays._experts import HalfSpaceLine, Region, clip_line
from softpolytope.model._expected_counts import expected_counts

mpl.use("Agg")

CHAIN = {"inference": "gibbs", "n_sweeps": 60, "n_draws": 5, "random_state": 0}


@pytest.fixture(autouse=True)
def _closed_figures():
    """Figures are closed after use."""
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def circle():
    """A ring, "out", around a disc, "in"."""
    X, y = make_circle(120, random_state=0)
    return X, np.where(y == 1, "out", "in")


@pytest.fixture(scope="module")
def summed(circle):
    """Chains of one layer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains this short disagree
        return SumSoftplusClassifier(max_experts=6, n_chains=2, **CHAIN).fit(*circle)


@pytest.fixture(scope="module")
def stacked(circle):
    """A chain of two layers."""
    return SumStackSoftplusClassifier(max_experts=4, n_layers=2, n_chains=1, **CHAIN).fit(*circle)


@pytest.fixture(scope="module")
def several():
    """Three classes, three features with names, modes."""
    X, y = make_blobs(90, n_features=3, centers=3, random_state=0)
    X = pd.DataFrame(X, columns=["height", "width", "depth"])
    names = np.array(["ant", "bee", "cat"])[y]
    return SumStackSoftplusClassifier(max_experts=3, n_restarts=2, random_state=0).fit(X, names), X, names


def cells(display):
    """The rows at the cells of a map."""
    return display.view.rows()


class TestDecisionDisplay:
    """Maps."""

    def test_probability(self, summed, circle):
        """The map holds what the classifier predicts, cell by cell, from below upwards."""
        display = DecisionDisplay.from_estimator(summed, *circle, n_cells=20)
        expected = summed.predict_proba(cells(display))[:, 1]
        np.testing.assert_array_equal(display.values.ravel(), expected)
        assert cells(display)[1, 0] > cells(display)[0, 0]
        assert cells(display)[20, 1] > cells(display)[0, 1]
        np.testing.assert_array_equal(display.ax_.images[0].get_array(), display.values)
        assert display.ax_.images[0].get_clim() == (0.0, 1.0)
        assert display.colorbar_.ax.get_ylabel() == "P(out)"
        assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("feature 0", "feature 1")

    def test_other_responses(self, stacked, circle):
        """Deviation, counts and criteria are those of the posterior and of the geometry."""
        X, y = circle
        made = {
            name: DecisionDisplay.from_estimator(stacked, X, y, response=name, n_cells=12, experts=None)
            for name in ("deviation", "count", "count_deviation", "criteria", "criteria_deviation")
        }
        rows = cells(made["count"])
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

    def test_one_labeling_alone(self, summed, circle):
        """Labeling 1 is the model of the opposite labels, in the opposite colors."""
        X, y = circle
        display = DecisionDisplay.from_estimator(summed, X, y, labeling=1, estimate="best", n_cells=10)
        best = summed.posterior_.regressions[0].labelings[1].best
        np.testing.assert_allclose(display.values.ravel(), -np.expm1(-best.rate_function()(cells(display))[0]))
        assert display.colorbar_.ax.get_ylabel() == "P(in)"
        colors = [
            DecisionDisplay.from_estimator(summed, X, labeling=side, n_cells=4).ax_.images[0].get_cmap()(0.0)
            for side in (0, 1)
        ]
        assert colors[0] != colors[1]
        swapped = DecisionDisplay.from_estimator(summed, X, y, target="in", labeling=0, estimate="best", n_cells=10)
        np.testing.assert_array_equal(swapped.values, display.values)

    def test_rows(self, summed, circle):
        """Dots are the rows, the target's first; without labels they are all alike."""
        X, y = circle
        target, others = DecisionDisplay.from_estimator(summed, X, y, experts=None, n_cells=5).ax_.collections[-2:]
        np.testing.assert_array_equal(target.get_offsets(), X[y == "out"])
        np.testing.assert_array_equal(others.get_offsets(), X[y == "in"])
        assert [target.get_label(), others.get_label()] == ["out", "in"]
        plain = DecisionDisplay.from_estimator(summed, X, experts=None, n_cells=5).ax_.collections[-1]
        assert len(plain.get_offsets()) == 120

    def test_lines_are_the_criteria(self, summed, circle):
        """Ends of a line lie on the border of the view, where the criterion is just met, and ticks where it is."""
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

    def test_regions(self, stacked, circle):
        """With layers the borders of the regions are drawn; lines and nothing on demand."""
        X, y = circle
        display = DecisionDisplay.from_estimator(stacked, X, y, labeling=0, n_cells=30)
        assert display.experts
        assert all(isinstance(item, Region) for item in display.experts)
        best = stacked.posterior_.regressions[0].labelings[0].best
        if len(display.experts) == len(best.expert_weights):
            total = sum((item.margin > 0.0).astype(int) for item in display.experts)
            np.testing.assert_array_equal(total.ravel(), n_yes(best, cells(display)))
        lines = DecisionDisplay.from_estimator(stacked, X, y, experts="lines", n_cells=30)
        assert all(isinstance(item, HalfSpaceLine) for item in lines.experts)
        assert DecisionDisplay.from_estimator(stacked, X, y, experts=None, n_cells=30).experts == []
        assert DecisionDisplay.from_estimator(stacked, X, y, response="count", n_cells=30).experts == []

    def test_contour_at_the_threshold(self, summed, circle):
        """There is one where the probability crosses the threshold, none where it does not."""
        name = "P(out) = 0.5"
        display = DecisionDisplay.from_estimator(summed, *circle, experts=None, n_cells=30)
        assert name in [text.get_text() for text in display.ax_.get_legend().get_texts()]
        paths = display.ax_.collections[0].get_paths()
        assert np.abs(summed.predict_proba(paths[0].vertices)[:, 1] - 0.5).max() < 0.1
        display = DecisionDisplay.from_estimator(summed, *circle, threshold=0.9999, experts=None, n_cells=30)
        assert len(display.ax_.collections) == 2

    def test_pair_of_features(self, several):
        """By names or numbers; the others stay at the medians, or at a given row."""
        model, X, y = several
        display = DecisionDisplay.from_estimator(model, X, y, view=("depth", "height"), target="bee", n_cells=8)
        assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("depth", "height")
        rows = pd.DataFrame(cells(display), columns=X.columns)
        assert (rows["width"] == X["width"].median()).all()
        np.testing.assert_allclose(display.values.ravel(), model.predict_proba(rows)[:, 1])
        assert display.view.horizontal[0] < X["depth"].min()
        by_number = DecisionDisplay.from_estimator(model, X, y, view=(2, 0), target="bee", n_cells=8)
        np.testing.assert_array_equal(by_number.values, display.values)
        at = DecisionDisplay.from_estimator(model, X, y, at=[0.0, 0.0, 7.0], target="bee", n_cells=8)
        assert (cells(at)[:, 2] == 7.0).all()
        spread = DecisionDisplay.from_estimator(model, X, y, response="deviation", target="bee", n_cells=8)
        rows = pd.DataFrame(cells(spread), columns=X.columns)
        np.testing.assert_allclose(spread.values.ravel(), model.predict_proba_draws(rows)[:, :, 1].std(axis=0))

    @pytest.mark.parametrize("response", ["deviation", "count_deviation", "criteria_deviation"])
    def test_spread_of_plain_modes_is_labeled(self, circle, summed, response):
        """The color bar says that it is not the posterior's; of draws and bootstrapped modes it says nothing."""
        X, y = circle
        plain = SumSoftplusClassifier(max_experts=3, n_restarts=2, random_state=0).fit(X, y)
        bootstrapped = clone(plain).set_params(bootstrap=True).fit(X, y)
        for model, is_told in ((plain, True), (bootstrapped, False), (summed, False)):
            display = DecisionDisplay.from_estimator(model, X, y, response=response, n_cells=4)
            assert ("over modes, not the posterior" in display.colorbar_.ax.get_ylabel()) is is_told

    def test_plane(self, several):
        """Any plane, with its labels; rows are put on it by their nearest points."""
        model, X, y = several
        plane = Plane(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 2.0]), "both", "twice")
        display = DecisionDisplay.from_estimator(model, X, y, view=plane, target="cat", n_cells=8)
        assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("both", "twice")
        gaps = X.to_numpy() - plane.rows_at(display.view.points)
        np.testing.assert_allclose(gaps @ plane.directions.T, 0.0, atol=1e-10)
        np.testing.assert_allclose(cells(display) @ [1.0, -1.0, 0.0], -1.0, atol=1e-12)

    def test_given_axes(self, summed, circle):
        """Axes given are drawn on, again by plot on others."""
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
    def test_bad_arguments(self, summed, circle, how, message):
        """Errors say what was wrong."""
        with pytest.raises(ValueError, match=message):
            DecisionDisplay.from_estimator(summed, *circle, **how)

    def test_bad_rows(self, summed, circle, several):
        """Rows go through the classifier's own checks; labels must be known; several classes need a target."""
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


class TestOtherDisplays:
    """Weights, traces, counts, calibration."""

    def test_expert_weights(self, summed):
        """A bar per expert and labeling, falling, those without weight included."""
        display = ExpertWeightsDisplay.from_estimator(summed, with_empty=True)
        assert list(display.weights) == ["out", "in"]
        bars = [[bar.get_height() for bar in group] for group in display.ax_.containers]
        for heights, weights in zip(bars, summed.expert_weights_, strict=True):
            np.testing.assert_allclose(heights[: len(weights)], np.sort(weights)[::-1])
            assert len(heights) == 6
        names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert names == ["experts for out", "experts for in"]
        assert display.plot(log=True).ax_.get_yscale() == "log"
        best = summed.posterior_.regressions[0].labelings[1].best
        active = ExpertWeightsDisplay.from_estimator(summed, labeling=1).weights
        assert list(active) == ["in"]
        assert (active["in"] > 0.0).sum() == best.is_active.sum()
        np.testing.assert_allclose(active["in"].sum(), best.expert_weights[best.is_active].sum())

    def test_log_likelihood(self, summed, stacked, circle):
        """A line per chain and labeling, divided by the number of rows or their weight."""
        X, _ = circle
        display = LogLikelihoodDisplay.from_estimator(summed, X)
        lines = [line for line in display.ax_.lines if len(line.get_xdata()) == 60]
        assert len(lines) == 4
        np.testing.assert_allclose(lines[1].get_ydata(), summed.log_likelihood_[0][1] / 120)
        assert display.n_burn_in == 30
        weighted = LogLikelihoodDisplay.from_estimator(stacked, X, sample_weight=np.full(120, 2.0))
        np.testing.assert_allclose(weighted.traces["in"], stacked.log_likelihood_[1] / 240)
        with pytest.raises(ValueError, match="sample_weight must hold"):
            LogLikelihoodDisplay.from_estimator(stacked, X, sample_weight=[1.0])

    def test_log_likelihood_without_rows(self, summed, circle):
        """The model knows how many rows it was fitted to, and what they weighed."""
        display = LogLikelihoodDisplay.from_estimator(summed)
        np.testing.assert_allclose(display.traces["in"], summed.log_likelihood_[1] / 120)
        model = SumSoftplusClassifier(n_chains=1, **CHAIN).fit(*circle, sample_weight=np.full(120, 0.5))
        display = LogLikelihoodDisplay.from_estimator(model)
        np.testing.assert_allclose(display.traces["in"], model.log_likelihood_[1] / 60)
        with pytest.raises(ValueError, match="without X"):
            LogLikelihoodDisplay.from_estimator(summed, sample_weight=[1.0])

    def test_log_likelihood_needs_chains(self, several):
        """Modes have no trace."""
        model, X, _ = several
        with pytest.raises(ValueError, match="requires posterior draws of chains"):
            LogLikelihoodDisplay.from_estimator(model, X, target="ant")

    def test_latent_counts(self, circle):
        """One line of T + 1 levels per expert with a part in it, never rising, the largest first."""
        X, y = circle
        model = StackSoftplusClassifier(n_layers=4, n_chains=1, **CHAIN).fit(X, y)
        display = LatentCountsDisplay.from_estimator(model, X, y, labeling=1)
        assert display.counts.shape == (1, 5)
        assert (np.diff(display.counts) <= 0.0).all()
        assert display.counts[0, -1] >= 1.0
        np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), display.counts[0])
        assert display.ax_.get_ylabel() == "mean count per row of in"
        with pytest.raises(ValueError, match="no row of out"):
            LatentCountsDisplay.from_estimator(model, X[y == "in"], y[y == "in"])

    def test_latent_counts_of_a_class(self, several):
        """Of several classes, one; experts by the numbers that they have in `polytopes`."""
        model, X, y = several
        display = LatentCountsDisplay.from_estimator(model, X, y, target="cat", labeling=1)
        assert display.name == "not cat"
        polytopes = next(item for item in model.polytopes() if item.target == "not cat")
        counts = expected_counts(linear_predictors(polytopes.draw.coefficients, X[y != "cat"].to_numpy()),
                                 polytopes.draw.expert_weights)  # fmt: skip
        assert display.experts == sorted(display.experts)
        for expert, first in zip(display.experts, display.counts[:, 0], strict=True):
            assert first == pytest.approx(counts[expert - 1, 0].mean(), rel=0.1)
        labels = [line.get_label() for line in display.ax_.lines]
        assert labels == [f"expert {expert}" for expert in display.experts]

    def test_reliability(self, rng):
        """Shares, means and Beta intervals of the bins; the histogram has all rows."""
        probabilities = rng.uniform(size=2000)
        hits = rng.uniform(size=2000) < probabilities
        display = ReliabilityDisplay.from_predictions(hits, probabilities, n_bins=5, level=0.8)
        inside = (probabilities >= 0.2) & (probabilities < 0.4)
        n, k = inside.sum(), hits[inside].sum()
        assert display.predicted[1] == pytest.approx(probabilities[inside].mean())
        assert display.observed[1] == pytest.approx(k / n)
        np.testing.assert_allclose(display.intervals[1], stats.beta(k + 0.5, n - k + 0.5).ppf([0.1, 0.9]))
        assert sum(bar.get_height() for bar in display.histogram_ax_.patches) == 2000
        quantiles = ReliabilityDisplay.from_predictions(hits, probabilities, n_bins=5, strategy="quantile")
        np.testing.assert_array_equal(quantiles.counts, 400.0)

    def test_reliability_of_extreme_predictions(self):
        """Bins without rows are left out, and an interval that misses its share is no error."""
        display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0])
        np.testing.assert_array_equal(display.observed, [0.0, 1.0])
        same = ReliabilityDisplay.from_predictions([0, 1], [0.5, 0.5], strategy="quantile")
        np.testing.assert_array_equal(same.counts, [2.0])

    def test_reliability_of_an_estimator(self, several):
        """Of a chosen class; any classifier with probabilities will do."""
        model, X, y = several
        display = ReliabilityDisplay.from_estimator(model, X, y, target="ant")
        np.testing.assert_allclose(display.probabilities, model.predict_proba(X)[:, 0])
        assert display.ax_.get_xlabel() == "predicted P(ant)"
        other = make_pipeline(LogisticRegression()).fit(X, y)
        assert ReliabilityDisplay.from_estimator(other, X, y, target="bee").name == "bee"

    def test_bad_predictions(self):
        """Errors say what was wrong."""
        for hits, probabilities in (([True], [1.5]), ([True, False], [0.5]), ([], [])):
            with pytest.raises(ValueError, match="probabilit"):
                ReliabilityDisplay.from_predictions(hits, probabilities)
        for how in ({"n_bins": 0}, {"level": 1.0}, {"strategy": "other"}):
            with pytest.raises(ValueError, match="n_bins must be at least 1"):
                ReliabilityDisplay.from_predictions([True], [0.5], **how)


EVERY = (DecisionDisplay, ExpertWeightsDisplay, LogLikelihoodDisplay, LatentCountsDisplay, ReliabilityDisplay)


@pytest.mark.parametrize("display", EVERY, ids=lambda display: display.__name__)
def test_without_matplotlib(display, summed, circle, monkeypatch):
    """The package is imported without it; a display says how to get it."""
    real = builtins.__import__

    def without(name, *rest, **named):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    arguments = {"ExpertWeightsDisplay": (), "LogLikelihoodDisplay": circle[:1]}.get(display.__name__, circle)
    with pytest.raises(ImportError, match=r"pip install softpolytope\[plots\]"):
        display.from_estimator(summed, *arguments)


@pytest.mark.parametrize("display", EVERY[:-1], ids=lambda display: display.__name__)
def test_strange_estimators(display, circle):
    """Another estimator or a pipeline is refused with a word on what to give."""
    arguments = {"ExpertWeightsDisplay": (), "LogLikelihoodDisplay": circle[:1]}.get(display.__name__, circle)
    with pytest.raises(ValueError, match="needs a classifier of softpolytope; got Pipeline"):
        display.from_estimator(make_pipeline(LogisticRegression()), *arguments)


def test_planes_are_checked():
    """Vectors of one length, finite, in two directions."""
    with pytest.raises(ValueError, match="one number per feature"):
        Plane(np.zeros(3), np.ones(2), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="two different directions"):
        Plane(np.zeros(2), np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="finite"):
        Plane(np.full(2, np.nan), np.ones(2), np.array([1.0, 0.0]))


def test_lines_outside_the_view():
    """A line that passes by, or is nowhere, has no ends."""
    bounds = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert clip_line(-5.0, np.array([1.0, 1.0]), bounds) is None
    assert clip_line(-5.0, np.array([1.0, 0.0]), bounds) is None
    assert clip_line(-np.inf, np.array([1.0, 0.0]), bounds) is None
    assert clip_line(1.0, np.zeros(2), bounds) is None
    np.testing.assert_allclose(np.sort(clip_line(-0.5, np.array([1.0, 0.0]), bounds)[:, 1]), [0.0, 1.0])


# Machado, Oliveira and Fernandes (2009), severity 1: what red- and green-blind readers see of linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array([
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998],
    ]),
    "deuteranopia": np.array([
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881],
    ]),
}  # fmt: skip


def lab(color, kind):
    """CIE L*a*b* of a color as seen with a color blindness."""
    rgb = np.array(mpl.colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(BLINDNESS[kind] @ linear, 0.0, 1.0)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(np.maximum(to_xyz @ seen / [0.9505, 1.0, 1.089], 0.008856))
    return np.array([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)])


@pytest.mark.parametrize("kind", BLINDNESS)
def test_colors_can_be_told_apart(kind):
    """Classes by far (40 units of L*a*b*), and any two of the eight experts just so (8)."""

    def distance(pair):
        return np.linalg.norm(lab(pair[0], kind) - lab(pair[1], kind))

    assert distance(drawing.SIDE_COLORS) > 40.0
    assert distance((drawing.PROBABILITY_COLORS[0], drawing.PROBABILITY_COLORS[2])) > 25.0
    assert min(map(distance, itertools.combinations(drawing.EXPERT_COLORS, 2))) > 8.0
