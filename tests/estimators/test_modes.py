"""Classifiers fitted by climbs, at once or batch by batch."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.linear_model import LogisticRegression

from softpolytope import (
    Prior,
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
    load_model,
)
from softpolytope.estimators._units import no_columns, standardised
from softpolytope.model.data import TrainingData

SMALL = {"max_experts": 6, "n_restarts": 3, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    """A fit of them."""
    return SumStackSoftplusClassifier(**SMALL).fit(*moons)


def test_geometry_of_the_four():
    """Ring around a disc: a sum separates one labelling, a stack the other; one hyperplane neither."""
    X, y = make_circles(200, factor=0.35, noise=0.08, random_state=0)
    assert SoftplusClassifier(random_state=0).fit(X, y).score(X, y) < 0.75
    for model in (
        SumSoftplusClassifier(random_state=0),
        StackSoftplusClassifier(random_state=0, n_layers=4),
        SumStackSoftplusClassifier(random_state=0),
    ):
        assert model.fit(X, y).score(X, y) > 0.95, model


def test_modes_are_draws(fitted, moons):
    """One per restart; their mean is the prediction, their spread the interval; chains there are none."""
    X, _ = moons
    draws = fitted.predict_proba_draws(X)
    assert draws.shape == (3, len(X))
    assert draws.mean(axis=0) == pytest.approx(fitted.predict_proba(X)[:, 1], abs=1e-12)
    with pytest.warns(UserWarning, match="much narrower than the posterior"):
        interval = fitted.predict_interval(X, level=0.5)
    assert (interval[:, 0] <= interval[:, 1]).all()
    assert fitted.inference_ == "map"
    assert len(fitted.precision_rates_) == 1
    assert (fitted.precision_rates_[0] > 0.0).all()
    for call in (fitted.diagnostics, fitted.to_datatree):
        with pytest.raises(ValueError, match='fit with inference="gibbs"'):
            call()


def test_threads_order_and_repeats_change_nothing(fitted, moons):
    """The same bits; a sparse X gives the same model up to how it is standardised."""
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
        fit_weight=False, standardize=False, symmetric=False, n_restarts=2, prior=prior, random_state=0
    ).fit(X, y)

    def reference(penalty):
        model = LogisticRegression(C=1.0 / penalty, fit_intercept=False, tol=1e-12, max_iter=10000)
        return model.fit(design, y).coef_[0]

    assert model.expert_weights_[0] == 1.0
    assert model.coefficients_[0][0, 0] == pytest.approx(reference(2.0), abs=1e-6)
    assert model.coefficients_[0][0, 0] != pytest.approx(reference(2.02), abs=1e-6)


def test_files_and_pickles(fitted, moons, tmp_path):
    """Predict the same; what a file lacks is said."""
    X, y = moons
    fitted.save(tmp_path / "model.softpolytope")
    again = load_model(tmp_path / "model.softpolytope")
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.inference_ == "map"
    pickled = pickle.dumps(fitted)
    assert len(pickled) < 60_000
    assert np.array_equal(pickle.loads(pickled).predict_proba(X), fitted.predict_proba(X))  # noqa: S301
    with pytest.raises(ValueError, match="read from a file"):
        again.partial_fit(X, y)


def test_warm_start_climbs_on(moons):
    """On other rows too, from where it was."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SMALL, warm_start=True).fit(X, y)
    rates = model.precision_rates_[0]
    before = model.predict_proba(X)
    model.fit(X[:150], y[:150])
    assert np.array_equal(model.precision_rates_[0], rates)
    assert not np.array_equal(model.predict_proba(X), before)
    assert abs(model.predict_proba(X) - before).mean() < 0.1
    with pytest.raises(ValueError, match="another number of restarts"):
        model.set_params(n_restarts=2).fit(X, y)


def test_progress_counts_climbs(moons, capsys):
    """Up to all of them."""
    SumStackSoftplusClassifier(**SMALL, verbose=1).fit(*moons)
    line = capsys.readouterr().err
    assert "100% of 42 climbs" in line
    assert "experts" in line


def test_batches_teach():
    """Rows in 16 batches, seen once: nearly as good as all at once, and better than the first batch alone."""
    (X, y), (X_test, y_test) = (make_moons(4000, noise=0.25, random_state=seed) for seed in (0, 1))
    X, X_test = (rows * [3.0, 0.01] + [100.0, -5.0] for rows in (X, X_test))
    names = np.array(["left", "right"])
    model = SumStackSoftplusClassifier(**SMALL)

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


def test_batches_go_on_after_fit(fitted, moons):
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


def test_batches_begin_anew_after_chains(moons):
    """With a warning, and with the classes there were."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SMALL, inference="gibbs", n_sweeps=4, n_chains=1).fit(X, y)
    with pytest.warns(UserWarning, match="partial_fit begins anew"):
        model.set_params(inference="auto").partial_fit(X, y)
    assert model.inference_ == "map"
    assert model.score(X, y) > 0.9


def test_bad_batches_are_named(moons):
    """What was seen, and what to do."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SMALL)
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        clone(model).partial_fit(X, y)
    with pytest.raises(ValueError, match="classes must hold at least two labels"):
        clone(model).partial_fit(X, y, classes=[1, 1])
    with pytest.raises(ValueError, match=r"y holds 1, which is none of the classes \[0, 2\]"):
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
    with pytest.raises(ValueError, match="n_restarts must be a whole number >= 1; got 0"):
        clone(model).set_params(n_restarts=0).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint needs an integer random_state"):
        clone(model).set_params(checkpoint="folder", random_state=None).fit(X, y)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_columns_of_batches_are_those_of_all_rows(rng, is_sparse):
    """Mean and spread of three weighted batches, and coefficients there and back."""
    design = np.column_stack([np.ones(90), rng.standard_normal((90, 3)) * [1.0, 1e3, 0.0] + [5.0, -2.0, 7.0]])
    weights = rng.uniform(0.5, 2.0, 90)
    make = sparse.csr_array if is_sparse else np.asarray
    columns = no_columns(4)
    for rows in (slice(0, 20), slice(20, 21), slice(21, 90)):
        columns = columns.updated(
            TrainingData.from_arrays(make(design[rows]), rng.random(90)[rows] < 0.5, weights[rows])
        )
    whole = TrainingData.from_arrays(make(design), rng.random(90) < 0.5, weights)
    changed, units = standardised(whole)
    assert columns.units().centre == pytest.approx(units.centre, abs=1e-9)
    assert columns.units().scale == pytest.approx(units.scale, rel=1e-9)
    same = columns.units().applied(whole)
    assert abs(same.design - changed.design).max() < 1e-9 * 1e3
    coefficients = rng.standard_normal((2, 3, 4))
    assert units.from_user(units.of_user(coefficients)) == pytest.approx(coefficients, abs=1e-12)


def test_chains_may_begin_at_modes(moons):
    """Each at its own; they are where chains from random places get to later."""
    X, y = moons
    first = {}
    for start in ("random", "map"):
        model = SumStackSoftplusClassifier(
            inference="gibbs", start=start, n_sweeps=10, n_chains=3, max_experts=6, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        first[start] = model.log_likelihood_[0][:, 0]
    assert len(set(first["map"].tolist())) == 3
    assert first["map"].min() > first["random"].max()
    with pytest.raises(ValueError, match="start must be one of 'random', 'map'; got 'mode'"):
        model.set_params(start="mode").fit(X, y)


def test_bootstrap_widens_the_intervals(fitted, moons):
    """And then nobody is warned."""
    X, y = moons
    wide = clone(fitted).set_params(bootstrap=True).fit(X, y).predict_interval(X)
    with pytest.warns(UserWarning, match="much narrower"):
        narrow = fitted.predict_interval(X)
    assert np.diff(wide).mean() > 1.5 * np.diff(narrow).mean()


def test_auto_counts_rows_by_weight(moons):
    """Chains below fifty rows, modes from there on; copies and weights count alike, many light rows are many."""
    X, y = moons
    short = {"n_sweeps": 4, "n_chains": 1, "n_restarts": 1, "max_experts": 2, "random_state": 0}

    def inference_of(rows, weights=None, **parameters):
        model = SumStackSoftplusClassifier(**short, **parameters)
        return model.fit(X[rows], y[rows], sample_weight=weights).inference_

    assert inference_of(slice(0, 49)) == "gibbs"
    assert inference_of(slice(0, 50)) == "map"
    assert inference_of(slice(0, 30), np.full(30, 2.0)) == inference_of(np.repeat(np.arange(30), 2)) == "map"
    assert inference_of(np.repeat(np.arange(30), 2), np.full(60, 0.5)) == "gibbs"
    assert inference_of(slice(0, 200), np.full(200, 0.1)) == "map"
    assert inference_of(slice(0, 30), inference="map") == "map"
    assert inference_of(slice(0, 200), inference="gibbs") == "gibbs"


def test_warm_start_does_not_mix_chains_and_modes(moons):
    """It starts anew, and says so."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SMALL, warm_start=True, n_sweeps=4).fit(X, y)
    with pytest.warns(UserWarning, match="warm_start starts anew: the last fit had inference 'map'"):
        model.set_params(inference="gibbs", n_chains=1).fit(X, y)
    assert model.inference_ == "gibbs"
