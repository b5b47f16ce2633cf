"""Rows and models for tests of other people's tools.

Every test here is slow, and skipped where its tool is not installed: pip install ".[test,clients]".
"""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons

from softpolytope import SumStackSoftplusClassifier

SMALL = {"max_experts": 4, "n_layers": 2, "n_members": 4, "random_state": 0}


def pytest_collection_modifyitems(items):
    """Mark the tests of this folder as slow."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def moons():
    """Two half circles and a column of noise."""
    X, y = make_moons(240, noise=0.2, random_state=0)
    return np.column_stack([X, np.random.default_rng(0).normal(size=len(y))]), y


@pytest.fixture
def classifier():
    """An unfitted classifier, small enough for tools that fit it often."""
    return SumStackSoftplusClassifier(**SMALL)


@pytest.fixture(scope="session")
def model(moons):
    """A fit to the first 160 rows."""
    X, y = moons
    return SumStackSoftplusClassifier(**SMALL).fit(X[:160], y[:160])
