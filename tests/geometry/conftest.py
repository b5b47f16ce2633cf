"""Models of the circle that several tests of the room share."""

import pytest

from softpolytope import SumSoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.datasets import make_circle


@pytest.fixture(scope="module")
def rows():
    """The circle."""
    return make_circle(300, random_state=0)


@pytest.fixture(scope="module")
def sum_model(rows):
    """One layer, one labeling."""
    return SumSoftplusClassifier(symmetric=False, random_state=0, n_restarts=2).fit(*rows)


@pytest.fixture(scope="module")
def stack_model(rows):
    """Three layers, both labelings."""
    return SumStackSoftplusClassifier(random_state=0, n_restarts=2).fit(*rows)


@pytest.fixture(scope="module")
def circle():
    """A model of the circle and its rows."""
    X, y = make_circle(300, random_state=0)
    return SumStackSoftplusClassifier(random_state=0, n_restarts=2).fit(X, y), X
