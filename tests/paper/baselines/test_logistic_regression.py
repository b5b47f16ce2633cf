"""Logistic regression by LIBLINEAR."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from softpolytope.datasets import make_double_moon
from softpolytope.paper.baselines import _logistic_regression as logistic_regression
from softpolytope.paper.baselines._common import make_folds


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
    """Half the squared norm, bias included, and C times the losses have a gradient as small as LIBLINEAR requires.

    That is the tolerance times the share of the smaller class, here one half, of the gradient at the start, zero.
    """
    X, y = make_double_moon(200, random_state=0)
    model, _, chosen = logistic_regression.tune(X, y, 0, "moons")
    weights = np.append(model.coef_[0], model.intercept_)
    design, signs = np.column_stack([X, np.ones(len(X))]), 2.0 * y - 1.0

    def gradient_norm(weights):
        pulls = signs / (1.0 + np.exp(signs * (design @ weights)))
        return np.linalg.norm(weights - chosen["C"] * pulls @ design)

    assert gradient_norm(weights) <= 0.01 * 0.5 * gradient_norm(np.zeros(3))
    assert gradient_norm(0.9 * weights) > 0.01 * 0.5 * gradient_norm(np.zeros(3))
