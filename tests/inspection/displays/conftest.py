"""Fitted models for the displays; figures are closed after each test."""

import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from softpolytope import SumSoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.datasets import make_circle

mpl.use("Agg")

CHAIN = {"inference": "gibbs", "n_sweeps": 60, "n_draws": 5, "random_state": 0}


@pytest.fixture(autouse=True)
def _closed_figures():
    """Close all figures after a test."""
    yield
    plt.close("all")


@pytest.fixture(scope="package")
def chain():
    """Parameters of a short chain."""
    return CHAIN


@pytest.fixture(scope="package")
def circle():
    """Return rows of a ring, "out", around a disc, "in"."""
    X, y = make_circle(120, random_state=0)
    return X, np.where(y == 1, "out", "in")


@pytest.fixture(scope="package")
def summed(circle):
    """Return a sum model fitted by chains, with one layer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains this short disagree
        return SumSoftplusClassifier(max_experts=6, n_chains=2, **CHAIN).fit(*circle)


@pytest.fixture(scope="package")
def stacked(circle):
    """Return a model with two layers fitted by a chain."""
    return SumStackSoftplusClassifier(max_experts=4, n_layers=2, n_chains=1, **CHAIN).fit(*circle)


@pytest.fixture(scope="package")
def several():
    """Return a model of three classes fitted by modes, and its rows with three named features."""
    X, y = make_blobs(90, n_features=3, centers=3, random_state=0)
    X = pd.DataFrame(X, columns=["height", "width", "depth"])
    names = np.array(["ant", "bee", "cat"])[y]
    return (
        SumStackSoftplusClassifier(max_experts=3, inference="map", n_restarts=2, random_state=0).fit(X, names),
        X,
        names,
    )
