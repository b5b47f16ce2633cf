"""Evaluation of predicted probabilities on labeled rows, in one object."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softpolytope.model import encode_labels
from softpolytope.report._scores import Calibration, Score, auc_of, majority_score, model_calibration, score_of


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of one model on labeled rows."""

    classes: tuple[str | int | float | bool, ...]
    score: Score
    majority: Score  # of a vote for the largest class of these rows
    auc: float | None  # None if all rows are of one class
    calibration: Calibration  # of the second of two classes; of more, of the class decided for
    confusion: NDArray[np.intp]  # (classes, classes): rows of each class by the class decided for

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.confusion.sum())

    @property
    def n_missed_bins(self) -> int:
        """Number of bins of predicted probability whose band does not hold the mean probability."""
        return int((~self.calibration.is_covered).sum())


def evaluate(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: Sequence[str | int | float | bool],
    *,
    decisions: ArrayLike | None = None,
) -> Evaluation:
    """Evaluate predicted probabilities: error, log-loss, Brier score, AUC, calibration and counts by class.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of the rows.
    probabilities : array-like of shape (n_samples, n_classes)
        What `predict_proba` gives.
    classes : sequence of labels
        The classes in the order of the columns, the `classes_` of a fitted classifier.
    decisions : array-like of shape (n_samples,), optional
        Labels decided for, by default those of the largest probability.

    Returns
    -------
    Evaluation
        `score` (error with an interval, log-loss, Brier score), `majority`, `auc`, `calibration`, `confusion`.

    Examples
    --------
    >>> from softpolytope.report import evaluate
    >>> found = evaluate(["no", "yes", "yes"], [[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]], ["no", "yes"])
    >>> round(found.score.error, 3), found.auc
    (0.333, 1.0)
    >>> found.confusion.tolist()
    [[1, 0], [1, 1]]
    """
    labels, probabilities = np.asarray(classes), np.asarray(probabilities, dtype=np.float64)
    if probabilities.ndim != 2 or probabilities.shape[1] != len(labels) or not len(probabilities):
        raise ValueError(
            f"probabilities must have one row or more and a column for each of the {len(labels)} classes; "
            f"got shape {probabilities.shape}."
        )
    codes = _codes(labels, y, len(probabilities))
    decided = probabilities.argmax(axis=1) if decisions is None else _codes(labels, decisions, len(probabilities))
    confusion = np.zeros((len(labels), len(labels)), dtype=np.intp)
    np.add.at(confusion, (codes, decided), 1)
    return Evaluation(
        tuple(labels.tolist()),
        score_of("This model", probabilities, decided, codes),
        majority_score(codes, len(labels)),
        auc_of(probabilities, codes),
        model_calibration(probabilities, decided, codes),
        confusion,
    )


def _codes(classes: NDArray[Any], labels: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    """Return the places of labels among the classes, which may be in any order."""
    order = np.argsort(classes)
    return np.asarray(order[encode_labels(labels, classes[order], n_rows)])
