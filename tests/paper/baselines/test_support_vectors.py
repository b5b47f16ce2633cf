"""The support vector machine by LIBSVM."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from softpolytope.datasets import make_circle, make_double_moon
from softpolytope.paper.baselines import _support_vectors as support_vectors
from softpolytope.paper.baselines._common import make_folds


def test_two_support_vectors_have_a_known_machine():
    """Of two rows both support, with weights 1 / (1 - k), k the kernel between them; C = 32 is no bound for it."""
    X, y = np.array([[0.0, 0.0], [0.5, 0.0]]), np.array([0, 1])
    model, n_experts, _ = support_vectors.tune(X, y, 0, "ijcnn1")
    places = np.array([[0.1, 0.2], [0.25, -1.0], [0.6, 0.3]])
    kernels = [np.exp(-2.0 * np.sum((places - row) ** 2, axis=1)) for row in X]
    known = (kernels[1] - kernels[0]) / (1.0 - np.exp(-2.0 * 0.25))
    np.testing.assert_allclose(model.decision_function(places), known, atol=1e-3)
    assert n_experts == 2


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
