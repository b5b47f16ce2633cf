"""The searches, grids and folds of the baselines."""

import itertools
import sys

import numpy as np
import pytest

from softpolytope.datasets import make_circle
from softpolytope.paper.baselines import BASELINES, RelevanceVectorClassifier
from softpolytope.paper.baselines import _adaptive_hyperplanes as adaptive_hyperplanes
from softpolytope.paper.baselines import _convex_polytope as convex_polytope
from softpolytope.paper.baselines import _logistic_regression as logistic_regression
from softpolytope.paper.baselines import _relevance_vectors as relevance_vectors
from softpolytope.paper.baselines import _support_vectors as support_vectors
from softpolytope.paper.baselines._common import compiled, first_rise


def test_search_stops_at_the_first_rise():
    """Values after a rise are not tried; a tie goes on and keeps the earlier value."""
    errors = {1: 0.5, 3: 0.4, 5: 0.4, 10: 0.3, 20: 0.35, 40: 0.0}
    tried = []

    def error(value):
        tried.append(value)
        return errors[value]

    assert first_rise(errors, error) == (10, 0.3)
    assert tried == [1, 3, 5, 10, 20]
    assert first_rise([3, 5], errors.get) == (3, 0.4)


def test_grids_and_folds_are_the_papers():
    """Of its appendix; the number of folds of AMM is not in it."""
    powers = [2.0**power for power in range(-5, 6)]
    halves = [2.0 ** (power / 2.0) for power in range(-20, 21)]
    assert list(logistic_regression.C_GRID) == [2.0**power for power in range(-10, 16)]
    assert list(support_vectors.POWERS) == powers
    assert support_vectors.GIVEN == {"ijcnn1": {"C": 32.0, "gamma": 2.0}, "a9a": {"C": 8.0, "gamma": 0.03125}}
    assert list(relevance_vectors.WIDTHS) == halves
    assert list(relevance_vectors.WIDTHS_ON_LARGE_SETS) == halves[10:31]
    assert list(adaptive_hyperplanes.PENALTY_GRID) == pytest.approx([1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2])
    assert adaptive_hyperplanes.EPOCH_GRID == (5, 10, 20, 50, 100)
    assert list(convex_polytope.C_GRID) == pytest.approx([1e-4, 1e-3, 1e-2, 0.1, 1.0])
    assert convex_polytope.HYPERPLANE_GRID == (1, 3, 5, 10, 20, 40, 60, 80, 100)
    assert convex_polytope.PAPER_STEPS == (10_000_000, 32_000_000)
    assert {name: module.N_FOLDS for name, module in BASELINES.items()} == {
        "lr": 5, "svm": 3, "rvm": 3, "amm": 3, "cpm": 3,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["rvm", "amm", "cpm"])
def test_searches_go_through_their_grids(monkeypatch, name):
    """Every point is tried that the paper's order asks for, on the folds of the module."""
    X, y = make_circle(90, random_state=0)
    module, tried = BASELINES[name], []

    def error(estimator, _X, _y, splits):
        tried.append((len(splits), estimator.get_params()))
        return 0.5  # ties go on

    monkeypatch.setattr(module, "cross_validation_error", error)
    options = {"divisor": 20_000} if name == "cpm" else {}
    module.tune(X, y, 0, "circle", **options)
    assert {n_splits for n_splits, _ in tried} == {module.N_FOLDS}
    points = [parameters for _, parameters in tried]
    if name == "rvm":
        assert [item["width"] for item in points] == relevance_vectors.informative_widths(X, relevance_vectors.WIDTHS)
        assert len(points) > 20
    elif name == "amm":
        grid = itertools.product(module.PENALTY_GRID, module.EPOCH_GRID)
        assert [(item["penalty"], item["n_epochs"]) for item in points] == list(grid)
    else:
        grid = itertools.product((0, 1), module.C_GRID, module.HYPERPLANE_GRID)
        found = [(item["outer"], item["C"] / 20_000, item["n_hyperplanes"]) for item in points]
        assert np.array(found) == pytest.approx(np.array(list(grid)))


def test_polytope_entropies_are_tenths_of_the_hyperplanes(monkeypatch):
    """After C and K: h of log(K / 10), ..., log(9 K / 10), those above zero."""
    X, y = make_circle(60, random_state=0)
    tried = []

    def error(estimator, *_):
        tried.append(estimator.min_entropy)
        return abs(estimator.n_hyperplanes - 10)

    monkeypatch.setattr(convex_polytope, "cross_validation_error", error)
    convex_polytope.tune(X, y, 0, "circle", divisor=20_000)
    known = [np.log(tenths * 10 / 10.0) for tenths in range(2, 10)]
    assert [value for value in tried if value > 0.0] == pytest.approx([*known, *known])


def test_all_five_are_listed():
    """Every baseline of the paper's table is there, with the two functions."""
    assert list(BASELINES) == ["lr", "svm", "rvm", "amm", "cpm"]
    assert all(callable(module.tune) for module in BASELINES.values())


@pytest.mark.parametrize("package", ["numba", "fastrvm"])
def test_missing_packages_are_named_with_the_extra(monkeypatch, package):
    """Without numba or fastrvm the error says what to install."""
    monkeypatch.setitem(sys.modules, package, None)
    X, y = make_circle(40, random_state=0)
    with pytest.raises(ImportError, match=rf"{package}: pip install softpolytope\[paper\]"):
        compiled(len) if package == "numba" else RelevanceVectorClassifier().fit(X, y)
