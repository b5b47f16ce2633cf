"""Scores of predicted probabilities: error, log-loss, Brier score, AUC and calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from softpolytope._typing import BoolArray, FloatArray, IndexArray
from softpolytope.model import encode_labels, mean_log_loss

# Probability of all intervals and bands of the report.
LEVEL = 0.89
N_BINS = 15
# Share of perfectly calibrated models in which more bands miss than `Calibration.max_misses`, at most.
FALSE_ALARMS = 0.05
# Names of the model and of the majority vote among held-out scores, as `softpolytope fit` writes them.
OWN, MAJORITY = "softpolytope", "majority vote"
# Scores of several methods by name: "error" (a share), "log_loss" (nats) and "brier", each optional.
ScoreTable: TypeAlias = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Score:
    """Scores of one method; None where a score is unknown."""

    name: str
    error: float | None
    log_loss: float | None
    brier: float | None
    error_interval: tuple[float, float] | None = None
    is_comparable: bool = True  # False if measured on other rows than those of the report

    def is_better_than(self, other: "Score") -> bool:
        """Return whether both error and log-loss are smaller."""
        has_smaller_error = (self.error or 0.0) < (other.error or 0.0)
        return has_smaller_error and (self.log_loss or 0.0) < (other.log_loss or 0.0)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Observed share of an event against its predicted probability, in the bins that contain rows."""

    lower: FloatArray  # (bins,), left edge
    counts: IndexArray  # (bins,)
    predicted: FloatArray  # (bins,), mean probability
    observed: FloatArray  # (bins,), share of rows in which the event occurred
    bands: FloatArray  # (bins, 2), central interval of that share

    @classmethod
    def from_events(cls, probabilities: FloatArray, is_true: BoolArray) -> "Calibration":
        """Group events by their predicted probabilities, both (rows,), into bins of equal width."""
        bins = np.minimum((probabilities * N_BINS).astype(np.intp), N_BINS - 1)
        counts = np.bincount(bins, minlength=N_BINS)
        used = np.flatnonzero(counts)
        n_hits, n_rows = np.bincount(bins[is_true], minlength=N_BINS)[used], counts[used]
        predicted = np.bincount(bins, probabilities, N_BINS)[used] / n_rows
        return cls(used / N_BINS, n_rows, predicted, n_hits / n_rows, share_interval(n_hits, n_rows))

    @classmethod
    def from_predictions(cls, probabilities: FloatArray, decisions: IndexArray, codes: IndexArray) -> "Calibration":
        """Calibrate the probability of the second of two classes or, with more classes, of the predicted class."""
        if probabilities.shape[1] == 2:
            return cls.from_events(probabilities[:, 1], codes == 1)
        return cls.from_events(probabilities[np.arange(len(codes)), decisions], decisions == codes)

    @property
    def is_covered(self) -> BoolArray:
        """Whether the band of each bin contains the mean probability."""
        return np.asarray((self.bands[:, 0] <= self.predicted) & (self.predicted <= self.bands[:, 1]))

    @property
    def n_misses(self) -> int:
        """Number of bins whose band does not contain the mean probability."""
        return int((~self.is_covered).sum())

    @property
    def max_misses(self) -> int:
        """Number of misses that chance explains: fewer than one in twenty perfectly calibrated models have more."""
        return int(stats.binom.ppf(1.0 - FALSE_ALARMS, len(self.counts), 1.0 - LEVEL))

    @property
    def mean_gap(self) -> float:
        """Mean over rows of the distance between observed share and mean probability of the row's bin."""
        return float(np.average(np.abs(self.observed - self.predicted), weights=self.counts))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of one model on labeled rows."""

    classes: tuple[str | int | float | bool, ...]
    score: Score
    majority: Score  # of always predicting the largest class of these rows
    auc: float | None  # None if all rows are of one class
    calibration: Calibration  # of the second of two classes; with more, of the predicted class
    confusion: IndexArray  # (classes, classes): rows of each class by predicted class

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.confusion.sum())

    @property
    def n_missed_bins(self) -> int:
        """Number of bins of predicted probability whose band does not contain the mean probability."""
        return self.calibration.n_misses


def evaluate(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: Sequence[str | int | float | bool],
    *,
    decisions: ArrayLike | None = None,
) -> Evaluation:
    """Evaluate predicted probabilities: error, log-loss, Brier score, AUC, calibration and confusion matrix.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True labels.
    probabilities : array-like of shape (n_samples, n_classes)
        Probabilities as returned by `predict_proba`.
    classes : sequence of labels
        The classes in the order of the columns, such as `classes_` of a fitted classifier.
    decisions : array-like of shape (n_samples,), optional
        Predicted labels, by default those of the largest probability.

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
    n_rows, n_classes = len(probabilities), len(labels)
    if probabilities.ndim != 2 or probabilities.shape[1] != n_classes or not n_rows:
        raise ValueError(
            f"probabilities must have at least one row and one column for each of the {n_classes} classes; got shape "
            f"{probabilities.shape}."
        )
    # The classes may be in any order, and `encode_labels` takes them sorted.
    order = np.argsort(labels)
    codes = order[encode_labels(y, labels[order], n_rows)]
    decided = probabilities.argmax(axis=1)
    if decisions is not None:
        decided = order[encode_labels(decisions, labels[order], n_rows)]
    confusion = np.zeros((n_classes, n_classes), dtype=np.intp)
    np.add.at(confusion, (codes, decided), 1)
    return Evaluation(
        tuple(labels.tolist()),
        score_predictions(probabilities, codes, decided),
        score_majority_vote(codes, n_classes),
        area_under_roc(probabilities, codes),
        Calibration.from_predictions(probabilities, decided, codes),
        confusion,
    )


def score_predictions(
    probabilities: FloatArray, codes: IndexArray, decisions: IndexArray | None = None, name: str = "This model"
) -> Score:
    """Score probabilities, (rows, classes), and decisions, by default the most probable classes.

    Labels and decisions are indices of classes. The Brier score is half the squared distance between the probabilities
    and the label: with two classes, the mean of (P(y = 1) - y)^2.
    """
    own = probabilities[np.arange(len(codes)), codes]
    squares = (probabilities**2).sum(axis=1) - 2.0 * own + 1.0
    n_wrong = int(((probabilities.argmax(axis=1) if decisions is None else decisions) != codes).sum())
    low, high = share_interval(n_wrong, len(codes)).tolist()
    log_loss = mean_log_loss(probabilities, codes)
    return Score(name, n_wrong / len(codes), log_loss, float(0.5 * squares.mean()), (low, high))


def score_majority_vote(codes: IndexArray, n_classes: int) -> Score:
    """Score the prediction that uses nothing but the shares of the classes among these rows."""
    shares = np.bincount(codes, minlength=n_classes) / len(codes)
    return score_predictions(np.broadcast_to(shares, (len(codes), n_classes)), codes, name="Majority vote")


def read_scores(baselines: ScoreTable | None, reference_scores: ScoreTable | None) -> list[Score]:
    """Return scores that the user measured on the rows of the report, then those measured on other rows."""
    here = [_read_score(str(name), values, "baselines") for name, values in (baselines or {}).items()]
    others = [_read_score(str(name), values, "reference_scores") for name, values in (reference_scores or {}).items()]
    return [*here, *(replace(score, is_comparable=False) for score in others)]


def read_held_out(held_out: ScoreTable | None) -> tuple[Score, Score | None] | None:
    """Return held-out scores of the model and of the majority vote; None if those of the model are missing."""
    if not held_out or "error" not in held_out.get(OWN, {}):
        return None
    majority = _read_score(MAJORITY, held_out[MAJORITY], "held_out") if MAJORITY in held_out else None
    return _read_score(OWN, held_out[OWN], "held_out"), majority


def _read_score(name: str, values: Mapping[str, float], parameter: str) -> Score:
    found = {key: None if values.get(key) is None else float(values[key]) for key in ("error", "log_loss", "brier")}
    for key, value in found.items():
        if value is not None and not np.isfinite(value):
            raise ValueError(f"{parameter}[{name!r}][{key!r}] must be a finite number; got {value!r}.")
    error = found["error"]
    if error is not None and not 0.0 <= error <= 1.0:
        raise ValueError(
            f"{parameter}[{name!r}]['error'] must be a share between 0 and 1; got {error!r}. Divide percentages by 100."
        )
    return Score(name, error, found["log_loss"], found["brier"])


def share_interval(n_hits: int | IndexArray, n_rows: int | IndexArray) -> FloatArray:
    """Return the central interval of a share, (..., 2), under Jeffreys' prior: Beta(k + 1/2, n - k + 1/2)."""
    law = stats.beta(n_hits + 0.5, n_rows - n_hits + 0.5)
    return np.stack([law.ppf(0.5 - 0.5 * LEVEL), law.ppf(0.5 + 0.5 * LEVEL)], axis=-1)


def area_under_roc(probabilities: FloatArray, codes: IndexArray) -> float | None:
    """Return the area under the ROC curve of probabilities (rows, classes), None if all rows are of one class.

    With two classes it is the share of pairs of rows, one of each class, in which the row of the second class has the
    larger probability of it; ties count half. With more classes it is the mean over those that have rows, each against
    all others.
    """
    areas = []
    for number in [1] if probabilities.shape[1] == 2 else range(probabilities.shape[1]):
        is_own = codes == number
        n_own, n_others = int(is_own.sum()), int((~is_own).sum())
        if n_own and n_others:
            ranks = stats.rankdata(probabilities[:, number])
            areas.append((float(ranks[is_own].sum()) - 0.5 * n_own * (n_own + 1)) / (n_own * n_others))
    return float(np.mean(areas)) if areas else None
