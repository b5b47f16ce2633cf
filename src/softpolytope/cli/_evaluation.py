"""Error and log-loss on rows that were kept apart, beside logistic regression and a majority vote."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from softpolytope._typing import FloatArray
from softpolytope.cli._errors import CommandError
from softpolytope.cli._output import note
from softpolytope.inspection import overlap_with_training
from softpolytope.tabular import Label, Scores, fit_to_labels

# The report reads scores under these names.
OURS = "softpolytope"
# Standard deviations; scikit-learn refuses what is infinite.
FARTHEST = 1e100
Codes = NDArray[np.intp]
# By label, "balanced", or none.
ClassWeight = dict[Label, float] | str | None


@dataclass(frozen=True, slots=True)
class Part:
    """Encoded rows and the codes of their classes."""

    rows: FloatArray
    codes: Codes


def held_out_rows(codes: Codes, share: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Rows to learn from and rows to keep apart, each class in proportion; None if there are too few for that.

    Every class must have a row to learn from: a model that does not know it cannot be tested on it.
    """
    try:
        train, test = train_test_split(np.arange(len(codes)), test_size=share, stratify=codes, random_state=seed)
    except ValueError:
        return None
    if len(np.unique(codes[train])) < len(np.unique(codes)):
        return None
    # In order, so that memory is read from front to back.
    return np.sort(train), np.sort(test)


def scores(probabilities: FloatArray, codes: Codes) -> dict[str, float]:
    """Error as a share, and mean log-loss."""
    own = np.maximum(probabilities[np.arange(len(codes)), codes], np.finfo(float).tiny)
    return {"error": float(np.mean(probabilities.argmax(axis=1) != codes)), "log_loss": float(-np.mean(np.log(own)))}


def baseline_scores(train: Part, test: Part, labels: NDArray[Any], class_weight: ClassWeight = None) -> Scores:
    """A majority vote, and logistic regression on standardized columns, with the same weights of the classes."""
    n_classes = len(labels)
    shares = np.bincount(train.codes, minlength=n_classes) / len(train.codes)
    probabilities = np.broadcast_to(shares, (len(test.codes), n_classes))
    found = {"majority vote": scores(probabilities, test.codes)}
    mean, spread = train.rows.mean(axis=0), train.rows.std(axis=0)
    spread[spread == 0.0] = 1.0
    weight = class_weight
    if isinstance(weight, dict):
        weight = {code: weight.get(label, 1.0) for code, label in enumerate(labels.tolist())}
    linear = LogisticRegression(max_iter=1000, class_weight=weight)
    linear.fit(_standardized(train.rows, mean, spread), train.codes)
    probabilities = np.zeros((len(test.codes), n_classes))
    probabilities[:, linear.classes_] = linear.predict_proba(_standardized(test.rows, mean, spread))
    return found | {"logistic regression": scores(probabilities, test.codes)}


def _standardized(rows: FloatArray, mean: FloatArray, spread: FloatArray) -> FloatArray:
    """A copy, and no second one on the way to it; what is far beyond the training rows stays finite."""
    with np.errstate(over="ignore"):
        found = rows - mean
        found /= spread
    return np.clip(found, -FARTHEST, FARTHEST, out=found)


def score_lines(found: Scores) -> list[str]:
    """A table for people."""
    lines = [f"{'':24s}{'error':>11s}{'log-loss':>12s}"]
    lines += [f"{name:24s}{100.0 * item['error']:9.1f} %{item['log_loss']:12.3f}" for name, item in found.items()]
    return lines


def fit_classifier(classifier: Any, part: Part, labels: NDArray[Any]) -> Any:
    """Fit; what the library refuses is told as wrong use."""
    try:
        return fit_to_labels(classifier, part.rows, labels, part.codes)
    except (ValueError, RuntimeError) as error:
        raise CommandError(str(error)) from error


def noted_training_rows(classifier: Any, rows: FloatArray, head: str = "") -> int | None:
    """Give a note if a classifier was trained on some of the rows; return how many, None if that is not known."""
    overlap = overlap_with_training(classifier, rows)
    if overlap is None:
        return None
    if overlap.has_training_rows:
        note(f"{head}{overlap.in_words()}")
    return overlap.n_known
