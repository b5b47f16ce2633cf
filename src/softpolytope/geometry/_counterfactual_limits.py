"""Counterfactuals of a fitted model within limits: bounds, fixed and integer features, scales, target classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.geometry._counterfactual import Counterfactuals
from softpolytope.geometry._counterfactual_search import Limits, nearest_points
from softpolytope.geometry._decision import Decision
from softpolytope.model import Design, Features, FittedModel

Bounds: TypeAlias = Mapping[str | int, tuple[float | None, float | None]] | tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, slots=True)
class Constraints:
    """Changes that a counterfactual may make, as the user gives them."""

    bounds: Bounds | None = None
    fixed: Sequence[str | int] = ()
    integer: Sequence[str | int] | Literal["auto"] = "auto"
    scale: ArrayLike | None = None


def find_counterfactuals(model: FittedModel, rows: Design, target: object, constraints: Constraints) -> Counterfactuals:
    """Find the nearest points at which the model predicts the target, or by default any other class."""
    if sparse.issparse(rows):
        raise ValueError("counterfactual needs dense rows, but X is sparse. Pass the rows in question as X.toarray().")
    features = model.features
    if constraints.scale is not None:
        features = replace(features, scale=_validate_scale(constraints.scale, model.n_features))
    limits = _make_limits(rows, features, constraints)
    decision = Decision(model.posterior, model.estimate, model.n_threads)
    codes = decision.codes(rows)
    wanted = _target_classes(model, codes, target)
    is_asked = ~wanted[codes, np.arange(len(codes))]
    points = rows.copy()
    if is_asked.any():
        part = Limits(limits.lower[is_asked], limits.upper[is_asked], limits.is_integer)
        points[is_asked] = nearest_points(decision, rows[is_asked], wanted[:, is_asked], part, features)
    distances = np.linalg.norm((points - rows) / features.scale, axis=1)
    distances = np.where(np.isnan(distances), np.inf, distances)
    reached = decision.codes(np.where(np.isfinite(distances)[:, None], points, rows))
    classes = model.classes
    return Counterfactuals(rows, points, distances, classes[codes], classes[reached], features, np.arange(len(rows)))


def _make_limits(rows: FloatArray, features: Features, constraints: Constraints) -> Limits:
    """Return how far each feature of each row may go."""
    is_integer = _integer_features(constraints.integer, features)
    width = features.upper - features.lower
    width = np.where(width > 0.0, width, features.scale)
    width = np.where(is_integer & features.is_switch, 0.0, width)
    # Without bounds the search must end somewhere: beyond the training rows the model knows nothing.
    lower = np.minimum(features.lower - width, rows - width)
    upper = np.maximum(features.upper + width, rows + width)
    given_lower, given_upper = _given_bounds(constraints.bounds, features)
    lower = np.where(np.isfinite(given_lower), given_lower, lower)
    upper = np.where(np.isfinite(given_upper), given_upper, upper)
    is_fixed = np.zeros(len(width), dtype=bool)
    is_fixed[_columns("fixed", constraints.fixed, features)] = True
    is_outside = ((rows < lower) | (rows > upper)) & ~is_fixed
    if is_outside.any():
        row, column = np.argwhere(is_outside)[0]
        raise ValueError(
            f"row {row} of X has {features.names[column]} = {rows[row, column]:g}, outside its bounds "
            f"({lower[row, column]:g}, {upper[row, column]:g}); widen them, or name it in `fixed`."
        )
    lower, upper = np.where(is_fixed, rows, lower), np.where(is_fixed, rows, upper)
    return Limits(lower, upper, is_integer & ~is_fixed)


def _integer_features(integer: Sequence[str | int] | Literal["auto"], features: Features) -> BoolArray:
    """Return whether each feature must be an integer where it changes."""
    is_integer = np.zeros(len(features.names), dtype=bool)
    if not isinstance(integer, str):
        is_integer[_columns("integer", integer, features)] = True
    elif integer != "auto":
        raise ValueError(
            f'integer must be "auto" or a list of features; got the text {integer!r}. Write [{integer!r}].'
        )
    elif features.is_integer is not None:
        is_integer |= features.is_integer
    return is_integer


def _given_bounds(bounds: Bounds | None, features: Features) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds, infinite where none is given."""
    n_features = len(features.names)
    lower, upper = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    if bounds is None:
        return lower, upper
    if isinstance(bounds, Mapping):
        for name, pair in bounds.items():
            column = _columns("bounds", [name], features)[0]
            try:
                low, high = (end if end is None else float(end) for end in pair)
            except (TypeError, ValueError):
                raise ValueError(f"bounds of {name!r} must be a pair (lower, upper); got {pair!r}.") from None
            lower[column] = -np.inf if low is None else low
            upper[column] = np.inf if high is None else high
    else:
        try:
            lower, upper = (np.broadcast_to(np.asarray(end, dtype=np.float64), n_features).copy() for end in bounds)
        except (TypeError, ValueError):
            raise ValueError(
                f"bounds must be a dict of features to pairs, or two arrays of {n_features} numbers; got {bounds!r}."
            ) from None
    is_wrong = ~(lower <= upper)
    if is_wrong.any():
        column = int(np.argmax(is_wrong))
        raise ValueError(
            f"bounds of {features.names[column]!r} must be numbers with lower <= upper; "
            f"got ({lower[column]:g}, {upper[column]:g})."
        )
    return lower, upper


def _columns(parameter: str, wanted: Sequence[str | int], features: Features) -> list[int]:
    """Return the columns of features given by name or number."""
    if isinstance(wanted, str):
        raise ValueError(f"{parameter} must be a list of features; got the text {wanted!r}. Write [{wanted!r}].")
    columns = []
    for item in wanted:
        if isinstance(item, str) and item in features.names:
            columns.append(features.names.index(item))
        elif isinstance(item, int | np.integer) and 0 <= item < len(features.names):
            columns.append(int(item))
        else:
            raise ValueError(
                f"{parameter} names the feature {item!r}, which the model does not have; it has "
                f"{', '.join(features.names[:20])}{', ...' if len(features.names) > 20 else ''} "
                f"(or numbers from 0 to {len(features.names) - 1})."
            )
    return columns


def _validate_scale(scale: ArrayLike, n_features: int) -> FloatArray:
    """Return the scale as an array; raise unless it has a positive number for each feature."""
    values = np.asarray(scale, dtype=np.float64)
    if values.shape != (n_features,) or not (np.isfinite(values) & (values > 0.0)).all():
        raise ValueError(f"scale must be {n_features} positive numbers, one per feature; got {scale!r}.")
    return values


def _target_classes(model: FittedModel, codes: NDArray[np.intp], target: object) -> BoolArray:
    """Return whether each class is one that each row is to reach, (classes, rows): the target, or all but its own."""
    indices = np.arange(len(model.classes))[:, None]
    if target is None:
        return np.asarray(indices != codes)
    return np.repeat(indices == model.class_index(target), len(codes), axis=1)
