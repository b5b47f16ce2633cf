"""The relevance vector machine by fastrvm."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV

from softpolytope.datasets import make_circle
from softpolytope.paper.baselines import RelevanceVectorClassifier
from softpolytope.paper.baselines import _relevance_vectors as relevance_vectors
from softpolytope.paper.baselines._common import make_folds


def test_relevance_vectors_of_two_clouds(rng):
    """Far apart they need few vectors, and no row is wrong."""
    centers = np.repeat([[-3.0, 0.0], [3.0, 0.0]], 40, axis=0)
    X, y = centers + rng.normal(scale=0.5, size=centers.shape), np.repeat([0, 1], 40)
    model = RelevanceVectorClassifier(4.0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert 1 <= model.n_experts_ <= 4


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
