"""Scores of probabilities, against scikit-learn's and by hand."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss, roc_auc_score

from softpolytope.report import Calibration, evaluate
from softpolytope.report._scores import score_majority_vote, score_predictions


def made(rng, n_rows, n_classes, digits=2):
    """Labels and probabilities with many ties."""
    probabilities = rng.dirichlet(np.ones(n_classes), n_rows).round(digits)
    probabilities[:, -1] = 1.0 - probabilities[:, :-1].sum(axis=1)
    labels = np.array(["no", "yes", "perhaps", "never"])[: max(n_classes, 2)]
    labels = np.sort(labels)
    own = [rng.choice(labels, p=np.clip(row, 0.0, None) / np.clip(row, 0.0, None).sum()) for row in probabilities]
    return (
        np.array(own),
        np.clip(probabilities, 0.01, None) / np.clip(probabilities, 0.01, None).sum(axis=1, keepdims=True),
        labels,
    )


def test_two_classes(rng):
    """All scores are those of scikit-learn."""
    y, probabilities, classes = made(rng, 300, 2)
    found = evaluate(y, probabilities, classes)
    decided = classes[probabilities.argmax(axis=1)]
    assert found.n_rows == 300
    assert found.score.error == pytest.approx(np.mean(decided != y))
    assert found.score.log_loss == pytest.approx(log_loss(y, probabilities))
    assert found.score.brier == pytest.approx(brier_score_loss(y == classes[1], probabilities[:, 1]))
    assert found.auc == pytest.approx(roc_auc_score(y == classes[1], probabilities[:, 1]))
    assert found.confusion.tolist() == confusion_matrix(y, decided, labels=classes).tolist()
    assert found.calibration.counts.sum() == 300
    assert found.majority.error == pytest.approx(min(np.mean(y == label) for label in classes))


def test_four_classes(rng):
    """The mean over classes of the area of each against the others; a class without rows is left out of it."""
    y, probabilities, classes = made(rng, 400, 4)
    assert evaluate(y, probabilities, classes).auc == pytest.approx(roc_auc_score(y, probabilities, multi_class="ovr"))
    is_kept = y != classes[2]
    areas = [roc_auc_score(y[is_kept] == classes[k], probabilities[is_kept, k]) for k in (0, 1, 3)]
    found = evaluate(y[is_kept], probabilities[is_kept], classes)
    assert found.auc == pytest.approx(np.mean(areas))
    assert found.confusion[2].sum() == 0


def test_order_of_classes_and_given_decisions(rng):
    """Columns may be in any order; decisions replace those of the largest probability, not the probabilities."""
    # Enough digits for no ties between classes: the first of the order given wins a tie.
    y, probabilities, classes = made(rng, 200, 4, digits=8)
    order = [2, 0, 3, 1]
    found, other = evaluate(y, probabilities, classes), evaluate(y, probabilities[:, order], classes[order])
    assert other.score.log_loss == pytest.approx(found.score.log_loss)
    assert other.confusion.tolist() == found.confusion[np.ix_(order, order)].tolist()
    decided = evaluate(y, probabilities, classes, decisions=y)
    assert decided.score.error == 0.0
    assert decided.score.log_loss == found.score.log_loss
    assert decided.auc == found.auc


def test_rows_of_one_class():
    """There is no AUC, and all other scores are as usual."""
    found = evaluate([1, 1], [[0.2, 0.8], [0.6, 0.4]], [0, 1])
    assert found.auc is None
    assert found.score.error == 0.5
    assert found.majority.error == 0.0


@pytest.mark.parametrize(
    ("y", "probabilities", "message"),
    [
        (["no"], [[0.5, 0.3, 0.2]], "one column for each of the 2 classes; got shape"),
        ([], np.empty((0, 2)), "probabilities must have at least one row"),
        (["no", "yes"], [[0.5, 0.5]], "one label for each of the 1 rows"),
        (["maybe"], [[0.5, 0.5]], "y holds 'maybe' at row 0, which is not one of the classes"),
    ],
)
def test_wrong_shapes_and_labels(y, probabilities, message):
    """Errors say what is wrong."""
    with pytest.raises(ValueError, match=message):
        evaluate(y, probabilities, ["no", "yes"])


def test_majority_vote_knows_the_shares():
    """Its log-loss is the entropy of the labels."""
    found = score_majority_vote(np.array([0, 0, 0, 1]), 2)
    assert found.error == 0.25
    assert found.log_loss == pytest.approx(stats.entropy([0.75, 0.25]))
    assert found.brier == pytest.approx(0.75 * 0.25)


def test_calibration_has_fifteen_bins_and_beta_bands(rng):
    """Bands are quantiles of Beta(k + 1/2, n - k + 1/2)."""
    probabilities = rng.random(3000)
    is_true = rng.random(3000) < probabilities
    found = Calibration.from_events(probabilities, is_true)
    assert found.counts.sum() == 3000
    assert len(found.counts) == 15
    inside = (probabilities >= 2 / 15) & (probabilities < 3 / 15)
    k, n = is_true[inside].sum(), inside.sum()
    np.testing.assert_allclose(found.bands[2], stats.beta(k + 0.5, n - k + 0.5).ppf([0.055, 0.945]))
    assert found.n_misses <= found.max_misses
    # The test has teeth: probabilities that are too large are seen.
    assert Calibration.from_events(probabilities, rng.random(3000) < probabilities**2).n_misses > found.max_misses


def test_probabilities_of_zero_and_one_have_a_bin():
    """The last bin holds its right end."""
    assert Calibration.from_events(np.array([0.0, 1.0]), np.array([False, True])).lower.tolist() == [0.0, 14 / 15]


def test_predictions_are_scored_by_the_most_probable_class(rng):
    """Other decisions change the error alone."""
    y, probabilities, classes = made(rng, 100, 4)
    codes = np.searchsorted(classes, y)
    found, decided = score_predictions(probabilities, codes), score_predictions(probabilities, codes, codes)
    assert found.error == np.mean(probabilities.argmax(axis=1) != codes)
    assert found.log_loss == decided.log_loss == pytest.approx(log_loss(y, probabilities))
    assert decided.error == 0.0
