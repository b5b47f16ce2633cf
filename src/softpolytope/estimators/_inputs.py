"""Checks of rows, labels and weights that users hand to a classifier."""

import math
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from softpolytope._typing import FloatArray
from softpolytope.data import check_columns, check_labels_agree


def take_columns(estimator: Any, n_features: int, names: Any, *, reset: bool) -> None:
    """Learn number and names of the columns from the first rows, or check those of later ones."""
    if not reset:
        check_columns(estimator, n_features, names)
        return
    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def check_sizes(lower: FloatArray, upper: FloatArray, names: Any) -> None:
    """Raise at a column whose numbers are all so small that no double could hold its coefficients."""
    largest = np.maximum(np.abs(lower), np.abs(upper))
    is_bad = (largest > 0.0) & (largest < np.finfo(np.float64).tiny)
    if is_bad.any():
        column = int(np.argmax(is_bad))
        label = f"Column {names[column]!r}" if names is not None else f"Column {column}"
        raise ValueError(
            f"{label} of X holds numbers of at most {largest[column]:g} in absolute value, so small that coefficients "
            "in its units would overflow. Multiply the column by a power of ten, or leave it out."
        )


def plain_labels(y: Any, name: str = "y") -> Any:
    """Labels that are Python objects as an array of their own kind, if they have one.

    Raises where one is missing, or where some are text and others are not.
    """
    has_kind = hasattr(y, "dtype") and str(y.dtype) not in ("object", "category")
    given = None if has_kind else np.asarray(y)
    if given is not None and given.dtype.kind in "US":
        given = np.asarray(y, dtype=object)  # before NumPy made text of all of them
    if given is None or given.dtype.kind != "O" or given.ndim != 1:
        return y
    for row, value in enumerate(given.tolist()):
        if value is None or value != value:  # noqa: PLR0124  # NaN is what differs from itself
            raise ValueError(f"{name} has no label at row {row}, but {value!r}; drop such rows first.")
    check_labels_agree(given.tolist(), name)
    kinds = {type(value) for value in given.tolist()}
    if kinds == {int}:
        # Left to itself, NumPy makes doubles of numbers of which some need all 64 bits.
        return given.astype(np.int64 if max(given) < 2**63 else np.uint64)
    return given.astype(kinds.pop()) if len(kinds) == 1 and kinds <= {bool, float} else y


def row_weights(estimator: Any, y: Any, sample_weight: FloatArray | None) -> FloatArray:
    """Sample weights times class weights."""
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    is_bad = ~np.isfinite(weights) | (weights < 0.0)
    if is_bad.any():
        row = int(np.flatnonzero(is_bad)[0])
        raise ValueError(f"sample_weight must be finite and >= 0; got {weights[row]} at row {row}.")
    if estimator.class_weight is None:
        return weights
    if estimator.class_weight == "balanced" and sample_weight is not None:
        # Balanced with respect to the weights: rows given twice and rows of weight two are the same data.
        classes, codes = np.unique(y, return_inverse=True)
        totals = np.bincount(codes, weights)
        with np.errstate(divide="ignore"):
            factors = np.where(totals > 0.0, totals.sum() / (len(classes) * totals), 0.0)
        return np.asarray(weights * factors[codes])
    if estimator.class_weight == "balanced":
        return np.asarray(weights * compute_sample_weight("balanced", y))
    classes, codes = np.unique(y, return_inverse=True)
    return np.asarray(weights * class_factors(estimator.class_weight, classes)[codes])


def class_factors(class_weight: Any, classes: Any) -> FloatArray:
    """The factor of each class; one of those that a dictionary does not name."""
    if not isinstance(class_weight, dict):
        raise ValueError(f'class_weight must be a dict, "balanced" or None; got {class_weight!r}.')
    factors = np.array([float(class_weight.get(value, 1.0)) for value in classes.tolist()])
    for value, factor in zip(classes.tolist(), factors.tolist(), strict=True):
        if not (math.isfinite(factor) and factor >= 0.0):
            raise ValueError(f"class_weight must be finite and >= 0; got {factor} for class {value!r}.")
    return factors


def factors_in_partitions(class_weight: Any, classes: Any, weights: FloatArray) -> FloatArray:
    """Return the factor of each class, given the weight of its rows, for rows in partitions."""
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        return np.asarray(weights.sum() / (len(classes) * weights))
    factors = class_factors(class_weight, classes)
    if not (factors > 0.0).all():
        raise ValueError(f"class_weight must be finite and > 0 for rows in partitions; got {class_weight!r}.")
    return factors


def check_class_weight(class_weight: Any, classes: Any) -> None:
    """Raise if weights are given to what is no class."""
    strange = (
        [key for key in class_weight if key not in set(classes.tolist())] if isinstance(class_weight, dict) else []
    )
    if strange:
        raise ValueError(f"class_weight names {strange[0]!r}, which is none of the classes {classes.tolist()}.")
