"""Meta-estimators of scikit-learn, each used for its result; tests/estimators/test_ecosystem.py has more tools."""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, brier_score_loss
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier


def test_stacking_and_voting(classifier, moons):
    """Beside a linear model, stacks and votes are better than the linear model alone."""
    X, y = moons
    members = [("linear", LogisticRegression()), ("polytope", classifier)]
    alone = LogisticRegression().fit(X[:160], y[:160]).score(X[160:], y[160:])
    assert StackingClassifier(members, cv=3).fit(X[:160], y[:160]).score(X[160:], y[160:]) > alone
    votes = VotingClassifier(members, voting="soft").fit(X[:160], y[:160])
    own = [member.predict_proba(X[160:]) for member in votes.estimators_]
    np.testing.assert_allclose(votes.predict_proba(X[160:]), np.mean(own, axis=0))


def test_thresholds(classifier, model, moons):
    """With one positive in eight, a tuned threshold is below one half, and no worse in balance."""
    X, y = moons
    rows = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:17]])
    tuned = TunedThresholdClassifierCV(classifier, cv=3, random_state=0).fit(X[rows], y[rows])
    assert 0.0 <= tuned.best_threshold_ < 0.5
    plain = balanced_accuracy_score(y, tuned.estimator_.predict(X))
    assert balanced_accuracy_score(y, tuned.predict(X)) >= plain
    fixed = FixedThresholdClassifier(model, threshold=0.9, response_method="predict_proba").fit(X, y)
    assert np.array_equal(fixed.predict(X) == 1, fixed.estimator_.predict_proba(X)[:, 1] >= 0.9)


def test_calibration(classifier, moons):
    """Calibrated by folds, by either method, probabilities are better than the classes' shares, (0.25)."""
    X, y = moons
    for method in ("sigmoid", "isotonic"):
        calibrated = CalibratedClassifierCV(classifier, method=method, cv=3).fit(X[:160], y[:160])
        assert brier_score_loss(y[160:], calibrated.predict_proba(X[160:])[:, 1]) < 0.1


def test_inspection_of_pipelines(classifier, moons):
    """Behind a scaler, importance and partial dependence are those of the raw columns."""
    X, y = moons
    pipeline = make_pipeline(StandardScaler(), classifier).fit(X * 50.0, y)
    found = permutation_importance(pipeline, X * 50.0, y, scoring="neg_log_loss", n_repeats=3, random_state=0)
    assert found.importances_mean.argmin() == 2
    curve = partial_dependence(pipeline, X * 50.0, [1], grid_resolution=10, response_method="predict_proba")
    assert curve["average"][0][0] > curve["average"][0][-1] + 0.2
    assert np.ptp(curve["grid_values"][0]) > 25.0


def test_multioutput(classifier, moons):
    """Of two labels each has a model; in a chain the second sees the first."""
    X, y = moons
    labels = np.column_stack([y, X[:, 2] > 0.0]).astype(int)
    several = MultiOutputClassifier(classifier).fit(X[:160], labels[:160])
    assert (several.predict(X[160:]) == labels[160:]).mean(axis=0).min() > 0.85
    chain = ClassifierChain(classifier, order=[1, 0]).fit(X[:160], labels[:160])
    assert (chain.predict(X[160:]) == labels[160:]).mean(axis=0).min() > 0.85
    assert chain.estimators_[1].n_features_in_ == 4


def test_self_training(classifier, moons):
    """Rows without labels are labeled, most of them rightly."""
    X, y = moons
    partly = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    trained = SelfTrainingClassifier(classifier, threshold=0.8, max_iter=3).fit(X, partly)
    is_new = (partly == -1) & (trained.transduction_ != -1)
    assert is_new.sum() > 80
    assert (trained.transduction_ == y)[is_new].mean() > 0.9
