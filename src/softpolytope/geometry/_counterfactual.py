"""Counterfactuals: the nearest points with a different prediction, as arrays, tables and text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from softpolytope._deprecation import accept_old_keyword, renamed_attribute
from softpolytope._format import format_count, format_deviations
from softpolytope._typing import BoolArray, FloatArray, IndexArray
from softpolytope.geometry._counterfactual_search import nearest_points
from softpolytope.geometry._decision_boundary import Decision, Limits
from softpolytope.geometry._row_results import RowResults, Table, as_table
from softpolytope.model import Design, Features, FittedModel

Bounds: TypeAlias = Mapping[str | int, tuple[float | None, float | None]] | tuple[ArrayLike, ArrayLike]
ROW_FIELDS = ("rows", "points", "distances", "predicted", "counterfactual_class", "numbers")


@dataclass(frozen=True, slots=True, repr=False)
class Counterfactuals(RowResults):
    """Nearest point found for each row at which the model predicts a different class; NaN if none is within bounds.

    Print it to read it. `counterfactuals[i]` is the answer for one row, `counterfactuals[a:b]` that for several; they
    keep the numbers of their rows.
    """

    rows: FloatArray  # (rows, features)
    points: FloatArray  # (rows, features)
    distances: FloatArray  # (rows,), in standard deviations; inf if there is no point
    predicted: NDArray[Any]  # (rows,), the class predicted for each row
    counterfactual_class: NDArray[Any]  # (rows,), the class predicted at each point; that of the row if there is none
    features: Features
    numbers: IndexArray  # (rows,), of the rows among those given

    decided = renamed_attribute("decided", "predicted")
    otherwise = renamed_attribute("otherwise", "counterfactual_class")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, item: SupportsIndex | slice) -> "Counterfactuals":
        chosen = self._row_indices(item)
        return replace(self, **{name: getattr(self, name)[chosen] for name in ROW_FIELDS})

    @property
    def is_found(self) -> BoolArray:
        """Whether a point was found, (rows,)."""
        return np.isfinite(self.distances)

    @property
    def changes(self) -> FloatArray:
        """Change of each feature in its own units, (rows, features)."""
        return self.points - self.rows

    def table(self) -> Table:
        """Return one line per row: classes, distance, and the change of every feature; with pandas, a DataFrame."""
        columns = {
            "predicted": self.predicted,
            "counterfactual_class": self.counterfactual_class,
            "distance": self.distances,
            **{f"change of {name}": column for name, column in zip(self.features.names, self.changes.T, strict=True)},
        }
        return as_table(columns)

    @accept_old_keyword("most_features", "max_features")
    def in_words(self, row: int = 0, max_features: int = 5) -> str:
        """Describe one row in one line; raise IndexError if there is no such row."""
        one = self[row]
        start, predicted = f"Row {one.numbers[0]}: the prediction", one.predicted.tolist()[0]
        if not one.is_found[0]:
            return f"{start} is {predicted!r}; no change within the bounds was found that alters it."
        if one.distances[0] == 0.0:
            return f"{start} is already {predicted!r}; no change is needed."
        changes = one.changes[0]
        sizes = np.abs(changes / self.features.scale)
        order = np.argsort(-sizes, kind="stable")
        named = [
            f"{self.features.names[column]} {changes[column]:+.3g}"
            for column in order[:max_features]
            if sizes[column] > 0.0
        ]
        n_left = int((sizes > 0.0).sum()) - len(named)
        more = f" and {format_count(n_left, 'smaller change')}" if n_left else ""
        return (
            f"{start} changes from {predicted!r} to {one.counterfactual_class.tolist()[0]!r} with {', '.join(named)}"
            f"{more} ({format_deviations(one.distances[0])} away)."
        )


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


def _target_classes(model: FittedModel, codes: IndexArray, target: object) -> BoolArray:
    """Return whether each class is one that each row is to reach, (classes, rows): the target, or all but its own."""
    indices = np.arange(len(model.classes))[:, None]
    if target is None:
        return np.asarray(indices != codes)
    return np.repeat(indices == model.class_index(target), len(codes), axis=1)
