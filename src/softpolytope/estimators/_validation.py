"""Checks of the rows, labels and weights that users hand to a classifier."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, column_or_1d, validate_data

from softpolytope._typing import FloatArray
from softpolytope.data import (
    check_classes,
    check_columns,
    check_finite,
    check_for_text,
    check_labels_agree,
    ranges,
    table_advice,
)
from softpolytope.estimators._parameters import ClassWeight
from softpolytope.model import Design

if TYPE_CHECKING:
    from softpolytope.estimators._base import SoftplusBase

Labels = NDArray[Any]


def validate_training_rows(
    classifier: "SoftplusBase", X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, *, is_first: bool
) -> tuple[Design, Labels, FloatArray]:
    """Return rows, labels and weights as arrays; the first rows decide the columns, later ones must have the same."""
    try:
        rows, labels = validate_data(
            classifier,
            X,
            plain_labels(y),
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=2 if is_first else 1,
            reset=is_first,
        )
    except (TypeError, ValueError) as error:
        check_for_text(X, error, table_advice(classifier))
        raise
    names = getattr(classifier, "feature_names_in_", None)
    check_finite(rows, names, table_advice(classifier))
    check_sizes(*ranges(rows), names)
    check_classification_targets(labels)
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows, dtype=np.float64)
    return rows, labels, weight_rows(labels, classifier.class_weight, weights)


def validate_labels(y: ArrayLike) -> Labels:
    """Return the labels of classes as an array of one dimension."""
    labels = column_or_1d(np.asarray(plain_labels(y)), warn=True)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return np.asarray(labels)


def set_columns(classifier: "SoftplusBase", n_features: int, names: Labels | None, *, is_first: bool) -> None:
    """Set number and names of the columns from the first rows, or check those of later ones."""
    if not is_first:
        check_columns(classifier, n_features, None if names is None else names.tolist())
        return
    classifier.n_features_in_ = n_features
    classifier.__dict__.pop("feature_names_in_", None)
    if names is not None:
        classifier.feature_names_in_ = names


def check_sizes(lower: FloatArray, upper: FloatArray, names: Iterable[object] | None) -> None:
    """Raise if a column has numbers so small that no double could hold its coefficients."""
    largest = np.maximum(np.abs(lower), np.abs(upper))
    is_bad = (largest > 0.0) & (largest < np.finfo(np.float64).tiny)
    if is_bad.any():
        column = int(np.argmax(is_bad))
        label = f"Column {column}" if names is None else f"Column {list(names)[column]!r}"
        raise ValueError(
            f"{label} of X holds numbers of at most {largest[column]:g} in absolute value, so small that coefficients "
            "in its units would overflow. Multiply the column by a power of ten, or leave it out."
        )


def plain_labels(y: ArrayLike, name: str = "y") -> ArrayLike:
    """Return labels that are Python objects as an array of their own kind, if they have one.

    Raises if one is missing, or if some are text and others are not.
    """
    if str(getattr(y, "dtype", "object")) not in ("object", "category"):
        return y
    given = np.asarray(y)
    if given.dtype.kind in "US":
        given = np.asarray(y, dtype=object)  # before NumPy made text of all of them
    if given.dtype.kind != "O" or given.ndim != 1:
        return y
    values = given.tolist()
    for row, value in enumerate(values):
        if value is None or value != value:  # noqa: PLR0124  # NaN is what differs from itself
            raise ValueError(f"{name} has no label at row {row}, but {value!r}; drop such rows first.")
    check_labels_agree(values, name)
    kinds = {type(value) for value in values}
    if kinds == {int}:
        # Left to itself, NumPy makes doubles of integers if some of them need all 64 bits.
        return given.astype(np.int64 if max(given) < 2**63 else np.uint64)
    return given.astype(kinds.pop()) if len(kinds) == 1 and kinds <= {bool, float} else y


def weight_rows(y: Labels, class_weight: ClassWeight, sample_weight: FloatArray | None) -> FloatArray:
    """Return sample weights times class weights."""
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    is_bad = ~np.isfinite(weights) | (weights < 0.0)
    if is_bad.any():
        row = int(np.flatnonzero(is_bad)[0])
        raise ValueError(f"sample_weight must be finite and >= 0; got {weights[row]} at row {row}.")
    if class_weight is None:
        return weights
    classes, codes = np.unique(y, return_inverse=True)
    if class_weight == "balanced":
        # Balanced with respect to the weights: rows given twice and rows of weight two are the same data.
        totals = np.bincount(codes, weights)
        with np.errstate(divide="ignore"):
            factors = np.where(totals > 0.0, totals.sum() / (len(classes) * totals), 0.0)
    else:
        factors = class_factors(class_weight, classes)
    return np.asarray(weights * factors[codes])


def class_factors(class_weight: ClassWeight, classes: Labels) -> FloatArray:
    """Return the factor of each class, one for those that a dictionary does not name."""
    if not isinstance(class_weight, dict):
        raise ValueError(f'class_weight must be a dict, "balanced" or None; got {class_weight!r}.')
    factors = np.array([float(class_weight.get(value, 1.0)) for value in classes.tolist()])
    for value, factor in zip(classes.tolist(), factors.tolist(), strict=True):
        if not (math.isfinite(factor) and factor >= 0.0):
            raise ValueError(f"class_weight must be finite and >= 0; got {factor} for class {value!r}.")
    return factors


def factors_in_partitions(class_weight: ClassWeight, classes: Labels, weights: FloatArray) -> FloatArray:
    """Return the factor of each class, given the weight of its rows, for rows in partitions."""
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        return np.asarray(weights.sum() / (len(classes) * weights))
    factors = class_factors(class_weight, classes)
    if not (factors > 0.0).all():
        raise ValueError(f"class_weight must be finite and > 0 for rows in partitions; got {class_weight!r}.")
    return factors


def validate_classes(
    y: Labels, weights: FloatArray, class_weight: ClassWeight, known: Labels | None
) -> tuple[Labels, NDArray[np.intp]]:
    """Return the classes and the index of each label; raise unless two classes or more have positive weight."""
    classes, codes = np.unique(y, return_inverse=True)
    check_known_classes(classes, class_weight, known)
    check_classes(classes, np.bincount(codes, weights).astype(np.float64))
    return classes, codes


def check_known_classes(classes: Labels, class_weight: ClassWeight, known: Labels | None = None) -> None:
    """Raise unless `class_weight` names only classes, and these are the known ones if there are any."""
    labels = classes.tolist()
    for key in class_weight if isinstance(class_weight, dict) else ():
        if key not in set(labels):
            raise ValueError(f"class_weight names {key!r}, which is none of the classes {labels}.")
    if known is not None and not np.array_equal(classes, known):
        raise ValueError(
            f"warm_start continues from the last fit, which had the classes {known.tolist()}, but y has {labels}. Set "
            "warm_start=False."
        )
