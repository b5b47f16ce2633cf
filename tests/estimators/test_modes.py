"""Classifiers fitted by modes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_circles, make_moons
from sklearn.linear_model import LogisticRegression

from softpolytope import (
    Prior,
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)

SMALL = {"max_experts": 6, "inference": "map", "n_restarts": 3, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    """A fit of them."""
    return SumStackSoftplusClassifier(**SMALL).fit(*moons)


def test_geometry_of_the_four():
    """Ring around a disc: a sum separates one labeling, a stack the other; one hyperplane neither."""
    X, y = make_circles(200, factor=0.35, noise=0.08, random_state=0)
    assert SoftplusClassifier(random_state=0).fit(X, y).score(X, y) < 0.75
    for model in (
        SumSoftplusClassifier(random_state=0),
        StackSoftplusClassifier(random_state=0, n_layers=4),
        SumStackSoftplusClassifier(random_state=0),
    ):
        assert model.fit(X, y).score(X, y) > 0.95, model


def test_modes_are_draws(fitted, moons):
    """One per restart and labeling; their mean is the prediction; intervals and chains there are none."""
    X, _ = moons
    draws = fitted.predict_proba_draws(X)
    assert draws.shape == (6, len(X))
    assert draws.mean(axis=0) == pytest.approx(fitted.predict_proba(X)[:, 1], abs=1e-12)
    assert fitted.inference_ == "map"
    assert len(fitted.precision_rates_) == 1
    assert (fitted.precision_rates_[0] > 0.0).all()
    for call in (fitted.diagnostics, fitted.to_datatree):
        with pytest.raises(ValueError, match='Refit with inference="bootstrap"'):
            call()


def test_threads_order_and_repeats_change_nothing(fitted, moons):
    """The same bits; a sparse X gives the same model up to how it is standardized."""
    X, y = moons
    expected = fitted.predict_proba(X)
    order = np.random.default_rng(0).permutation(len(y))
    assert np.array_equal(clone(fitted).set_params(n_jobs=2).fit(X[order], y[order]).predict_proba(X), expected)
    copies = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = clone(fitted).fit(X, y, sample_weight=copies)
    repeated = clone(fitted).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    assert not np.array_equal(weighted.predict_proba(X), expected)
    plain = clone(fitted).set_params(standardize=False)
    dense, thin = (clone(plain).fit(data, y).predict_proba(X) for data in (X, sparse.csr_array(X)))
    assert np.array_equal(dense, thin)


def test_weight_one_and_a_gaussian_prior_are_logistic_regression(rng):
    """To 1e-6 in the coefficients; of another penalty they differ."""
    X = rng.standard_normal((300, 3))
    y = rng.random(300) < 1.0 / (1.0 + np.exp(-X @ [1.0, -2.0, 0.0]))
    design = np.column_stack([np.ones(300), X])
    prior = Prior(precision_shape=1e9, precision_rate=1e9 / 2.0)
    model = SoftplusClassifier(
        fit_weight=False, standardize=False, symmetric=False, inference="map", n_restarts=2, prior=prior, random_state=0
    ).fit(X, y)

    def reference(penalty):
        model = LogisticRegression(C=1.0 / penalty, fit_intercept=False, tol=1e-12, max_iter=10000)
        return model.fit(design, y).coef_[0]

    assert model.expert_weights_[0] == 1.0
    assert model.coefficients_[0][0, 0] == pytest.approx(reference(2.0), abs=1e-6)
    assert model.coefficients_[0][0, 0] != pytest.approx(reference(2.02), abs=1e-6)


def test_tiny_columns_that_are_not_standardized(moons):
    """Squares of coefficients of 1e200 are no numbers; their logarithms are."""
    X, y = moons
    settings = SMALL | {"standardize": False, "prior": Prior(precision_shape=0.5, precision_rate=1.0)}
    assert SumStackSoftplusClassifier(**settings).fit(X * 1e-200, y).score(X * 1e-200, y) > 0.8


def test_columns_far_from_zero_keep_their_digits():
    """A spread of a few parts in 1e11 is not a rounding error."""
    t = np.linspace(0.0, 50.0, 200)
    X, y = (t + 1e12)[:, None], (t > 20.0).astype(int)
    assert SumStackSoftplusClassifier(**SMALL).fit(X, y).score(X, y) > 0.98


def test_plain_modes_have_no_intervals(fitted, moons):
    """Their spread is far too narrow for one: an error says what to do; what each mode says can be had."""
    X, _ = moons
    with pytest.raises(ValueError, match=r'6 modes.* Refit with inference="bootstrap"'):
        fitted.predict_interval(X)
    lazy = pytest.importorskip("dask.array").from_array(X)
    with pytest.raises(ValueError, match="predict_interval requires a sample from the posterior"):
        fitted.predict_interval(lazy)
    assert fitted.predict_proba_draws(X).shape == (6, len(X))


def test_bootstrap_widens_the_spread(fitted, moons):
    """Intervals are quantiles of its modes; too few of them for the level give a warning."""
    X, y = moons
    model = clone(fitted).set_params(inference="bootstrap", n_restarts=5, n_members=6).fit(X, y)
    with pytest.warns(UserWarning, match=r"intervals of level 0\.89 need 18 members or more, but this model has 6"):
        wide = model.predict_interval(X)
    assert np.array_equal(model.predict_interval(X, level=0.5), quantiles(model, X, 0.25))  # no warning
    assert np.array_equal(wide, quantiles(model, X, 0.5 * (1.0 - 0.89)))
    assert np.diff(wide).mean() > 1.5 * np.diff(quantiles(fitted, X, 0.055)).mean()


def quantiles(model, X, tail):
    """Central quantiles over draws or modes."""
    return np.quantile(model.predict_proba_draws(X), [tail, 1.0 - tail], axis=0, method="weibull").T
