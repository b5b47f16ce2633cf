"""Predictions by draws, and their intervals."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_moons

from softpolytope import (
    SumStackSoftplusClassifier,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 60, "max_experts": 4, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    """A short fit of them."""
    return SumStackSoftplusClassifier(**SHORT).fit(*moons)


def test_mean_is_the_mean_of_the_draws(fitted, moons):
    """predict_proba averages predict_proba_draws, whose quantiles are predict_interval."""
    X, _ = moons
    draws = fitted.predict_proba_draws(X)
    assert draws.shape == (120, 200)  # 30 a chain, two chains of each labeling
    assert fitted.predict_proba(X)[:, 1] == pytest.approx(draws.mean(axis=0), abs=1e-12)
    interval = fitted.predict_interval(X, level=0.8)
    assert interval == pytest.approx(np.quantile(draws, [0.1, 0.9], axis=0, method="weibull").T)
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        fitted.predict_interval(X, level=89)


def test_log_probabilities_and_decisions_agree(fitted, moons):
    """Far from the data as well."""
    X = np.concatenate([moons[0], [[1e3, -1e3], [-1e4, 1e4]]])
    probabilities = fitted.predict_proba(X)
    assert fitted.predict_log_proba(X) == pytest.approx(np.log(probabilities))
    assert np.array_equal(fitted.decision_function(X) > 0, probabilities[:, 1] > probabilities[:, 0])
    assert probabilities.sum(axis=1) == pytest.approx(1.0)


def test_sparse_rows_predict_as_dense_ones(moons):
    """Fitted sparse, predictions for sparse and dense rows are the same; formats do not matter."""
    X, y = moons
    thin = sparse.csr_matrix(np.where(abs(X) < 0.3, 0.0, X))
    model = SumStackSoftplusClassifier(**SHORT).fit(thin, y)
    assert model.predict_proba(thin) == pytest.approx(model.predict_proba(thin.toarray()), rel=1e-12, abs=1e-14)
    assert np.array_equal(
        SumStackSoftplusClassifier(**SHORT).fit(thin.tocoo(), y).predict_proba(thin), model.predict_proba(thin)
    )


def test_draws_of_classes_keep_their_tails():
    """Far from the rows the mean of one draw is that draw, for more than two classes too."""
    X, y = load_iris(return_X_y=True)
    model = SumStackSoftplusClassifier(**SHORT | {"n_chains": 1, "n_sweeps": 20, "n_draws": 1, "symmetric": False}).fit(
        X, y
    )
    far = X[::10] * 100.0
    assert model.predict_proba_draws(far)[0] == pytest.approx(model.predict_proba(far), rel=1e-9, abs=0.0)


def test_rows_that_cannot_be(fitted):
    """A sparse matrix with an index beyond its columns, and numbers whose products overflow, are refused."""
    with pytest.raises(ValueError, match="index outside its 2 columns"):
        fitted.predict(sparse.csr_matrix(([1.0], [50_000_000], [0, 1]), shape=(1, 2)))
    with pytest.raises(ValueError, match="Row 1 of X has values so large"):
        fitted.predict([[0.0, 0.0], [1.7e308, -1.7e308]])
