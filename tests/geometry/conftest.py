"""Fitted models of the circle."""

import pytest

from softpolytope import SumSoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.datasets import make_circle


@pytest.fixture(scope="module")
def rows():
    """Return the rows and labels of a circle."""
    return make_circle(300, random_state=0)


@pytest.fixture(scope="module")
def sum_model(rows):
    """Return a model with one layer and one labeling."""
    return SumSoftplusClassifier(symmetric=False, random_state=0, inference="map", n_restarts=2).fit(*rows)


@pytest.fixture(scope="module")
def stack_model(rows):
    """Return a model with three layers and both labelings."""
    return SumStackSoftplusClassifier(random_state=0, inference="map", n_restarts=2).fit(*rows)


@pytest.fixture(scope="module")
def circle():
    """Return a model of the circle and its rows."""
    X, y = make_circle(300, random_state=0)
    return SumStackSoftplusClassifier(random_state=0, inference="map", n_restarts=2).fit(X, y), X
