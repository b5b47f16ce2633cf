"""Held-out evaluation: error and log-loss of a classifier beside logistic regression and a majority vote."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.estimators import RandomState, SoftplusBase
from softpolytope.inspection import overlap_with_training
from softpolytope.model import mean_log_loss
from softpolytope.tabular._encoder import TableEncoder, UnknownCategories
from softpolytope.tabular._schema import Schema, read_labeled
from softpolytope.tabular._table import Table
from softpolytope.tabular._target import Label, Target

ClassWeight: TypeAlias = Mapping[Label, float] | Literal["balanced"] | None
# "error" (a share) and "log_loss" (nats), by the name of the model.
Scores: TypeAlias = dict[str, dict[str, float]]

# Name of the classifier among its scores, which model files and reports read.
OWN = "softpolytope"
# Standardized values beyond this are clipped; scikit-learn rejects infinities.
MAX_STANDARDIZED = 1e100


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """Encoded rows and the codes of their classes."""

    X: FloatArray  # (rows, encoded columns)
    codes: IndexArray  # (rows,)
    source: str = ""  # name of their table, for messages
    weights: FloatArray | None = None  # (rows,), all one if None

    def select(self, rows: IndexArray) -> "EncodedRows":
        """Return a copy of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return EncodedRows(self.X[rows], self.codes[rows], weights=weights)

    def impute(self, encoder: TableEncoder) -> TableEncoder:
        """Replace missing values by the medians of these rows, in place; return the encoder with these medians."""
        fitted = encoder.with_medians(self.X, self.weights)
        fitted.impute(self.X)
        return fitted


@dataclass(frozen=True, slots=True)
class HeldOutScores:
    """Scores of a classifier and of two baselines on rows that they were not fitted to."""

    scores: Scores
    n_train: int
    n_test: int


def score_held_out(template: SoftplusBase, rows: EncodedRows, schema: Schema, test_size: float) -> HeldOutScores | None:
    """Fit to a part of the rows and score on the others; None, with a warning, if some class has too few rows."""
    classifier: SoftplusBase = clone(template)
    split = split_rows(rows.codes, test_size, classifier.random_state)
    if split is None:
        warnings.warn("some class has too few rows to hold any out; the model is not evaluated.", stacklevel=4)
        return None
    train, test = (rows.select(indices) for indices in split)
    train.impute(schema.encoder).impute(test.X)
    use_subfolder(classifier, "held-out")
    fit_to_labels(classifier, train, schema.target.labels)
    return _score_models(classifier, train, test, schema.target.labels)


def read_test_rows(table: Table, encoder: TableEncoder, target: Target) -> EncodedRows:
    """Read the rows of a test table; warn about categories that the training rows did not have."""
    unknown = UnknownCategories(encoder)
    rows = EncodedRows(*read_labeled(table, encoder, target, unknown.add), table.name)
    for message in (*unknown.counts, *unknown.warnings):
        warnings.warn(message, stacklevel=4)
    return rows


def score_test_rows(
    classifier: SoftplusBase, train: EncodedRows, test: EncodedRows, labels: NDArray[Any]
) -> HeldOutScores:
    """Score a fitted classifier on the rows of another table; warn if it was trained on them."""
    overlap = overlap_with_training(classifier, test.X)
    if overlap is not None and overlap.has_training_rows:
        warnings.warn(f"{test.source}: {overlap.in_words()}", stacklevel=4)
    return _score_models(classifier, train, test, labels)


def _score_models(
    classifier: SoftplusBase, train: EncodedRows, test: EncodedRows, labels: NDArray[Any]
) -> HeldOutScores:
    scores = score_baselines(train, test, labels, classifier.class_weight)
    scores[OWN] = score_probabilities(classifier.predict_proba(test.X), test.codes)
    return HeldOutScores(scores, len(train.codes), len(test.codes))


def use_subfolder(classifier: SoftplusBase, name: str) -> None:
    """Give one of two fits a part of the checkpoint folder to itself."""
    checkpoint = classifier.checkpoint
    if isinstance(checkpoint, str | PathLike):
        classifier.set_params(checkpoint=Path(checkpoint) / name)
    elif checkpoint is not None:
        classifier.set_params(checkpoint=replace(checkpoint, folder=Path(checkpoint.folder) / name))


def split_rows(codes: IndexArray, test_size: float, random_state: RandomState) -> tuple[IndexArray, IndexArray] | None:
    """Return indices of training and test rows, stratified by class; None if some class has too few rows.

    Every class needs a training row: a model that does not know a class cannot be tested on it.
    """
    from sklearn.model_selection import train_test_split  # noqa: PLC0415  # predictions start without it

    try:
        train, test = train_test_split(
            np.arange(len(codes)), test_size=test_size, stratify=codes, random_state=random_state
        )
    except ValueError:
        return None
    if len(np.unique(codes[train])) < len(np.unique(codes)):
        return None
    # In order, so that memory is read from front to back.
    return np.sort(train), np.sort(test)


def fit_to_labels(classifier: SoftplusBase, rows: EncodedRows, labels: NDArray[Any]) -> SoftplusBase:
    """Fit a classifier to rows with these labels and return it.

    scikit-learn regards fractions as a quantity: classes such as 0.5 and 1.5 are fitted as 0 and 1 and renamed
    afterwards.
    """
    if labels.dtype.kind != "f" or bool((labels == np.floor(labels)).all()):
        classifier.fit(rows.X, labels[rows.codes], rows.weights)
        return classifier
    weights = classifier.class_weight
    if isinstance(weights, dict):
        code_by_label = {label: code for code, label in enumerate(labels.tolist())}
        unknown = [label for label in weights if label not in code_by_label]
        if unknown:
            raise ValueError(f"class_weight names {unknown[0]!r}, which is not one of the classes {labels.tolist()}.")
        classifier.set_params(class_weight={code_by_label[label]: weight for label, weight in weights.items()})
    if np.array_equal(getattr(classifier, "classes_", []), labels):  # a warm start
        classifier.classes_ = np.arange(len(labels))
    try:
        classifier.fit(rows.X, rows.codes, rows.weights)
    finally:
        classifier.set_params(class_weight=weights)
    classifier.classes_ = labels
    return classifier


def score_probabilities(probabilities: FloatArray, codes: IndexArray) -> dict[str, float]:
    """Return error and mean log-loss of predicted probabilities (rows, classes)."""
    error = float(np.mean(probabilities.argmax(axis=1) != codes))
    return {"error": error, "log_loss": mean_log_loss(probabilities, codes)}


def score_baselines(train: EncodedRows, test: EncodedRows, labels: NDArray[Any], class_weight: ClassWeight) -> Scores:
    """Score a majority vote, and logistic regression on standardized columns with the same class weights."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  # predictions start without it

    n_classes = len(labels)
    counts = np.bincount(train.codes, train.weights, n_classes)
    shares = counts / counts.sum()
    scores = {"majority vote": score_probabilities(np.broadcast_to(shares, (len(test.codes), n_classes)), test.codes)}
    mean, deviation = train.X.mean(axis=0), train.X.std(axis=0)
    deviation[deviation == 0.0] = 1.0
    weights = class_weight
    if isinstance(weights, dict):
        weights = {code: weights.get(label, 1.0) for code, label in enumerate(labels.tolist())}
    linear = LogisticRegression(max_iter=1000, class_weight=weights)
    linear.fit(_standardize(train.X, mean, deviation), train.codes, train.weights)
    probabilities = np.zeros((len(test.codes), n_classes))
    probabilities[:, linear.classes_] = linear.predict_proba(_standardize(test.X, mean, deviation))
    return scores | {"logistic regression": score_probabilities(probabilities, test.codes)}


def _standardize(X: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return a standardized copy, without a second one in between; values far beyond the training rows are clipped."""
    with np.errstate(over="ignore"):
        standardized = X - mean
        standardized /= deviation
    return np.clip(standardized, -MAX_STANDARDIZED, MAX_STANDARDIZED, out=standardized)
