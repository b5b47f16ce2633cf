"""`TableClassifier` as a scikit-learn classifier of raw rows."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from softpolytope import SoftplusClassifier, SumSoftplusClassifier, SumStackSoftplusClassifier, TableClassifier
from softpolytope import load_model as load
from softpolytope.tabular._encoder import median

FAST = {"inference": "map", "n_restarts": 2}


def make_model(**parameters):
    """A model that takes a moment to fit."""
    return TableClassifier(SumSoftplusClassifier(max_experts=3, random_state=0, **FAST), **parameters)


def make_columns(n_rows=120):
    """Numbers, text and missing values, and labels that depend on all of them."""
    rng = np.random.default_rng(5)
    age, city = rng.normal(50.0, 15.0, n_rows), rng.choice(["Oslo", "Rome", "Bonn"], n_rows)
    buys = np.where((age > 50.0) ^ (city == "Oslo"), "yes", "no")
    age[rng.random(n_rows) < 0.1] = np.nan
    return {"age": age, "city": city.astype(object), "size": rng.normal(size=n_rows)}, buys


@pytest.fixture
def frame():
    """The table as a pandas data frame."""
    columns, buys = make_columns()
    return pytest.importorskip("pandas").DataFrame(columns), buys


@parametrize_with_checks(
    [TableClassifier(SoftplusClassifier(**FAST)), TableClassifier(SumStackSoftplusClassifier(max_experts=2, **FAST))]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    """No check fails."""
    check(estimator)


def test_labels_apart_and_in_a_column_are_the_same_fit(frame, tmp_path):
    """Of a frame, a dict of columns and a file, with the labels as y, by the name as y, or as target."""
    X, y = frame
    expected = make_model().fit(X, y).predict_proba(X)
    table = X.assign(buys=y)
    table.to_csv(tmp_path / "a.csv", index=False)
    columns = {name: table[name].tolist() for name in table}
    fits = [
        make_model().fit(table, "buys"),
        make_model().fit(table, target="buys"),
        make_model().fit(columns, "buys"),
        make_model().fit(tmp_path / "a.csv", "buys"),
        make_model().fit(table, y, drop=["buys"]),
    ]
    for model in fits:
        assert np.array_equal(model.predict_proba(X), expected)
        assert model.feature_names_in_.tolist() == ["age", "city", "size"]
        assert model.n_features_in_ == 3
        assert model.feature_names_ == ("age", "city=Bonn", "city=Oslo", "city=Rome", "size")
    with pytest.raises(ValueError, match="y and target exclude each other"):
        make_model().fit(table, y, target="buys")
    with pytest.raises(ValueError, match="X has 120 rows, and y has 119 labels"):
        make_model().fit(X, y[1:])


def test_parameters_of_the_classifier_are_nested(frame):
    """Also of the default one, which set_params then makes; a clone has them."""
    model = TableClassifier(random_state=3)
    assert model.get_params()["classifier__n_layers"] == SumStackSoftplusClassifier().n_layers
    assert model.get_params(deep=False)["classifier"] is None
    same = clone(model).set_params(classifier__n_layers=1, classifier__max_experts=2, classifier__n_members=2)
    assert (same.classifier.n_layers, same.random_state, model.classifier) == (1, 3, None)
    assert clone(same).get_params()["classifier__n_layers"] == 1
    with pytest.raises(ValueError, match="Invalid parameter"):
        TableClassifier().set_params(classifier__depth=3)
    X, y = frame
    one, other = (clone(same).fit(X, y).predict_proba(X) for _ in range(2))
    assert np.array_equal(one, other)  # the seed is the classifier's
    assert "n_layers" in TableClassifier(same.classifier)._repr_html_()


def test_searches_and_pipelines(frame):
    """Cross-validation, a grid of nested parameters, a pipeline, a tuned threshold, importances of raw columns."""
    X, y = frame
    assert cross_val_score(make_model(), X, y, cv=3).mean() > 0.75
    search = GridSearchCV(make_model(), {"classifier__max_experts": [1, 3]}, cv=2, error_score="raise").fit(X, y)
    assert search.predict(X).shape == (120,)
    assert make_pipeline("passthrough", make_model()).fit(X, y).score(X, y) > 0.75
    tuned = TunedThresholdClassifierCV(make_model(), scoring="balanced_accuracy", cv=2).fit(X, y == "yes")
    assert 0.0 <= tuned.best_threshold_ <= 1.0
    model = make_model().fit(X, y)
    importances = permutation_importance(model, X, y, n_repeats=3, random_state=0).importances_mean
    assert importances.shape == (3,)
    assert importances.argmin() == 2


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_frames_are_the_same_table(frame, library):
    """The same bits for the table in polars and Arrow."""
    X, y = frame
    module = pytest.importorskip(library)
    columns = {name: [None if value != value else value for value in X[name]] for name in X}  # noqa: PLR0124  # NaN
    other = module.DataFrame(columns) if library == "polars" else module.table(columns)
    expected = make_model().fit(X, y).predict_proba(X)
    assert np.array_equal(make_model().fit(other, y).predict_proba(other), expected)
    assert cross_val_score(make_model(), other, y, cv=2).mean() > 0.7


def test_methods_are_those_of_the_classifier(frame):
    """For raw rows, with the names of the columns."""
    X, y = frame
    model = TableClassifier(SoftplusClassifier(inference="gibbs", n_sweeps=60, n_chains=1, random_state=0)).fit(X, y)
    rows, inner = model.encode(X), model.classifier_
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "predict_proba_draws"):
        assert np.array_equal(getattr(model, name)(X), getattr(inner, name)(rows))
    assert np.array_equal(model.predict_interval(X, 0.5), inner.predict_interval(rows, 0.5))
    assert model.score(X, y) == inner.score(rows, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert {"[city is Oslo]", "age"} <= set(model.polytopes()[0].features.names)
    assert set(model.explain(X[:2]).experts["feature"]) <= set(model.feature_names_)
    (change,) = model.counterfactual(X[:1], fixed=["size"])
    assert change.predicted == model.predict(X[:1])[0]


def test_arrays_go_by_position(frame, tmp_path):
    """With or without names; a file remembers which."""
    X, y = frame
    array = X.to_numpy()
    plain = make_model().fit(array, y)
    assert not hasattr(plain, "feature_names_in_")
    assert plain.n_features_in_ == 3
    named = make_model().fit(X, y)
    assert np.array_equal(plain.predict_proba(array), named.predict_proba(X))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert np.array_equal(named.predict(array), plain.predict(array))
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert np.array_equal(plain.predict(X), plain.predict(array))
    with pytest.raises(ValueError, match="X has 2 features, but TableClassifier is expecting 3 features"):
        plain.predict(array[:, :2])
    plain.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert not hasattr(again, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(again.predict_proba(array), plain.predict_proba(array))


def test_a_weight_of_two_is_a_row_given_twice(frame):
    """Medians included: the filled-in number is that of the rows."""
    X, y = frame
    weights = np.arange(120) % 3 + 1.0
    twice = np.repeat(np.arange(120), weights.astype(int))
    weighted = make_model().fit(X, y, sample_weight=weights)
    repeated = make_model().fit(X.iloc[twice], y[twice])
    assert weighted.encoder_ == repeated.encoder_
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    assert weighted.encoder_ != make_model().fit(X, y).encoder_
    with pytest.raises(ValueError, match="sample_weight"):
        make_model().fit(X, y, sample_weight=weights[1:])


def test_weighted_medians(rng):
    """Those of values repeated as often as they weigh; a weight of zero is no value."""
    for size in range(1, 12):
        values, weights = rng.normal(size=size), rng.integers(0, 4, size)
        repeated = np.repeat(values, weights)
        assert median(values, weights.astype(float)) == (np.median(repeated) if len(repeated) else 0.0)
    assert median(np.empty(0)) == median(np.empty(0), np.empty(0)) == 0.0


def test_weights_are_routed(frame):
    """On request, through scikit-learn's metadata routing."""
    X, y = frame
    weights = np.where(np.arange(120) < 60, 1.0, 0.01)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = make_model().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = cross_val_score(asked, X, y, cv=2, params={"sample_weight": weights})
    assert not np.array_equal(scores, cross_val_score(make_model(), X, y, cv=2))


def test_callbacks_are_called():
    """Those of the table's classifier get the steps of the classifier in it."""
    pytest.importorskip("sklearn.callback")
    seen = []

    class Watcher:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, *_, **__):
            seen.append(type(estimator).__name__)

        def on_fit_task_end(self, *_, **__):
            return False

    columns, y = make_columns()
    make_model().set_callbacks(Watcher()).fit(columns, y)
    assert "SumSoftplusClassifier" in seen


def test_nothing_is_predicted_before_a_fit(frame, tmp_path):
    """Nor saved; and rows in memory are not sparse or nested."""
    X, y = frame
    for call in (lambda: TableClassifier().predict(X), lambda: TableClassifier().save(tmp_path / "m")):
        with pytest.raises(NotFittedError):
            call()
    assert not hasattr(TableClassifier(), "n_features_in_")
    with pytest.raises(TypeError, match=r"column 'city' holds \['Oslo'\] at row 0, but a cell .* must be a string"):
        make_model().fit(X.assign(city=[["Oslo"], None] * 60), y)
