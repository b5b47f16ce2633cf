"""Small models that reports are written of."""

import warnings

import numpy as np
import pytest

from softpolytope import SoftplusClassifier, SumSoftplusClassifier, SumStackSoftplusClassifier
from softpolytope.datasets import make_circle


def ring(n_rows, seed=0):
    """Rows of a ring around a disc, labeled by name, in any order."""
    X, y = make_circle(n_rows, random_state=seed)
    order = np.random.default_rng(seed).permutation(n_rows)
    return X[order], np.where(y == 1, "ring", "disc")[order]


def three_classes(n_rows):
    """Three clouds in three features."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n_rows)
    return rng.normal(size=(n_rows, 3)) + 1.5 * np.eye(3)[y], y


@pytest.fixture(scope="session")
def modes():
    """Modes of stacks for both labelings, and test rows."""
    X, y = ring(300)
    return (
        SumStackSoftplusClassifier(inference="map", n_restarts=3, random_state=0).fit(X[:150], y[:150]),
        X[150:],
        y[150:],
    )


@pytest.fixture(scope="session")
def chains():
    """Two short chains."""
    X, y = ring(160)
    model = SumSoftplusClassifier(max_experts=5, inference="gibbs", n_sweeps=80, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains so short may well disagree
        return model.fit(X[:80], y[:80]), X[80:], y[80:]


@pytest.fixture(scope="session")
def several():
    """Three classes, one regression each, by short chains."""
    X, y = three_classes(160)
    model = SumSoftplusClassifier(max_experts=3, inference="gibbs", n_sweeps=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X[:100], y[:100]), X[100:], y[100:]


@pytest.fixture(scope="session")
def single():
    """One feature, one expert, one labeling, predicting with the best mode."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 1))
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)
    return SoftplusClassifier(symmetric=False, estimate="best", random_state=0).fit(X[:60], y[:60]), X[60:], y[60:]


@pytest.fixture(scope="session")
def members():
    """Members of a bootstrap, for three classes and both labelings."""
    X, y = three_classes(220)
    model = SumStackSoftplusClassifier(max_experts=3, n_members=6, random_state=0)
    return model.fit(X[:160], y[:160]), X[160:], y[160:]


@pytest.fixture(params=["modes", "chains", "several", "single", "members"])
def any_model(request):
    """Each of them in turn."""
    return request.getfixturevalue(request.param)
