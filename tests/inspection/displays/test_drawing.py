"""Requirements and colors that all displays share."""

import builtins
import itertools

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from softpolytope.inspection.displays import (
    DecisionDisplay,
    ExpertWeightsDisplay,
    LatentCountsDisplay,
    LogLikelihoodDisplay,
    ReliabilityDisplay,
)
from softpolytope.inspection.displays import _drawing as drawing

EVERY = (DecisionDisplay, ExpertWeightsDisplay, LogLikelihoodDisplay, LatentCountsDisplay, ReliabilityDisplay)


@pytest.mark.parametrize("display", EVERY, ids=lambda display: display.__name__)
def test_without_matplotlib(display, summed, circle, monkeypatch):
    """The package can be imported without it; a display raises with the command that installs it."""
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
    """Other estimators and pipelines are refused with an instruction."""
    arguments = {"ExpertWeightsDisplay": (), "LogLikelihoodDisplay": circle[:1]}.get(display.__name__, circle)
    with pytest.raises(ValueError, match="needs a classifier of softpolytope; got Pipeline"):
        display.from_estimator(make_pipeline(LogisticRegression()), *arguments)


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
    """Return CIE L*a*b* of a color as seen with a kind of color blindness."""
    rgb = np.array(mpl.colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(BLINDNESS[kind] @ linear, 0.0, 1.0)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(np.maximum(to_xyz @ seen / [0.9505, 1.0, 1.089], 0.008856))
    return np.array([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)])


@pytest.mark.parametrize("kind", BLINDNESS)
def test_colors_are_distinguishable(kind):
    """Classes differ by more than 40 units of L*a*b*, and any two of the eight experts by more than 8."""

    def distance(pair):
        return np.linalg.norm(lab(pair[0], kind) - lab(pair[1], kind))

    assert distance(drawing.SIDE_COLORS) > 40.0
    assert distance((drawing.PROBABILITY_COLORS[0], drawing.PROBABILITY_COLORS[2])) > 25.0
    assert min(map(distance, itertools.combinations(drawing.EXPERT_COLORS, 2))) > 8.0
