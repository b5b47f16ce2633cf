"""Explanations of rows in terms of the raw columns: votes of the experts, and the nearest change of prediction."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from softpolytope._format import format_deviations
from softpolytope._typing import FloatArray
from softpolytope.exceptions import TableError
from softpolytope.geometry import Explanation, Polytopes
from softpolytope.tabular._cells import join_names
from softpolytope.tabular._encoder import CategoryColumn, NumericColumn
from softpolytope.tabular._table import Chunk
from softpolytope.tabular._target import Label

if TYPE_CHECKING:
    from softpolytope.tabular._classifier import TableClassifier


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one raw column."""

    column: str
    before: float | str | None  # None if missing
    after: float | str
    imputed: float | None = None  # the number that replaced a missing one

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self) -> str:
        """Return the change in a few words."""
        if isinstance(self.after, str):
            return f"{self.column} {self.after!r} instead of {'no value' if self.before is None else repr(self.before)}"
        if isinstance(self.before, float):
            return f"{self.column} {self.after - self.before:+.3g} (to {self.after:.4g})"
        return f"{self.column} {self.after:.4g} (its value is missing and replaced by {self.imputed:.4g})"


@dataclass(frozen=True, slots=True)
class NearestChange:
    """Smallest change found after which the model predicts another class; empty if none was found."""

    predicted: Label
    counterfactual_class: Label
    distance: float  # in standard deviations
    changes: tuple[Change, ...]
    fixed: tuple[str, ...] = ()  # raw columns that had to stay as they are

    @property
    def is_found(self) -> bool:
        """Whether there is one."""
        return bool(self.changes)

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self) -> str:
        """Return the change in one line."""
        if not self.is_found:
            stays = f" with {join_names(self.fixed)} unchanged" if self.fixed else ""
            return (
                f"It is {self.predicted!r}; no change of prediction was found within the range of the training "
                f"rows{stays}."
            )
        changes = ", ".join(change.in_words() for change in self.changes)
        distance = format_deviations(self.distance)
        return f"It would be {self.counterfactual_class!r} with {changes}; {distance} away."


def nearest_change(model: "TableClassifier", row: Chunk, fixed: Sequence[str] = ()) -> NearestChange:
    """Return the smallest change of a raw row that changes its prediction: of any numbers, and of one category at most.

    Numbers stay within the range of the training rows, and integers if they were integers there. Columns named by
    `fixed` do not change.
    """
    unknown = [name for name in fixed if name not in model.encoder_.names]
    if unknown:
        raise TableError(
            f"column {unknown[0]!r} cannot be fixed: the model has no such column; "
            f"it has {join_names(model.encoder_.names)}."
        )
    encoded = model.encode(row)[0]
    predicted = _predict(model, encoded)
    starts, costs = _switch_categories(model, encoded, fixed)
    points = np.full(starts.shape, np.nan)
    distances = np.full(len(starts), np.inf)
    is_other = model.classifier_.predict(starts) != predicted
    points[is_other], distances[is_other] = starts[is_other], costs[is_other]
    # The row itself comes first: its own distance is a bound on the cost of the switches worth trying.
    for part in (np.array([0]), np.arange(1, len(starts))):
        chosen = part[~is_other[part] & (costs[part] < distances.min())]
        if len(chosen):
            found, moved = _move_numbers(model, starts[chosen], fixed)
            points[chosen], distances[chosen] = found, np.hypot(costs[chosen], moved)
    best = int(np.argmin(distances))
    if not np.isfinite(distances[best]):
        return NearestChange(predicted, predicted, float("inf"), (), tuple(fixed))
    changes = _list_changes(model, row, encoded, points[best])
    return NearestChange(predicted, _predict(model, points[best]), float(distances[best]), changes, tuple(fixed))


def _predict(model: "TableClassifier", encoded: FloatArray) -> Label:
    label: Label = model.classifier_.predict(encoded[None]).tolist()[0]
    return label


def _switch_categories(
    model: "TableClassifier", encoded: FloatArray, fixed: Sequence[str]
) -> tuple[FloatArray, FloatArray]:
    """Return the row, the rows with one category replaced by another, and their distances in standard deviations."""
    scale = model.classifier_.polytopes()[0].features.scale
    starts = [encoded]
    for column, columns in model.encoder_.slices():
        if isinstance(column, CategoryColumn) and column.name not in fixed:
            for code in range(len(column.categories)):
                if encoded[columns.start + code] == 0.0:
                    other = encoded.copy()
                    other[columns] = 0.0
                    other[columns.start + code] = 1.0
                    starts.append(other)
    found = np.array(starts)
    return found, np.asarray(np.linalg.norm((found - encoded) / scale, axis=1))


def _move_numbers(model: "TableClassifier", starts: FloatArray, fixed: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Return the nearest points with another prediction that differ in numbers only, and their distances."""
    numeric = [
        (column, columns.start)
        for column, columns in model.encoder_.slices()
        if isinstance(column, NumericColumn) and column.name not in fixed
    ]
    if not numeric:
        return np.full(starts.shape, np.nan), np.full(len(starts), np.inf)
    integer = [index for column, index in numeric if column.is_integer]
    known = model.classifier_.polytopes()[0].features
    bounds = (np.minimum(known.lower, starts.min(axis=0)), np.maximum(known.upper, starts.max(axis=0)))
    free = {index for _, index in numeric}
    unmoved = [index for index in range(starts.shape[1]) if index not in free]
    found = model.classifier_.counterfactual(starts, bounds=bounds, fixed=unmoved, integer=integer)
    return found.points, np.where(found.is_found, found.distances, np.inf)


def _list_changes(model: "TableClassifier", row: Chunk, before: FloatArray, after: FloatArray) -> tuple[Change, ...]:
    """Return the changes of raw columns, the largest first."""
    scale = model.classifier_.polytopes()[0].features.scale
    sized: list[tuple[float, Change]] = []
    for column, columns in model.encoder_.slices():
        size = float(np.linalg.norm((after[columns] - before[columns]) / scale[columns]))
        if size == 0.0:
            continue
        if isinstance(column, NumericColumn):
            raw, imputed = float(row.numbers(column.name)[0]), float(before[columns.start])
            new = float(after[columns.start])
            is_missing = bool(np.isnan(raw))
            change = Change(column.name, None if is_missing else raw, new, imputed if is_missing else None)
        else:
            category = column.categories[int(np.argmax(after[columns]))]
            change = Change(column.name, row.texts(column.name)[0] or None, category)
        sized.append((size, change))
    sized.sort(key=lambda pair: -pair[0])
    return tuple(change for _, change in sized)


def named_polytopes(model: "TableClassifier", threshold: float = 0.5) -> Polytopes:
    """Return the half-spaces in terms of the raw columns, with categories as statements: [color is blue]."""
    named = copy.copy(model.classifier_)
    named.feature_names_in_ = np.array(model.encoder_.terms, dtype=object)
    return named.polytopes(threshold)


def explain_rows(
    model: "TableClassifier", encoded: FloatArray, threshold: float = 0.5, level: float = 0.89
) -> Explanation:
    """Return the explanation of encoded rows with the names of the encoded columns."""
    explanation = model.classifier_.explain(encoded, threshold, level)
    names = np.array(model.feature_names_, dtype=object)
    # The classifier itself knows its columns as x0, x1, ...
    numbers = np.array([int(name[1:]) for name in explanation.experts["feature"]], dtype=np.intp)
    # A category is a column of zeros and ones.
    numeric = {column.name for column in model.encoder_.columns if isinstance(column, NumericColumn)}
    own = {model.feature_names_[int(name[1:])] for name in explanation.switches}
    switches = own | (set(model.feature_names_) - numeric)
    return replace(
        explanation, experts={**explanation.experts, "feature": names[numbers]}, switches=frozenset(switches)
    )
