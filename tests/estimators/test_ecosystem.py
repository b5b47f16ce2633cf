"""The classifiers inside other people's tools, each used for its result."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay, PartialDependenceDisplay, permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from softpolytope import SumStackSoftplusClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 80, "max_experts": 6, "n_chains": 1, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles and a column of noise."""
    X, y = make_moons(200, noise=0.2, random_state=0)
    return np.column_stack([X, np.random.default_rng(0).normal(size=200)]), y


@pytest.fixture(scope="module")
def model(moons):
    """A fit of them."""
    return SumStackSoftplusClassifier(**SHORT).fit(*moons)


def test_pipeline(moons):
    """A scaler before it changes nothing that matters: the classifier standardizes anyway."""
    X, y = moons
    pipeline = make_pipeline(StandardScaler(), SumStackSoftplusClassifier(**SHORT)).fit(X * 50.0, y)
    assert pipeline.score(X * 50.0, y) > 0.9


@pytest.mark.slow
def test_grid_search(moons):
    """Two layers beat none; the best parameters are those of the best score."""
    X, y = moons
    search = GridSearchCV(SumStackSoftplusClassifier(**SHORT), {"max_experts": [1, 6], "n_layers": [1, 3]}, cv=3)
    search.fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == scores.max()
    assert scores[search.best_index_] > scores[0] + 0.03  # one expert of one layer is linear


def test_cross_val_predict(moons):
    """Out-of-fold probabilities are better than a coin."""
    X, y = moons
    probabilities = cross_val_predict(SumStackSoftplusClassifier(**SHORT), X, y, cv=3, method="predict_proba")
    assert ((probabilities[:, 1] > 0.5) == y).mean() > 0.85


def test_permutation_importance(model, moons):
    """The noise column matters least."""
    importance = permutation_importance(model, *moons, n_repeats=3, random_state=0).importances_mean
    assert importance.argmin() == 2


def test_clone_is_unfitted_and_equal(model):
    """The clone has the parameters and no posterior."""
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "posterior_")


def test_column_transformer_with_set_output(moons):
    """Columns keep their names through a pipeline that gives out data frames."""
    pandas = pytest.importorskip("pandas")
    X, y = moons
    frame = pandas.DataFrame({"x": X[:, 0], "y": X[:, 1], "side": np.where(X[:, 2] > 0, "left", "right")})
    transform = make_column_transformer(
        (StandardScaler(), ["x", "y"]), (OneHotEncoder(sparse_output=False), ["side"]), verbose_feature_names_out=False
    )
    pipeline = make_pipeline(transform.set_output(transform="pandas"), SumStackSoftplusClassifier(**SHORT)).fit(
        frame, y
    )
    assert pipeline[-1].feature_names_in_.tolist() == ["x", "y", "side_left", "side_right"]
    assert pipeline.score(frame, y) > 0.9


@pytest.fixture
def figures():
    """matplotlib without a screen."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.usefixtures("figures")
def test_calibration_display(model, moons):
    """The curve has the probabilities that were predicted."""
    display = CalibrationDisplay.from_estimator(model, *moons, n_bins=5)
    assert np.array_equal(display.y_prob, model.predict_proba(moons[0])[:, 1])


@pytest.mark.usefixtures("figures")
def test_decision_boundary_display(moons):
    """Both classes are on the map."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SHORT).fit(X[:, :2], y)
    display = DecisionBoundaryDisplay.from_estimator(model, X[:, :2], response_method="predict", grid_resolution=20)
    assert set(np.unique(display.response)) == {0, 1}


@pytest.mark.usefixtures("figures")
def test_partial_dependence_display(model, moons):
    """The second feature of the moons pulls the probability down from low to high."""
    display = PartialDependenceDisplay.from_estimator(model, moons[0], [1], grid_resolution=10)
    curve = display.pd_results[0]["average"][0]
    assert curve[0] > curve[-1] + 0.2
