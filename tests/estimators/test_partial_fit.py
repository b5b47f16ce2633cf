"""Fits batch by batch."""

import numpy as np
import pytest
from interrupts import interrupted
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError

from softpolytope import (
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)
from softpolytope.data._dataset import InMemoryDataset
from softpolytope.data._moments import FeatureSummary
from softpolytope.data._standardization import running_transform, standardized_data
from softpolytope.optimize import _online
from softpolytope.optimize._mode import LogPosterior

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


@pytest.mark.parametrize("n_before", [0, 1])
def test_an_interrupt_of_a_batch_is_not_swallowed(n_before, moons, monkeypatch):
    """Who feeds the batches hears it, and the batch that was interrupted has changed nothing."""
    X, y = moons
    model = SumStackSoftplusClassifier(max_experts=4, inference="map", n_restarts=2, random_state=0)
    for _ in range(n_before):
        model.partial_fit(X, y, classes=[0, 1])
    before = model.predict_proba(X) if n_before else None
    patched = (_online, "adam_pass") if n_before else (LogPosterior, "maximize")
    with monkeypatch.context() as patch:
        patch.setattr(*patched, interrupted(getattr(*patched)))
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, y, classes=[0, 1])
    if n_before:
        assert np.array_equal(model.predict_proba(X), before)
    else:
        with pytest.raises(NotFittedError):
            model.predict(X)


SMALL = {"max_experts": 6, "inference": "map", "n_restarts": 3, "random_state": 0}


@pytest.fixture(scope="module")
def fitted(moons):
    """A fit of them."""
    return SumStackSoftplusClassifier(**SMALL).fit(*moons)


def test_batches_teach():
    """Rows in 16 batches, seen once: nearly as good as all at once, and better than the first batch alone."""
    (X, y), (X_test, y_test) = (make_moons(4000, noise=0.25, random_state=seed) for seed in (0, 1))
    X, X_test = (rows * [3.0, 0.01] + [100.0, -5.0] for rows in (X, X_test))
    names = np.array(["left", "right"])
    model = SumStackSoftplusClassifier(**SMALL | {"n_restarts": 1})

    def loss_of(model):
        return -np.log(model.predict_proba(X_test)[np.arange(4000), y_test]).mean()

    losses = []
    for rows in np.split(np.arange(4000), np.arange(1000, 4000, 200)):
        model.partial_fit(X[rows], names[y[rows]], classes=None if losses else names)
        losses.append(loss_of(model))
    assert losses[-1] < losses[0]
    assert losses[-1] < loss_of(clone(model).fit(X, names[y])) + 0.02
    assert model.predict(X_test[:1])[0] in names


def test_batches_need_not_have_all_classes():
    """Three classes, which come one after the other."""
    X, y = load_iris(return_X_y=True)
    order = np.argsort(y, kind="stable")
    mixed = np.random.default_rng(0).permutation(150)
    model = SumStackSoftplusClassifier(**SMALL).partial_fit(X[mixed], y[mixed], classes=[0, 1, 2])
    for start in range(0, 150, 25):
        rows = order[start : start + 25]
        model.partial_fit(X[rows], y[rows])
    assert model.score(X, y) > 0.9
    assert model.predict_proba(X).shape == (150, 3)


def test_batches_continue_after_fit(fitted, moons):
    """The modes of `fit` move on; a batch that fails changes nothing."""
    X, y = moons
    model = clone(fitted).fit(X, y)
    model.partial_fit(X, y)
    moved = model.predict_proba(X)
    assert not np.array_equal(moved, fitted.predict_proba(X))
    assert abs(moved - fitted.predict_proba(X)).mean() < 0.1
    with pytest.raises(ValueError, match="Column 0 of input X holds NaN at row 1"):
        model.partial_fit([[0.0, 1.0], [np.nan, 1.0]], [0, 1])
    assert np.array_equal(model.predict_proba(X), moved)


def test_batches_start_from_scratch_after_chains(moons):
    """With a warning, and with the classes there were."""
    X, y = moons
    model = SumStackSoftplusClassifier(max_experts=6, random_state=0)
    model.set_params(inference="gibbs", n_sweeps=4, n_chains=1).fit(X, y)
    with pytest.warns(UserWarning, match="partial_fit starts from scratch"):
        model.set_params(inference="auto", n_sweeps=1000, n_chains=2, n_members=4).partial_fit(X, y)
    assert model.inference_ == "bootstrap"
    assert model.score(X, y) > 0.9


def test_bad_batches_are_named(moons):
    """What was seen, and what to do."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SMALL)
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        clone(model).partial_fit(X, y)
    with pytest.raises(ValueError, match="classes must hold at least two labels"):
        clone(model).partial_fit(X, y, classes=[1, 1])
    with pytest.raises(ValueError, match=r"y holds 1 at row 1, which is not one of the classes \[0, 2\]"):
        clone(model).partial_fit(X, y, classes=[0, 2])
    sampled = clone(model).set_params(inference="gibbs")
    assert not hasattr(sampled, "partial_fit")
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'"):
        sampled.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="balanced"):
        clone(model).set_params(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes were \[0, 1\]"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="zero"):
        model.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="n_restarts must be an integer >= 1; got 0"):
        clone(model).set_params(n_restarts=0).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint needs an integer random_state"):
        clone(model).set_params(checkpoint="folder", random_state=None).fit(X, y)


@pytest.mark.parametrize("size", [1.0, 1e200, 1e-200])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_columns_of_batches_are_those_of_all_rows(rng, is_sparse, size):
    """Mean and spread of three weighted batches, and coefficients there and back, of columns of any size."""
    design = np.column_stack([np.ones(90), rng.standard_normal((90, 3)) * [1.0, 1e3, 0.0] + [5.0, -2.0, 7.0]])
    design[:, 1:] *= size
    weights, labels = rng.uniform(0.5, 2.0, 90), rng.random(90) < 0.5
    make = sparse.csr_array if is_sparse else np.asarray
    parts = [
        FeatureSummary.from_rows(InMemoryDataset.from_arrays(make(design[rows]), labels[rows], weights[rows]))
        for rows in (slice(0, 20), slice(20, 21), slice(21, 90))
    ]
    features = parts[0].merged(parts[1]).merged(parts[2])
    whole = InMemoryDataset.from_arrays(make(design), labels, weights)
    changed, units = standardized_data(whole)
    running = running_transform(features, is_sparse=is_sparse)
    assert running.center == pytest.approx(units.center, rel=1e-9)
    assert running.scale[:3] == pytest.approx(units.scale[:3], rel=1e-9)  # one column has no spread
    same = running.apply(whole)
    assert abs(same.design - changed.design)[:, :3].max() < 1e-9 * 1e3
    coefficients = rng.standard_normal((2, 3, 4))
    assert units.to_transformed(units.to_original(coefficients)) == pytest.approx(coefficients, abs=1e-12)


@pytest.mark.parametrize("offset", [0.0, 10.0])
def test_batches_may_be_sparse_or_dense(offset):
    """A model of dense rows takes sparse ones, and the other way round, far from zero too."""
    X, y = make_moons(2000, noise=0.2, random_state=0)
    X = X + offset
    for order in ((np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)):
        model = SumStackSoftplusClassifier(**SMALL | {"n_restarts": 1}).fit(order[0](X[:1000]), y[:1000])
        before = model.score(X, y)
        for rows in np.split(np.arange(1000, 2000), 4):
            model.partial_fit(order[1](X[rows]), y[rows])
        assert model.score(X, y) > before - 0.02


@pytest.mark.parametrize("size", [1e160, 1e-170])
def test_batches_of_extreme_columns(size, moons):
    """What `fit` can take, batches can."""
    X, y = moons
    scores = []
    for factor in (1.0, size):
        wide = np.column_stack([X * factor, np.full(len(X), factor)])
        model = SumStackSoftplusClassifier(**SMALL)
        for rows in np.split(np.random.default_rng(0).permutation(200), 2):
            model.partial_fit(wide[rows], y[rows], classes=[0, 1])
        scores.append(model.score(wide, y))
    assert scores[1] == pytest.approx(scores[0], abs=0.03)
    assert scores[0] > 0.8


def test_a_batch_that_fails_changes_nothing(moons):
    """Not even the names of the labels, if it would have started from scratch after chains."""
    X, y = moons
    model = SumStackSoftplusClassifier(inference="gibbs", n_sweeps=40, start="random", random_state=0, max_experts=3)
    model.set_params(n_chains=1).fit(X, y)
    before = model.predict(X)
    with (
        pytest.warns(UserWarning, match="starts from scratch"),
        pytest.raises(ValueError, match="not one of the classes"),
    ):
        model.set_params(inference="map", n_sweeps=1000, start="map", n_chains=2).partial_fit(
            X[:, :1], ["z"] * 200, classes=["a", "b"]
        )
    assert np.array_equal(model.predict(X), before)
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("size", [1e200, 2e307])
def test_batches_beyond_all_bounds_are_named(moons, size, standardize):
    """Rows so much larger than those before that nothing can be computed: an error names a column, nothing changes."""
    X, y = moons
    model = SumSoftplusClassifier(**SMALL, standardize=standardize).partial_fit(X, y, classes=[0, 1])
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=r"column . of X was at most [12]\.\d+ in .* and is up to .*e\+[23]0[07] here"):
        model.partial_fit(X * size, y)
    assert np.array_equal(model.predict_proba(X), before)
    model.partial_fit(X * 1e100, y)  # still within them
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_extreme_columns_of_batches_stay_in_range(moons, size):
    """As they do in `fit`, where columns are not standardized either."""
    X, y = moons
    model = SumSoftplusClassifier(**SMALL, standardize=False).partial_fit(X * size, y, classes=[0, 1])
    assert model.score(X * size, y) > 0.75
