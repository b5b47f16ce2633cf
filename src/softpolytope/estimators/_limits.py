"""Limits of counterfactuals: bounds, fixed and integer features, scales, classes wanted."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.geometry import Limits
from softpolytope.model import Features


def limits_of(
    rows: FloatArray,
    features: Features,
    bounds: Any,
    fixed: Sequence[str | int],
    integer: Sequence[str | int] | Literal["auto"],
) -> Limits:
    """How far each feature of each row may go."""
    is_integer = _integers(integer, features)
    width = features.upper - features.lower
    width = np.where(width > 0.0, width, features.scale)
    width = np.where(is_integer & features.is_switch, 0.0, width)
    # Without bounds the search must end somewhere: beyond the training rows the model knows nothing.
    lower = np.minimum(features.lower - width, rows - width)
    upper = np.maximum(features.upper + width, rows + width)
    given_lower, given_upper = _given(bounds, features)
    lower = np.where(np.isfinite(given_lower), given_lower, lower)
    upper = np.where(np.isfinite(given_upper), given_upper, upper)
    is_fixed = np.zeros(len(width), dtype=bool)
    is_fixed[_columns("fixed", fixed, features)] = True
    is_outside = ((rows < lower) | (rows > upper)) & ~is_fixed
    if is_outside.any():
        row, column = np.argwhere(is_outside)[0]
        raise ValueError(
            f"row {row} of X has {features.names[column]} = {rows[row, column]:g}, outside its bounds "
            f"({lower[row, column]:g}, {upper[row, column]:g}); widen them, or name it in `fixed`."
        )
    lower, upper = np.where(is_fixed, rows, lower), np.where(is_fixed, rows, upper)
    return Limits(lower, upper, is_integer & ~is_fixed)


def _integers(integer: Sequence[str | int] | Literal["auto"], features: Features) -> BoolArray:
    """Return which features must stay whole numbers."""
    is_integer = np.zeros(len(features.names), dtype=bool)
    if not isinstance(integer, str):
        is_integer[_columns("integer", integer, features)] = True
    elif integer != "auto":
        raise ValueError(
            f'integer must be "auto" or a list of features; got the text {integer!r}: write [{integer!r}].'
        )
    elif features.is_integer is not None:
        is_integer |= features.is_integer
    return is_integer


def _given(bounds: Any, features: Features) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds, infinite where there is none."""
    n_features = len(features.names)
    lower, upper = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    if bounds is None:
        return lower, upper
    if isinstance(bounds, dict):
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
    """Numbers of features given by name or number."""
    if isinstance(wanted, str):
        raise ValueError(f"{parameter} must be a list of features; got the text {wanted!r}: write [{wanted!r}].")
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


def checked_scale(scale: ArrayLike, n_features: int) -> FloatArray:
    """Positive numbers, one per feature."""
    values = np.asarray(scale, dtype=np.float64)
    if values.shape != (n_features,) or not (np.isfinite(values) & (values > 0.0)).all():
        raise ValueError(f"scale must be {n_features} positive numbers, one per feature; got {scale!r}.")
    return values


def wanted_classes(codes: NDArray[np.intp], classes: list[Any], target: Any) -> BoolArray:
    """Which classes each row is to have, (classes, rows): the target, or all but its own."""
    numbers = np.arange(len(classes))[:, None]
    if target is None:
        return np.asarray(numbers != codes)
    if target not in classes:
        raise ValueError(f"target must be one of the classes {classes}; got {target!r}.")
    return np.repeat(numbers == classes.index(target), len(codes), axis=1)
