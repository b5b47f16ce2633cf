"""Other people's libraries that explain, tune, balance, calibrate and judge classifiers."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.model_selection import cross_val_score

from softpolytope import SumStackSoftplusClassifier

# Tools may be older than the libraries they use; only what they find is tested.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_shap(model, moons):
    """Shapley values add up to the probability, and the column of noise has the smallest."""
    shap = pytest.importorskip("shap")
    X, _ = moons

    def probability(rows):
        return model.predict_proba(rows)[:, 1]

    explainer = shap.Explainer(probability, shap.maskers.Independent(X[:40]), algorithm="exact")
    found = explainer(X[160:180])
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, probability(X[160:180]), atol=1e-6)
    assert np.abs(found.values).mean(axis=0).argmin() == 2


def test_mapie(model):
    """Conformal sets hold 90 % of new labels, at level 1e-4; sets made for 50 % are rejected.

    Given n rows for calibration, the share covered is Beta(k, n + 1 - k) with k = ceil(0.9 (n + 1)), so the number
    covered of the new rows is beta-binomial.
    """
    classification = pytest.importorskip("mapie.classification")
    rng = np.random.default_rng(1)
    X, y = make_moons(600, noise=0.2, random_state=1)
    X = np.column_stack([X, rng.normal(size=600)])
    pvalues = []
    for confidence in (0.9, 0.5):
        conformal = classification.SplitConformalClassifier(model, confidence_level=confidence, prefit=True)
        conformal.conformalize(X[:200], y[:200])
        _, sets = conformal.predict_set(X[200:])
        n_covered = sets[np.arange(400), y[200:], 0].sum()
        pvalues.append(stats.betabinom(400, 181, 20).cdf(n_covered))
    assert pvalues[0] > 1e-4
    assert pvalues[1] < 1e-4


def test_imbalanced_learn(classifier, moons):
    """In a pipeline that samples, the rare class is found more often than without."""
    over_sampling = pytest.importorskip("imblearn.over_sampling")
    pipeline = pytest.importorskip("imblearn.pipeline")
    X, y = moons
    rows = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:17]])
    balanced = pipeline.make_pipeline(over_sampling.SMOTE(k_neighbors=3, random_state=0), classifier)
    balanced.fit(X[rows], y[rows])
    plain = SumStackSoftplusClassifier(**classifier.get_params()).fit(X[rows], y[rows])
    recall = [(one.predict(X[y == 1]) == 1).mean() for one in (balanced, plain)]
    assert recall[0] >= recall[1]
    assert balanced[-1].n_features_in_ == 3


def test_optuna(moons):
    """A study tries layers and experts and ends with the best of its trials."""
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = moons

    def objective(trial):
        layers, experts = trial.suggest_int("n_layers", 1, 3), trial.suggest_int("max_experts", 1, 4)
        one = SumStackSoftplusClassifier(n_layers=layers, max_experts=experts, n_members=2, random_state=0)
        return cross_val_score(one, X, y, cv=3, scoring="neg_log_loss").mean()

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=4)
    assert study.best_value == max(trial.value for trial in study.trials)
    assert study.best_value > -0.5


def test_fairlearn(classifier, moons):
    """Reductions pass weights to the fit and lower the difference that they are about; metrics go by group."""
    metrics = pytest.importorskip("fairlearn.metrics")
    reductions = pytest.importorskip("fairlearn.reductions")
    X, y = moons
    group = np.where(X[:, 0] > 0.5, "right", "left")
    plain = SumStackSoftplusClassifier(**classifier.get_params()).fit(X, y)
    fair = reductions.ExponentiatedGradient(classifier, reductions.DemographicParity(), max_iter=5)
    fair.fit(X, y, sensitive_features=group)
    differences = [
        metrics.demographic_parity_difference(y, predicted, sensitive_features=group)
        for predicted in (fair.predict(X, random_state=0), plain.predict(X))
    ]
    assert differences[0] < differences[1]


def test_dalex(model, moons):
    """Its explainer finds the classifier's probabilities, and the noise the least important."""
    dalex = pytest.importorskip("dalex")
    pandas = pytest.importorskip("pandas")
    X, y = moons
    frame = pandas.DataFrame(X, columns=["x", "y", "noise"])
    named = SumStackSoftplusClassifier(**model.get_params()).fit(frame, y)
    explainer = dalex.Explainer(named, frame, y, verbose=False)
    np.testing.assert_array_equal(explainer.predict(frame), named.predict_proba(frame)[:, 1])
    parts = explainer.model_parts(B=3, random_state=0).result.set_index("variable")["dropout_loss"]
    assert parts[["x", "y", "noise"]].idxmin() == "noise"


def test_skore(classifier, moons):
    """A report on a held-out part has the classifier's own accuracy."""
    skore = pytest.importorskip("skore")
    X, y = moons
    report = skore.EstimatorReport(
        classifier, X_train=X[:160], y_train=y[:160], X_test=X[160:], y_test=y[160:], pos_label=1
    )
    assert report.metrics.accuracy() == pytest.approx(report.estimator_.score(X[160:], y[160:]))
