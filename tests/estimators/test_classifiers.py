"""What the classifiers promise beyond scikit-learn's checks."""

import signal
import threading
import time

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

from softpolytope import (
    Prior,
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)
from softpolytope.estimators import _base, _problems
from softpolytope.exceptions import BlocksLostError, CheckpointError
from softpolytope.model._softplus import positive_probability
from softpolytope.optimize import _online
from softpolytope.optimize._mode import LogPosterior

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 60, "max_experts": 6, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    """A short fit of them."""
    return SumStackSoftplusClassifier(**SHORT).fit(*moons)


def test_geometry_of_the_four():
    """Ring around a disc: a sum separates one labeling, a stack the other; one hyperplane neither."""
    X, y = make_circles(200, factor=0.35, noise=0.08, random_state=0)
    common = {"inference": "gibbs", "start": "random", "n_sweeps": 400, "random_state": 0}
    assert SoftplusClassifier(**common).fit(X, y).score(X, y) < 0.75
    for model in (
        SumSoftplusClassifier(**common, max_experts=10),
        StackSoftplusClassifier(**common, n_layers=4),
        SumStackSoftplusClassifier(**common, max_experts=10),
    ):
        assert model.fit(X, y).score(X, y) > 0.95, model


def test_probabilities_are_those_of_the_definition(moons):
    """Coefficients and weights in the user's units give the probabilities, by the precise functions."""
    X, y = moons
    X = X * [1000.0, 0.01] + [5e4, -3.0]
    model = SumStackSoftplusClassifier(**SHORT, estimate="best").fit(X, y)
    design = np.column_stack([np.ones(len(X)), X])
    own, other = (
        positive_probability(coefficients @ design.T, weights)
        for coefficients, weights in zip(model.coefficients_, model.expert_weights_, strict=True)
    )
    assert model.predict_proba(X)[:, 1] == pytest.approx((own + 1 - other) / 2, rel=1e-9, abs=1e-12)
    assert np.array_equal(model.predict(X), (own + 1 - other > 1).astype(int))


def test_mean_is_the_mean_of_the_draws(fitted, moons):
    """predict_proba averages predict_proba_draws, whose quantiles are predict_interval."""
    X, _ = moons
    draws = fitted.predict_proba_draws(X)
    assert draws.shape == (60, 200)  # 30 a chain
    assert fitted.predict_proba(X)[:, 1] == pytest.approx(draws.mean(axis=0), abs=1e-12)
    interval = fitted.predict_interval(X, level=0.8)
    assert interval == pytest.approx(np.quantile(draws, [0.1, 0.9], axis=0).T)
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        fitted.predict_interval(X, level=89)


@pytest.mark.parametrize("scan", ["paper", "collapsed"])
def test_whole_numbers_in_a_prior_are_floats(moons, scan):
    """A prior of integers gives the same bits as that of equal floats, in chains and in the modes they start from."""
    X, y = moons
    shared = {"inference": "gibbs", "scan": scan, "start": "map", "n_sweeps": 6, "max_experts": 2, "random_state": 0}
    found = [
        SumStackSoftplusClassifier(**shared, prior=Prior(*numbers)).fit(X, y).predict_proba(X)
        for numbers in ((1, 1, 1, 1, 6, 3), (1.0, 1.0, 1.0, 1.0, 6.0, 3.0))
    ]
    assert np.array_equal(*found)


def test_log_probabilities_and_decisions_agree(fitted, moons):
    """Far from the data as well."""
    X = np.concatenate([moons[0], [[1e3, -1e3], [-1e4, 1e4]]])
    probabilities = fitted.predict_proba(X)
    assert fitted.predict_log_proba(X) == pytest.approx(np.log(probabilities))
    assert np.array_equal(fitted.decision_function(X) > 0, probabilities[:, 1] > probabilities[:, 0])
    assert probabilities.sum(axis=1) == pytest.approx(1.0)


def test_same_seed_same_model_whatever_threads_and_order(moons):
    """Bit for bit; another seed differs."""
    X, y = moons
    order = np.random.default_rng(1).permutation(len(y))
    first = SumStackSoftplusClassifier(**SHORT).fit(X, y).predict_proba(X)
    assert np.array_equal(SumStackSoftplusClassifier(**SHORT, n_jobs=2).fit(X, y).predict_proba(X), first)
    assert np.array_equal(SumStackSoftplusClassifier(**SHORT).fit(X[order], y[order]).predict_proba(X), first)
    other = SumStackSoftplusClassifier(**{**SHORT, "random_state": 1}).fit(X, y).predict_proba(X)
    assert not np.array_equal(other, first)


def test_weights_are_repeats_exactly(moons):
    """Rows of weight two, and rows given twice, are the same data."""
    X, y = moons
    weights = np.random.default_rng(2).integers(0, 3, len(y))
    weighted = SumStackSoftplusClassifier(**SHORT).fit(X, y, sample_weight=weights)
    repeated = SumStackSoftplusClassifier(**SHORT).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_class_weight_moves_the_boundary(moons):
    """A heavier class is predicted more often; "balanced" undoes an imbalance."""
    X, y = moons
    plain = SoftplusClassifier(inference="gibbs", start="random", n_sweeps=300, random_state=0)
    heavy = clone(plain).set_params(class_weight={0: 1.0, 1: 10.0})
    assert heavy.fit(X, y).predict(X).sum() > plain.fit(X, y).predict(X).sum()
    kept = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:10]])
    balanced = clone(plain).set_params(class_weight="balanced").fit(X[kept], y[kept])
    assert balanced.predict(X[kept]).sum() > clone(plain).fit(X[kept], y[kept]).predict(X[kept]).sum()


def test_sparse_rows_predict_as_dense_ones(moons):
    """Fitted sparse, predictions for sparse and dense rows are the same; formats do not matter."""
    X, y = moons
    thin = sparse.csr_matrix(np.where(abs(X) < 0.3, 0.0, X))
    model = SumStackSoftplusClassifier(**SHORT).fit(thin, y)
    assert model.predict_proba(thin) == pytest.approx(model.predict_proba(thin.toarray()), rel=1e-12, abs=1e-14)
    assert np.array_equal(
        SumStackSoftplusClassifier(**SHORT).fit(thin.tocoo(), y).predict_proba(thin), model.predict_proba(thin)
    )


def test_names_change_names_only(moons):
    """Labels and columns under other names give the same probabilities, with those names."""
    pandas = pytest.importorskip("pandas")
    X, y = moons
    plain = SumStackSoftplusClassifier(**SHORT).fit(X, y)
    frame = pandas.DataFrame(X, columns=["width", "height"])
    named = SumStackSoftplusClassifier(**SHORT).fit(frame, np.where(y == 1, "yes", "no"))
    assert named.feature_names_in_.tolist() == ["width", "height"]
    assert named.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(named.predict_proba(frame), plain.predict_proba(X))
    assert set(named.predict(frame)) == {"no", "yes"}


def test_polars_frames(moons):
    """Names come from polars too."""
    polars = pytest.importorskip("polars")
    X, y = moons
    frame = polars.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    model = SumStackSoftplusClassifier(**SHORT).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["width", "height"]
    assert np.array_equal(model.predict_proba(frame), SumStackSoftplusClassifier(**SHORT).fit(X, y).predict_proba(X))


def test_more_classes():
    """One regression per class; probabilities sum to one, draws and intervals have a class axis."""
    X, y = load_iris(return_X_y=True)
    model = SumStackSoftplusClassifier(
        inference="gibbs", start="random", n_sweeps=200, max_experts=5, random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.93
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert model.predict_proba_draws(X[:4]).shape == (100, 4, 3)
    assert model.predict_interval(X[:4]).shape == (4, 3, 2)
    assert model.decision_function(X).shape == (150, 3)
    assert len(model.posterior_.regressions) == 3
    assert len(model.coefficients_) == 6


def test_warm_start_goes_on(moons):
    """More sweeps later are the sweeps of one long run, and their draws are added to those kept before."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SHORT, warm_start=True, n_draws=20).fit(X, y)
    assert model.predict_proba_draws(X).shape[0] == 40
    model.set_params(n_sweeps=100).fit(X, y)
    assert model.predict_proba_draws(X).shape[0] == 80
    unbroken = SumStackSoftplusClassifier(**{**SHORT, "n_sweeps": 100}, n_burn_in=30).fit(X, y)
    for ours, theirs in zip(model.log_likelihood_, unbroken.log_likelihood_, strict=True):
        assert np.array_equal(ours, theirs)
    with pytest.warns(UserWarning, match="nothing to do"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="not the ones they sampled with"):
        model.set_params(n_sweeps=120).fit(X + 1.0, y)


def test_warm_start_keeps_to_its_model(moons):
    """Other parameters or columns are refused, also with nothing to do; with no chains kept it starts from scratch."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SHORT, warm_start=True).fit(X, y)
    before = model.predict_proba(X)
    for changed in (
        {"standardize": False},
        {"n_layers": 2},
        {"n_chains": 3},
        {"symmetric": False},
        {"prior": Prior(2.0)},
    ):
        other = clone(model).fit(X, y).set_params(**changed)
        with pytest.raises(ValueError, match="rows, labels, weights or parameters"):
            other.fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.fit(np.column_stack([X, X]), y)
    with pytest.raises(ValueError, match="rows, labels, weights or parameters"):
        model.fit(X, 1 - y)
    assert np.array_equal(model.predict_proba(X), before)
    cold = SumStackSoftplusClassifier(**SHORT).fit(X, y).set_params(warm_start=True)
    with pytest.warns(UserWarning, match="starts from scratch"):
        cold.fit(X, y)


def test_warm_start_with_checkpoints(moons, tmp_path):
    """The files of the first fit and of the one that goes on stand side by side: the same script again ends alike."""
    X, y = moons

    def script():
        model = SumStackSoftplusClassifier(**SHORT, warm_start=True, checkpoint=tmp_path).fit(X, y)
        model.set_params(n_sweeps=80).fit(X, y)
        return model

    first = script()
    assert first.log_likelihood_[0].shape[1] == 80
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.npz")}
    assert np.array_equal(script().predict_proba(X), first.predict_proba(X))
    assert set(before) == set(tmp_path.rglob("*.npz"))
    with pytest.raises(ValueError, match="checkpoint needs an integer random_state"):
        SumStackSoftplusClassifier(inference="gibbs", checkpoint=tmp_path).fit(X, y)


def test_chains_that_went_on_are_not_taken_for_fresh_ones(moons, tmp_path):
    """Sixty sweeps and then sixty more have the schedule of 120, but other draws."""
    X, y = moons
    warm = SumStackSoftplusClassifier(**SHORT, warm_start=True, checkpoint=tmp_path / "warm").fit(X, y)
    warm.set_params(n_sweeps=120).fit(X, y)
    longer = SHORT | {"n_sweeps": 120}
    with pytest.raises(CheckpointError, match="other data, settings, start or seed"):
        SumStackSoftplusClassifier(**longer, checkpoint=tmp_path / "warm").fit(X, y)
    fresh = SumStackSoftplusClassifier(**longer, checkpoint=tmp_path / "fresh").fit(X, y)
    assert np.array_equal(fresh.predict_proba(X), SumStackSoftplusClassifier(**longer).fit(X, y).predict_proba(X))


def test_a_checkpoint_of_another_start_is_refused(moons, tmp_path):
    """Chains from random places are not those from modes."""
    X, y = moons
    SumStackSoftplusClassifier(**SHORT, checkpoint=tmp_path).fit(X, y)
    with pytest.raises(CheckpointError, match="other data, settings, start or seed"):
        SumStackSoftplusClassifier(**SHORT | {"start": "map"}, checkpoint=tmp_path).fit(X, y)


def test_diagnostics_after_another_inference(moons):
    """Chains after modes are diagnosed after their own burn-in."""
    X, y = moons
    model = SumStackSoftplusClassifier(max_experts=3, random_state=0, n_sweeps=1000, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match="starts from scratch"):
        model.set_params(inference="gibbs", n_sweeps=60, start="random").fit(X, y)
    assert model._n_burn_in == 30
    assert any("log-likelihood" in item.name for item in model.diagnostics())


def test_draws_of_classes_keep_their_tails():
    """Far from the rows the mean of one draw is that draw, for more than two classes too."""
    X, y = load_iris(return_X_y=True)
    model = SumStackSoftplusClassifier(**SHORT | {"n_chains": 1, "n_sweeps": 20, "n_draws": 1}).fit(X, y)
    far = X[::10] * 100.0
    assert model.predict_proba_draws(far)[0] == pytest.approx(model.predict_proba(far), rel=1e-9, abs=0.0)


def test_blocks_on_threads_can_go_on(moons):
    """The counts of the paper's scan are fetched from all blocks while there are threads for it."""
    X, y = moons
    few = {"scan": "paper", "n_chains": 1, "symmetric": False, "warm_start": True, "n_sweeps": 20}
    fits = [SumStackSoftplusClassifier(**SHORT | few, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 4)]
    for model in fits:
        model.set_params(n_sweeps=30).fit(X, y)
    assert np.array_equal(fits[0].predict_proba(X), fits[1].predict_proba(X))


def test_a_failed_fit_leaves_no_model(moons):
    """Nothing of the last fit answers for rows of another width."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SHORT).fit(X, y)
    wide = np.column_stack([X] * 30)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(wide, np.zeros(len(y)))
    with pytest.raises(NotFittedError):
        model.predict(wide)


@pytest.mark.parametrize("value", [0.0, 1.0, 2024.0, -1e9])
def test_constant_columns_change_nothing(value, moons):
    """A column of one number, however large, leaves the fit as good as a column of zeros does."""
    X, y = moons
    plain = SumStackSoftplusClassifier(**SHORT).fit(np.column_stack([X, np.zeros(len(y))]), y)
    rows = np.column_stack([X, np.full(len(y), value)])
    model = SumStackSoftplusClassifier(**SHORT).fit(rows, y)
    assert model.score(rows, y) == pytest.approx(plain.score(np.column_stack([X, np.zeros(len(y))]), y), abs=0.05)


def test_weights_in_any_order_merge_alike():
    """Copies of a row with fractional weights, in any order, or one with their sum, are the same data."""
    X, y = np.array([[0.0], [0.0], [0.0], [1.0], [2.0]]), np.array([1, 1, 1, 0, 1])
    fits = [
        SumStackSoftplusClassifier(**SHORT).fit(X, y, sample_weight=weights).predict_proba(X)
        for weights in ([0.1, 0.2, 0.3, 1.0, 1.0], [0.3, 0.2, 0.1, 1.0, 1.0])
    ]
    assert np.array_equal(*fits)


def test_rows_that_cannot_be(fitted):
    """A sparse matrix with an index beyond its columns, and numbers whose products overflow, are refused."""
    with pytest.raises(ValueError, match="index outside its 2 columns"):
        fitted.predict(sparse.csr_matrix(([1.0], [50_000_000], [0, 1]), shape=(1, 2)))
    with pytest.raises(ValueError, match="row 1 of X has numbers so large"):
        fitted.predict([[0.0, 0.0], [1.7e308, -1.7e308]])


def test_without_weights_it_is_logistic_regression(moons):
    """fit_weight=False has posterior means near the maximum of a logistic regression with as wide a prior."""
    X, y = moons
    prior = Prior(precision_shape=1e6, precision_rate=1e6)  # a normal law of variance one
    model = SoftplusClassifier(
        fit_weight=False,
        standardize=False,
        symmetric=False,
        inference="gibbs",
        start="random",
        n_sweeps=1500,
        n_draws=750,
        prior=prior,
        random_state=0,
    ).fit(X, y)
    # scikit-learn does not penalise the intercept; as a column of ones it is penalised here too.
    rows = np.column_stack([np.ones(len(X)), X])
    theirs = LogisticRegression(fit_intercept=False).fit(rows, y)
    draws = np.array(
        [d.coefficients[0, 0] for d in map(model.posterior_.regressions[0].labelings[0].draws.__getitem__, range(1500))]
    )
    error = draws.std(axis=0)
    assert (abs(draws.mean(axis=0) - theirs.coef_[0]) < 0.3 * error).all()
    tighter = LogisticRegression(fit_intercept=False, C=0.05).fit(rows, y)
    assert (abs(draws.mean(axis=0) - tighter.coef_[0]) > 0.3 * error).any()
    assert all(w.tolist() == [1.0] for w in model.expert_weights_)


def test_pickles_are_small_and_stable(fitted, moons, tmp_path):
    """A pickle holds draws, not rows: ten times the rows make it no larger by more than the traces' share."""
    X, _ = moons
    joblib.dump(fitted, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    big_X, big_y = make_moons(20_000, noise=0.2, random_state=1)
    big = SumStackSoftplusClassifier(**{**SHORT, "n_sweeps": 4}).fit(big_X, big_y)
    joblib.dump(big, tmp_path / "big.joblib")
    assert (tmp_path / "big.joblib").stat().st_size < 100_000


def test_checkpoint_resumes(moons, tmp_path):
    """A fit that was stopped, and one that was not, end alike."""
    X, y = moons
    plain = SumStackSoftplusClassifier(**SHORT).fit(X, y)
    first = SumStackSoftplusClassifier(**SHORT, checkpoint=tmp_path / "c").fit(X, y)
    again = SumStackSoftplusClassifier(**SHORT, checkpoint=tmp_path / "c").fit(X, y)
    for model in (first, again):
        assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert len(list((tmp_path / "c").rglob("*.npz"))) == 4


def test_progress_line(moons, capsys):
    """verbose=1 writes one line that ends at 100 %; nothing is written otherwise."""
    SumStackSoftplusClassifier(**SHORT).fit(*moons)
    assert capsys.readouterr() == ("", "")
    SumStackSoftplusClassifier(**SHORT, verbose=1).fit(*moons)
    lines = capsys.readouterr().err.strip().split("\r")
    assert lines[-1].startswith("100% of 240 sweeps, 0 s left; log-likelihood -")


def test_progress_of_more_sweeps_and_classes(moons, capsys):
    """A fit that goes on, and one of several classes, end at 100 % as well."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SHORT, warm_start=True).fit(X, y)
    model.set_params(verbose=1, n_sweeps=80).fit(X, y)
    assert capsys.readouterr().err.strip().split("\r")[-1].startswith("100% of 320 sweeps")
    X, y = load_iris(return_X_y=True)
    SumStackSoftplusClassifier(**{**SHORT, "n_sweeps": 10}, verbose=1).fit(X, y)
    assert capsys.readouterr().err.strip().split("\r")[-1].startswith("100% of 120 sweeps")


def interrupted(function):
    """The same, but Ctrl-C is pressed when it is called for the first time."""
    is_pressed = threading.Event()

    def pressed(*given, **named):
        if not is_pressed.is_set():
            is_pressed.set()
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.5)
        return function(*given, **named)

    return pressed


@pytest.mark.parametrize("n_before", [0, 1])
def test_an_interrupt_of_a_batch_is_not_swallowed(n_before, moons, monkeypatch):
    """Who feeds the batches hears it, and the batch that was interrupted has changed nothing."""
    X, y = moons
    model = SumStackSoftplusClassifier(max_experts=4, n_restarts=2, random_state=0)
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


def test_a_lost_cluster_tells_the_seed(moons, monkeypatch):
    """What was saved can be gone on from only with the seed, which may have been drawn."""
    given = []

    def lost(task, *_):
        given.append(task.seed[0])
        raise BlocksLostError("The chains are saved somewhere.")

    monkeypatch.setattr(_problems, "_fit_modes", lost)
    with pytest.raises(BlocksLostError) as raised:
        SumStackSoftplusClassifier().fit(*moons)
    assert str(raised.value) == f"The chains are saved somewhere. Use random_state={given[0]}, the seed of this fit."


def test_an_interrupt_of_the_start_ends_the_fit(moons, monkeypatch, tmp_path):
    """Chains from half-way up would be others than the seed's, and be taken for them when the fit is resumed."""
    X, y = moons
    settings = SHORT | {"start": "map", "checkpoint": tmp_path}
    with monkeypatch.context() as patch:
        patch.setattr(LogPosterior, "maximize", interrupted(LogPosterior.maximize))
        with pytest.raises(KeyboardInterrupt):
            SumStackSoftplusClassifier(**settings).fit(X, y)
    resumed = SumStackSoftplusClassifier(**settings).fit(X, y)
    plain = SumStackSoftplusClassifier(**settings | {"checkpoint": None}).fit(X, y)
    assert np.array_equal(resumed.predict_proba(X), plain.predict_proba(X))


def test_stopped_fits(moons, monkeypatch):
    """A stop leaves a model of two classes with a warning; with classes still to fit it is an error that says so."""

    def stopped(model, n_classes):
        monkeypatch.setattr(_base, "make_callback", lambda *_: lambda progress: progress.n_done == 40)
        X, y = moons if n_classes == 2 else load_iris(return_X_y=True)
        return model.fit(X, y)

    long = {**SHORT, "n_sweeps": 5000, "n_burn_in": 10, "verbose": 1}
    with pytest.warns(UserWarning, match="stopped early"):
        model = stopped(SumStackSoftplusClassifier(**long), 2)
    assert model.log_likelihood_[0].shape[1] < 5000
    assert model.predict_proba_draws(moons[0]).shape[0] > 0
    with pytest.raises(RuntimeError, match="2 classes still to fit"):
        stopped(SumStackSoftplusClassifier(**long), 3)


def test_scikit_learn_callbacks(moons):
    """Where scikit-learn has callbacks, they see every sweep and can stop the fit."""
    callback = pytest.importorskip("sklearn.callback")

    class Stop(callback.FitCallback):
        def __init__(self, after):
            self.after, self.n_seen = after, 0

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):  # noqa: ARG002
            self.n_seen += context.task_name.startswith("sweep")
            return self.n_seen >= self.after

        def teardown(self, estimator, context):
            pass

    watch = Stop(10**6)
    SumStackSoftplusClassifier(**SHORT).set_callbacks(watch).fit(*moons)
    assert watch.n_seen == 240
    stop = Stop(200)
    with pytest.warns(UserWarning, match="stopped early"):
        model = SumStackSoftplusClassifier(**SHORT).set_callbacks(stop).fit(*moons)
    assert stop.n_seen < 240
    assert model.predict(moons[0]).shape == (200,)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_disagreement_about_probabilities_is_a_warning(rng):
    """It has the largest R-hat of `diagnostics`; of well-mixed chains nothing is said (but of 1 % of them)."""
    X, y = make_circles(200, factor=0.35, noise=0.08, random_state=0)
    short = SumSoftplusClassifier(inference="gibbs", start="random", n_sweeps=24, max_experts=6, random_state=0)
    with pytest.warns(ConvergenceWarning, match="about the probabilities they predict") as told:
        short.fit(X, y)
    worst = max(item.r_hat for item in short.diagnostics() if "probability" in item.name)
    assert f"R-hat is up to {worst:.2f}" in str(told[0].message)
    assert told[0].filename == __file__
    X = rng.standard_normal((100, 1))
    SoftplusClassifier(inference="gibbs", n_sweeps=400, random_state=0).fit(X, rng.random(100) < 0.5)


def test_disagreement_is_said_in_words(moons):
    """Chains too short to agree give a warning; diagnostics have R-hat and effective draws."""
    model = SumStackSoftplusClassifier(inference="gibbs", start="random", n_sweeps=400, random_state=0).fit(*moons)
    names = [item.name for item in model.diagnostics()]
    assert "log-likelihood, labeling 0" in names
    assert "number of experts, labeling 1" in names
    assert sum(name.startswith("probability at training row") for name in names) == 10
    with pytest.warns(ConvergenceWarning, match="chains disagree about the log-likelihood"):
        SumStackSoftplusClassifier(inference="gibbs", start="random", n_sweeps=20, n_burn_in=0, random_state=0).fit(
            *moons
        )


BAD = [
    ({"max_experts": 0}, "max_experts must be an integer >= 1; got 0"),
    ({"max_experts": 2.5}, "max_experts must be an integer >= 1; got 2.5"),
    ({"n_layers": "3"}, "n_layers must be an integer >= 1; got '3'"),
    ({"n_chains": True}, "n_chains must be an integer >= 1; got True"),
    ({"n_sweeps": 1}, "n_sweeps must be an integer >= 2; got 1"),
    ({"n_burn_in": 60}, "n_burn_in must be from 0 to n_sweeps - 1; got 60 with n_sweeps=60"),
    ({"n_draws": 31}, "n_draws must be from 1 to the 30 sweeps after burn-in; got 31"),
    ({"inference": "nuts"}, "inference must be one of 'auto', 'gibbs', 'map'; got 'nuts'"),
    ({"scan": None}, "scan must be one of 'auto', 'paper', 'collapsed'; got None"),
    ({"estimate": "median"}, "estimate must be one of 'mean', 'best'; got 'median'"),
    ({"symmetric": 1}, "symmetric must be True or False; got 1"),
    ({"standardize": "yes"}, "standardize must be True or False; got 'yes'"),
    ({"prior": 3.0}, "prior must be a softpolytope.Prior or None; got 3.0"),
    ({"checkpoint": 5}, "checkpoint must be a folder, a CheckpointPlan or None; got 5"),
    ({"random_state": -1}, "random_state must be from 0 to 2\\*\\*32 - 1; got -1"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD)
def test_bad_parameters_are_named(parameters, message, moons):
    """With what was seen."""
    with pytest.raises(ValueError, match=message):
        SumStackSoftplusClassifier(**{**SHORT, **parameters}).fit(*moons)


def test_bad_rows_are_named(moons):
    """The column by its name, the row by its number, and what to do."""
    pandas = pytest.importorskip("pandas")
    X, y = moons
    model = SumStackSoftplusClassifier(**SHORT)
    frame = pandas.DataFrame(X.copy(), columns=["width", "height"])
    frame.loc[7, "height"] = np.nan
    with pytest.raises(ValueError, match=r"Column 'height' of input X holds NaN at row 7.*Impute or drop"):
        model.fit(frame, y)
    bad = sparse.csr_matrix(X)
    bad.data[2 * 5 + 1] = np.inf
    with pytest.raises(ValueError, match=r"Column 1 of input X holds inf \(infinity\) at row 5"):
        model.fit(bad, y)
    with pytest.raises(ValueError, match="y holds only one class"):
        model.fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"sample_weight must be finite and >= 0; got -1.0 at row 3"):
        model.fit(X, y, sample_weight=np.where(np.arange(len(y)) == 3, -1.0, 1.0))
    with pytest.raises(ValueError, match="class 1 has no row of positive weight"):
        model.fit(X, y, sample_weight=(y == 0).astype(float))
    with pytest.raises(ValueError, match="integer weights"):
        SumStackSoftplusClassifier(**SHORT, scan="paper").fit(X, y, sample_weight=np.full(len(y), 0.5))
    with pytest.raises(NotFittedError):
        SumStackSoftplusClassifier().predict(X)
