"""Summary of a model and rows: scores, weights, ranges and wrong arguments."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import brier_score_loss, log_loss

from softpolytope import SumSoftplusClassifier, TableClassifier
from softpolytope.model import draw_quantiles
from softpolytope.report._payload import make_payload
from softpolytope.report._summary import ReportOptions, summarize_model, weight_bands

NOTHING = ReportOptions()


def test_scores_are_those_of_scikit_learn(any_model):
    """Error, log-loss and, with two classes, the Brier score."""
    model, X, y = any_model
    own = summarize_model(model, X, y, NOTHING).scores[0]
    probabilities = model.predict_proba(X)
    assert own.error == pytest.approx(1.0 - model.score(X, y))
    assert own.log_loss == pytest.approx(log_loss(y, probabilities, labels=model.classes_))
    if len(model.classes_) == 2:
        assert own.brier == pytest.approx(brier_score_loss(y == model.classes_[1], probabilities[:, 1]))
    assert own.error_interval[0] <= own.error <= own.error_interval[1] or own.error == 0.0


def test_baselines_are_beside_it(modes):
    """Scores that are not given are None."""
    scores = summarize_model(*modes, ReportOptions(baselines={"SVM": {"error": 0.1}, "LR": {"log_loss": 0.3}})).scores
    assert [(score.name, score.error, score.log_loss) for score in scores[2:]] == [
        ("SVM", 0.1, None),
        ("LR", None, 0.3),
    ]


@pytest.mark.parametrize("values", [{"error": 12.5}, {"log_loss": float("nan")}])
def test_impossible_baselines_are_refused(modes, values):
    """Percentages instead of shares, and NaN."""
    with pytest.raises(ValueError, match="baselines"):
        summarize_model(*modes, ReportOptions(baselines={"SVM": values}))
    with pytest.raises(ValueError, match="reference_scores"):
        summarize_model(*modes, ReportOptions(reference_scores={"SVM": values}))


def test_weights_are_compared_by_rank(chains):
    """Bands are quantiles of the sorted weights over draws."""
    draws = chains[0].posterior_.regressions[0].labelings[0].draws
    largest = [draws[number].expert_weights[draws[number].is_active].max() for number in range(len(draws))]
    np.testing.assert_allclose(weight_bands(draws)[0], draw_quantiles(np.array(largest), [0.055, 0.5, 0.945]))


def test_rows_beyond_the_training_range_are_counted(modes):
    """One feature outside the range is enough."""
    model, X, y = modes
    before = summarize_model(model, X, y, NOTHING).n_outside
    moved = X.copy()
    moved[np.flatnonzero((np.abs(X) < 1).all(axis=1))[0], 1] = 50.0
    assert summarize_model(model, moved, y, NOTHING).n_outside == before + 1


def test_data_frames_and_sparse_rows():
    """Rows as pandas and SciPy hold them, without a warning about names."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    y = (frame["a"] > frame["b"]).to_numpy()
    model = SumSoftplusClassifier(max_experts=2, inference="map", n_restarts=1, random_state=0)
    summary = summarize_model(model.fit(frame, y), frame, pd.Series(y), NOTHING)
    assert summary.model.features.names == ("a", "b", "c")
    assert summary.classes == ("False", "True")
    rows = sparse.csr_matrix(frame.to_numpy())
    make_payload(summarize_model(model.fit(rows, y), rows, y, NOTHING))


@pytest.mark.parametrize(
    ("given", "y", "message"),
    [
        ({"feature_names": ["one"]}, None, "feature_names must name the 2"),
        ({"raw_columns": ["one"]}, None, "both or neither"),
        ({"raw_columns": ["one"], "raw_rows": [["a", "b"]] * 150}, None, "raw_columns must name the 2"),
        ({"raw_rows": [["a", "b"]] * 3}, None, "one row for each of the 150"),
        ({}, ["ring"] * 3, "one label for each of the 150"),
        ({}, ["ring"] * 149 + ["square"], "'square' at row 149"),
    ],
)
def test_wrong_arguments_are_named(modes, given, y, message):
    """Errors say what was wrong and what was found."""
    model, X, labels = modes
    with pytest.raises(ValueError, match=message):
        summarize_model(model, X, labels if y is None else y, ReportOptions(**given))


@pytest.mark.parametrize("hint", ["last step", r"named_classifier\(\)"])
def test_other_estimators_are_refused(hint):
    """The error says what to pass for a pipeline and for a classifier of tables."""
    with pytest.raises(ValueError, match=hint):
        summarize_model(object(), [[0.0]], [0], NOTHING)
    with pytest.raises(ValueError, match=f"got TableClassifier.*{hint}"):
        summarize_model(TableClassifier(), [[0.0]], [0], NOTHING)
