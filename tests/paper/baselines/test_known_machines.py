"""Baselines that others wrote: they get the paper's grids, and the search is the plain one."""

import itertools
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from softpolytope.datasets import make_circle, make_double_moon
from softpolytope.paper.baselines import BASELINES, RelevanceVectorClassifier
from softpolytope.paper.baselines import _adaptive_hyperplanes as adaptive_hyperplanes
from softpolytope.paper.baselines import _convex_polytope as convex_polytope
from softpolytope.paper.baselines import _logistic_regression as logistic_regression
from softpolytope.paper.baselines import _relevance_vectors as relevance_vectors
from softpolytope.paper.baselines import _support_vectors as support_vectors
from softpolytope.paper.baselines._common import compiled, first_rise, make_folds


def test_logistic_regression_is_the_plain_search():
    """C is what a grid search over 26 powers of two chooses, with LIBLINEAR's own tolerance."""
    X, y = make_double_moon(200, random_state=0)
    model, n_experts, chosen = logistic_regression.tune(X, y, 0, "moons")
    grid = {"C": 2.0 ** np.arange(-10, 16)}
    machine = LogisticRegression(solver="liblinear", tol=0.01, random_state=0)
    plain = GridSearchCV(machine, grid, cv=make_folds(y, 5, 0)).fit(X, y)
    assert chosen == plain.best_params_
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X))
    assert n_experts == 1


def test_logistic_regression_minimizes_its_loss():
    """Half the squared norm, bias included, and C times the losses have a slope as small as LIBLINEAR asks for.

    That is the tolerance times the share of the smaller class, here one half, of the slope where it begins, at zero.
    """
    X, y = make_double_moon(200, random_state=0)
    model, _, chosen = logistic_regression.tune(X, y, 0, "moons")
    weights = np.append(model.coef_[0], model.intercept_)
    design, signs = np.column_stack([X, np.ones(len(X))]), 2.0 * y - 1.0

    def slope(weights):
        pulls = signs / (1.0 + np.exp(signs * (design @ weights)))
        return np.linalg.norm(weights - chosen["C"] * pulls @ design)

    assert slope(weights) <= 0.01 * 0.5 * slope(np.zeros(3))
    assert slope(0.9 * weights) > 0.01 * 0.5 * slope(np.zeros(3))


def test_two_support_vectors_have_a_known_machine():
    """Of two rows both support, with weights 1 / (1 - k), k the kernel between them; C = 32 is no bound for it."""
    X, y = np.array([[0.0, 0.0], [0.5, 0.0]]), np.array([0, 1])
    model, n_experts, _ = support_vectors.tune(X, y, 0, "ijcnn1")
    places = np.array([[0.1, 0.2], [0.25, -1.0], [0.6, 0.3]])
    kernels = [np.exp(-2.0 * np.sum((places - row) ** 2, axis=1)) for row in X]
    known = (kernels[1] - kernels[0]) / (1.0 - np.exp(-2.0 * 0.25))
    np.testing.assert_allclose(model.decision_function(places), known, atol=1e-3)
    assert n_experts == 2


def test_relevance_vectors_of_two_clouds(rng):
    """Far apart they need few vectors, and no row is wrong."""
    centers = np.repeat([[-3.0, 0.0], [3.0, 0.0]], 40, axis=0)
    X, y = centers + rng.normal(scale=0.5, size=centers.shape), np.repeat([0, 1], 40)
    model = RelevanceVectorClassifier(4.0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert 1 <= model.n_experts_ <= 4


@pytest.mark.slow
def test_support_vectors_are_the_plain_search():
    """C and gamma are what a grid search over 121 points chooses."""
    X, y = make_double_moon(120, random_state=0)
    _, n_experts, chosen = support_vectors.tune(X, y, 0, "moons")
    powers = 2.0 ** np.arange(-5, 6)
    plain = GridSearchCV(SVC(), {"C": powers, "gamma": powers}, cv=make_folds(y, 3, 0)).fit(X, y)
    assert chosen == plain.best_params_
    assert n_experts == len(plain.best_estimator_.support_)


def test_support_vectors_of_large_sets_are_not_searched():
    """On ijcnn1 and a9a the paper gives the parameters."""
    X, y = make_circle(60, random_state=0)
    assert support_vectors.tune(X, y, 0, "ijcnn1").chosen == {"C": 32.0, "gamma": 2.0}
    assert support_vectors.tune(sparse.csr_array(X), y, 0, "a9a").estimator.get_params()["gamma"] == 1.0 / 32.0


@pytest.mark.slow
def test_relevance_vectors_are_the_plain_search(monkeypatch):
    """The width is what a grid search over the same widths chooses."""
    X, y = make_circle(100, random_state=0)
    monkeypatch.setattr(relevance_vectors, "WIDTHS", tuple(2.0 ** np.arange(0, 5)))
    model, n_experts, chosen = relevance_vectors.tune(X, y, 0, "circle")
    grid = {"width": 2.0 ** np.arange(0, 5)}
    plain = GridSearchCV(RelevanceVectorClassifier(), grid, cv=make_folds(y, 3, 0)).fit(X, y)
    assert chosen == plain.best_params_
    assert 0 < n_experts < 30
    assert model.score(X, y) > 0.88


def test_relevance_vectors_without_a_vector():
    """A kernel so wide that nothing is relevant gives the larger class."""
    X, y = make_circle(60, random_state=0)
    model = RelevanceVectorClassifier(width=2.0**10).fit(X[:45], y[:45])
    assert model.n_experts_ == 0
    assert set(model.predict(X)) == {1}


def test_relevance_vectors_sparse_rows_and_labels():
    """Sparse rows give what dense ones give; labels come back; the number of rows can be bounded."""
    X, y = make_circle(80, random_state=0)
    words = np.where(y, "ring", "disc")
    dense, thin = (RelevanceVectorClassifier(1.0).fit(rows, words) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.decision_function(X), thin.decision_function(sparse.csr_array(X)))
    assert dense.score(X, words) > 0.88
    few = RelevanceVectorClassifier(1.0, max_rows=40, random_state=0).fit(X, words)
    assert max(few.machine_.relevance_) < 40 <= max(dense.machine_.relevance_)
    assert not np.allclose(few.decision_function(X), dense.decision_function(X))


def test_narrow_widths_are_left_out():
    """Widths far below the distance of neighbors are not tried, others are."""
    X = np.arange(20.0)[:, None]
    assert relevance_vectors.informative_widths(X, (0.1, 1.0, 2.0, 64.0)) == [2.0, 64.0]


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
