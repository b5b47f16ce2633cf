"""Classifiers fitted by climbs, at once or batch by batch."""

import io
import pickle
import warnings
from functools import partial

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
from softpolytope.data._dataset import InMemoryDataset
from softpolytope.data._moments import FeatureSummary
from softpolytope.data._standardization import running_transform, standardized_data
from softpolytope.estimators._callbacks import ProgressLine
from softpolytope.parallel._threads import Progress

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
    """One per restart; their mean is the prediction; intervals and chains there are none."""
    X, _ = moons
    draws = fitted.predict_proba_draws(X)
    assert draws.shape == (3, len(X))
    assert draws.mean(axis=0) == pytest.approx(fitted.predict_proba(X)[:, 1], abs=1e-12)
    assert fitted.inference_ == "map"
    assert len(fitted.precision_rates_) == 1
    assert (fitted.precision_rates_[0] > 0.0).all()
    for call in (fitted.diagnostics, fitted.to_datatree):
        with pytest.raises(ValueError, match='fit with inference="gibbs"'):
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
        fit_weight=False, standardize=False, symmetric=False, n_restarts=2, prior=prior, random_state=0
    ).fit(X, y)

    def reference(penalty):
        model = LogisticRegression(C=1.0 / penalty, fit_intercept=False, tol=1e-12, max_iter=10000)
        return model.fit(design, y).coef_[0]

    assert model.expert_weights_[0] == 1.0
    assert model.coefficients_[0][0, 0] == pytest.approx(reference(2.0), abs=1e-6)
    assert model.coefficients_[0][0, 0] != pytest.approx(reference(2.02), abs=1e-6)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol(fitted, moons, protocol):
    """The oldest protocols too, whose rules for slots are those of skops."""
    again = pickle.loads(pickle.dumps(fitted, protocol))  # noqa: S301
    assert np.array_equal(again.predict_proba(moons[0]), fitted.predict_proba(moons[0]))


def test_files_and_pickles(fitted, moons, tmp_path):
    """Predict the same."""
    X, _ = moons
    fitted.save(tmp_path / "model.softpolytope")
    again = load_model(tmp_path / "model.softpolytope")
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.inference_ == "map"
    pickled = pickle.dumps(fitted)
    assert len(pickled) < 60_000
    assert np.array_equal(pickle.loads(pickled).predict_proba(X), fitted.predict_proba(X))  # noqa: S301


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
    with pytest.raises(ValueError, match="which had n_restarts=3, but n_restarts is 2 now"):
        model.set_params(n_restarts=2).fit(X, y)


def test_progress_counts_climbs(moons, capsys):
    """Up to all of them."""
    SumStackSoftplusClassifier(**SMALL, verbose=1).fit(*moons)
    line = capsys.readouterr().err
    assert "100% of 42 optimizations" in line
    assert "experts" in line


@pytest.mark.parametrize(("n_active", "told"), [(0, "0 experts"), (1, "1 expert"), (2, "2 experts")])
def test_progress_of_one_expert(n_active, told):
    """One expert, but no experts or two."""
    out = io.StringIO()
    ProgressLine(1, out)(Progress(0, 0, 5, 5, "sweeps", -1.0, n_active))
    assert out.getvalue().strip().endswith(f", {told}")


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
    model = SumStackSoftplusClassifier(max_experts=6, random_state=0)
    model.set_params(inference="gibbs", n_sweeps=4, n_chains=1).fit(X, y)
    with pytest.warns(UserWarning, match="partial_fit starts from scratch"):
        model.set_params(inference="auto", n_sweeps=1000, n_chains=2).partial_fit(X, y)
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
        model = SumStackSoftplusClassifier(**SMALL).fit(order[0](X[:1000]), y[:1000])
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
    """Not even what the labels are called, when it would have begun anew after chains."""
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


@pytest.mark.parametrize("kind", ["array", "frame", "sparse", "batch", "dask"])
@pytest.mark.parametrize("standardize", [True, False])
def test_columns_too_small_are_named(moons, kind, standardize):
    """No double could hold their coefficients: an error says that they are small, and which."""
    X, y = moons
    X = X * [1.0, 1e-310]
    model = SumSoftplusClassifier(**SMALL, standardize=standardize)
    call = partial(model.fit, X, y)
    if kind == "frame":
        call = partial(model.fit, pytest.importorskip("pandas").DataFrame(X, columns=["plain", "tiny"]), y)
    elif kind == "sparse":
        call = partial(model.fit, sparse.csr_array(X), y)
    elif kind == "batch":
        call = partial(model.partial_fit, X, y, classes=[0, 1])
    elif kind == "dask":
        array = pytest.importorskip("dask.array")
        call = partial(model.fit, array.from_array(X, chunks=(50, 2)), array.from_array(y, chunks=50), max_memory="8GB")
    names = "'tiny'" if kind == "frame" else "1"
    with pytest.raises(ValueError, match=f"^Column {names} of X holds numbers of at most .*e-310 .* so small"):
        call()


def test_coefficients_that_overflow_are_named(moons):
    """Those of numbers hardly large enough: what is said is that the column is small."""
    X, y = moons
    chain = {"inference": "gibbs", "n_sweeps": 40, "n_chains": 1, "max_experts": 3, "random_state": 0}
    with pytest.raises(ValueError, match=r"coefficients of column 1 of X overflow .* deviation is .*e-308\. Multiply"):
        SumSoftplusClassifier(**chain).fit(X * [1.0, 4.5e-308], y)


@pytest.mark.parametrize(
    "changes",
    [
        {"max_experts": 4},
        {"n_layers": 2},
        {"symmetric": False},
        {"n_restarts": 4},
        {"prior": Prior(precision_rate=1e-6)},
    ],
)
@pytest.mark.parametrize("what", ["warm_start", "partial_fit"])
def test_modes_of_another_model_do_not_go_on(changes, what, moons):
    """A changed parameter is named, not ignored."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SMALL, warm_start=True).fit(X[:60], y[:60]).set_params(**changes)
    with pytest.raises(ValueError, match=f"{what} continues .* had {next(iter(changes))}="):
        (model.fit if what == "warm_start" else model.partial_fit)(X[:60], y[:60])


def test_warm_start_with_columns_changed_in_another_way(moons):
    """Modes are the same hyperplanes, whether columns are standardized or not."""
    X, y = moons
    far = X + 100.0
    model = SumStackSoftplusClassifier(**SMALL, warm_start=True).fit(far, y)
    before = model.predict_proba(far)
    model.set_params(standardize=False, random_state=0).fit(far, y)
    assert abs(model.predict_proba(far) - before).mean() < 0.05


def test_tiny_columns_that_are_not_standardized(moons):
    """Squares of coefficients of 1e200 are no numbers; their logarithms are."""
    X, y = moons
    settings = SMALL | {"standardize": False, "prior": Prior(precision_shape=0.5, precision_rate=1.0)}
    assert SumStackSoftplusClassifier(**settings).fit(X * 1e-200, y).score(X * 1e-200, y) > 0.8


def test_class_weights_by_name():
    """Classes that are not named have weight one, in batches too; what is no class, or no weight, is told."""
    X, y = load_iris(return_X_y=True)
    weighted = SumStackSoftplusClassifier(**SMALL, class_weight={1: 2.0})
    weighted.partial_fit(X, y, classes=[0, 1, 2])
    weighted.partial_fit(X[:100], y[:100])
    repeated = np.concatenate([np.arange(150), np.arange(50, 100)])
    one = clone(weighted).fit(X, y).predict_proba(X)
    assert np.array_equal(one, SumStackSoftplusClassifier(**SMALL).fit(X[repeated], y[repeated]).predict_proba(X))
    with pytest.raises(ValueError, match=r"class_weight names 5, which is none of the classes \[0, 1, 2\]"):
        clone(weighted).set_params(class_weight={0: 1.0, 5: 2.0}).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight must be finite and >= 0; got -1\.0 for class 2"):
        clone(weighted).set_params(class_weight={2: -1.0}).fit(X, y)


@pytest.mark.parametrize("labels", [[3, 2**63 + 5], [True, False], ["yes", "no"], [1.0, -2.0]])
def test_labels_of_any_kind_are_saved(labels, moons, tmp_path):
    """Unsigned numbers past those with a sign too, and labels that are Python objects."""
    X, y = moons
    given = np.array(labels, dtype=np.uint64 if labels[0] == 3 else None)[y]
    model = SumStackSoftplusClassifier(**SMALL).fit(X, given)
    model.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict(X), model.predict(X))
    again = SumStackSoftplusClassifier(**SMALL).fit(X, given.astype(object))
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_labels_that_no_file_can_hold(moons, tmp_path):
    """NumPy drops a NUL at the end of a text: nothing is written that would be read as another label."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SMALL).fit(X, np.array(["a\x00", "b"], dtype=object)[y])
    with pytest.raises(ValueError, match=r"cannot be saved.*a label would be another one"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_precision_rates_are_saved(fitted, tmp_path):
    """Those of every restart."""
    fitted.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").precision_rates_, fitted.precision_rates_)


def test_large_columns_are_saved(moons, tmp_path):
    """A model of columns as large as 1e200 can be read again, explained, and asked for counterfactuals."""
    X, y = moons
    large = np.column_stack([X * [1.0, 1e200], np.full(len(X), 1e200)])
    model = SumStackSoftplusClassifier(**SMALL).fit(large, y)
    model.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict_proba(large), model.predict_proba(large))
    with pytest.raises(ValueError, match="row 0 of X has numbers so large"):
        model.predict_proba_draws(np.full((1, 3), 1.7e308))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda pd, X: pd.DataFrame({"a": X[:, 0], "b": ["q"] * len(X)}), "column 'b' of X holds 'q'"),
        (lambda pd, X: pd.DataFrame({"a": X[:, 0], "when": pd.Timestamp("2020-01-01")}), "column 'when' of X holds"),
        (lambda pd, X: [[row[0], "low"] for row in X.tolist()], "column 1 of X holds 'low'"),  # noqa: ARG005
    ],
)
def test_columns_without_numbers_are_named(make, message, moons):
    """With what is in them, and what to do."""
    pd = pytest.importorskip("pandas")
    X, y = moons
    with pytest.raises(ValueError, match=message):
        SumStackSoftplusClassifier(**SMALL).fit(make(pd, X), y)


def test_missing_labels_are_named(moons):
    """By their row."""
    X, y = moons
    given = np.array(["no", "yes"], dtype=object)[y]
    given[17] = None
    with pytest.raises(ValueError, match="y has no label at row 17"):
        SumStackSoftplusClassifier(**SMALL).fit(X, given)


def test_columns_far_from_zero_keep_their_digits():
    """A spread of a few parts in 1e11 is no rounding error."""
    t = np.linspace(0.0, 50.0, 200)
    X, y = (t + 1e12)[:, None], (t > 20.0).astype(int)
    assert SumStackSoftplusClassifier(**SMALL).fit(X, y).score(X, y) > 0.98


CHAIN_OPTIONS = {"n_sweeps": 50, "n_chains": 3, "n_burn_in": 2, "n_draws": 4, "scan": "paper", "start": "random"}


@pytest.mark.parametrize("inference", ["auto", "map"])
def test_options_of_chains_are_not_ignored_in_silence(moons, inference):
    """Each that was given is named where modes are found, and why; with defaults nobody is warned."""
    X, y = moons
    model = SumSoftplusClassifier(inference=inference, max_experts=2, n_restarts=1, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    for name, value in CHAIN_OPTIONS.items():
        with pytest.warns(UserWarning, match=f"^{name} is not used: this fit finds modes.* Set inference=") as told:
            changed = clone(model).set_params(**{name: value}).fit(X, y)
        assert np.array_equal(changed.predict_proba(X), expected)
        assert ('inference="auto"' in str(told[0].message)) is (inference == "auto")
        assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="^n_sweeps, n_chains, n_burn_in, n_draws, scan and start are not used: "):
        clone(model).set_params(**CHAIN_OPTIONS).fit(X, y)


def test_options_of_modes_are_not_ignored_in_silence(moons):
    """Each that was given is named where chains are run, whoever chose them."""
    X, y = moons
    chains = {"n_sweeps": 4, "n_chains": 1, "max_experts": 2, "random_state": 0}
    for inference, rows in (("gibbs", slice(None)), ("auto", slice(40))):
        model = SumSoftplusClassifier(inference=inference, **chains).fit(X[rows], y[rows])
        expected = model.predict_proba(X)
        with pytest.warns(UserWarning, match="^n_restarts and bootstrap are not used: this fit draws") as told:
            changed = clone(model).set_params(n_restarts=7, bootstrap=True).fit(X[rows], y[rows])
        assert np.array_equal(changed.predict_proba(X), expected)
        assert ('inference="auto"' in str(told[0].message)) is (inference == "auto")


def test_batches_name_what_they_do_not_use(moons):
    """In the first call only."""
    X, y = moons
    model = SumSoftplusClassifier(max_experts=2, n_restarts=1, random_state=0, n_sweeps=50, bootstrap=True)
    with pytest.warns(UserWarning, match="^n_sweeps and bootstrap are not used: partial_fit updates modes") as told:
        model.partial_fit(X, y, classes=[0, 1])
    assert told[0].filename == __file__
    model.partial_fit(X, y)


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
    with pytest.raises(ValueError, match="start must be one of 'map', 'random'; got 'mode'"):
        model.set_params(start="mode").fit(X, y)


def test_plain_modes_have_no_intervals(fitted, moons):
    """Their spread is far too narrow for one: an error says what to do; what each mode says can be had."""
    X, _ = moons
    with pytest.raises(ValueError, match=r'3 modes.* inference="gibbs", or with bootstrap=True and n_restarts=20'):
        fitted.predict_interval(X)
    lazy = pytest.importorskip("dask.array").from_array(X)
    with pytest.raises(ValueError, match="predict_interval requires posterior draws"):
        fitted.predict_interval(lazy)
    assert fitted.predict_proba_draws(X).shape == (3, len(X))


def test_bootstrap_widens_the_spread(fitted, moons):
    """Intervals are quantiles of its modes; too few of them for the level are told."""
    X, y = moons
    model = clone(fitted).set_params(bootstrap=True).fit(X, y)
    with pytest.warns(UserWarning, match=r"intervals of level 0\.89 need 18 draws or more, but this model has 3"):
        wide = model.predict_interval(X)
    assert np.array_equal(model.predict_interval(X, level=0.5), quantiles(model, X, 0.25))  # no warning
    assert np.array_equal(wide, quantiles(model, X, 0.5 * (1.0 - 0.89)))
    assert np.diff(wide).mean() > 1.5 * np.diff(quantiles(fitted, X, 0.055)).mean()


def quantiles(model, X, tail):
    """Central quantiles over draws or modes."""
    return np.quantile(model.predict_proba_draws(X), [tail, 1.0 - tail], axis=0).T


@pytest.mark.filterwarnings("ignore:.* not used")
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
    """It starts from scratch, and says so."""
    X, y = moons
    model = SumStackSoftplusClassifier(max_experts=6, random_state=0, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match="warm_start starts from scratch: the last fit had inference 'map'"):
        model.set_params(inference="gibbs", n_chains=1, n_sweeps=4).fit(X, y)
    assert model.inference_ == "gibbs"
