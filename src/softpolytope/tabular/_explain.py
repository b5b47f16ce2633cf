"""Why a row is decided as it is, and what would change it, in terms of the raw columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softpolytope._format import format_deviations
from softpolytope._typing import FloatArray
from softpolytope.exceptions import TableError
from softpolytope.geometry import Explanation, Polytopes
from softpolytope.tabular._classifier import TableClassifier
from softpolytope.tabular._encoder import CategoryColumn, NumericColumn
from softpolytope.tabular._table import Chunk, listed


@dataclass(frozen=True, slots=True)
class Change:
    """Of one raw column."""

    column: str
    before: float | str | None  # None if missing
    after: float | str
    taken: float | None = None  # what a missing number was taken for

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self) -> str:
        """A few words."""
        if isinstance(self.after, str):
            return f"{self.column} {self.after!r} instead of {'no value' if self.before is None else repr(self.before)}"
        if isinstance(self.before, float):
            return f"{self.column} {self.after - self.before:+.3g} (to {self.after:.4g})"
        return f"{self.column} {self.after:.4g} (it has no value, and is taken for {self.taken:.4g})"


@dataclass(frozen=True, slots=True)
class NearestChange:
    """The smallest change found after which the model decides otherwise; no changes if none was found."""

    decided: Any
    otherwise: Any
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
        """One line."""
        if not self.is_found:
            stays = f" with {listed(self.fixed)} unchanged" if self.fixed else ""
            return f"It is {self.decided!r}; no other decision was found within the range of the training rows{stays}."
        said = ", ".join(change.in_words() for change in self.changes)
        return f"It would be {self.otherwise!r} with {said}; {format_deviations(self.distance)} away."


def nearest_change(model: TableClassifier, row: Chunk, fixed: Sequence[str] = ()) -> NearestChange:
    """The smallest change of a raw row: of any numbers, and of one category at most.

    Numbers stay within the range of the training rows, and whole if they were whole there. Columns named by `fixed`
    stay as they are.
    """
    strange = [name for name in fixed if name not in model.encoder_.names]
    if strange:
        raise TableError(
            f"column {strange[0]!r} cannot be fixed: the model has no such column; "
            f"it has {listed(model.encoder_.names)}."
        )
    encoded = model.encode(row)[0]
    decided = model.classifier_.predict(encoded[None])[0]
    starts, costs = _switched(model, encoded, fixed)
    points = np.full(starts.shape, np.nan)
    distances = np.full(len(starts), np.inf)
    is_other = model.classifier_.predict(starts) != decided
    points[is_other], distances[is_other] = starts[is_other], costs[is_other]
    # The row itself comes first: from its own distance on, no switch that costs more can win.
    for part in (np.array([0]), np.arange(1, len(starts))):
        chosen = part[~is_other[part] & (costs[part] < distances.min())]
        if len(chosen):
            found, moved = _moved(model, starts[chosen], fixed)
            points[chosen], distances[chosen] = found, np.hypot(costs[chosen], moved)
    best = int(np.argmin(distances))
    if not np.isfinite(distances[best]):
        return NearestChange(_plain(decided), _plain(decided), float("inf"), (), tuple(fixed))
    otherwise = model.classifier_.predict(points[best][None])[0]
    changes = _changes(model, row, encoded, points[best])
    return NearestChange(_plain(decided), _plain(otherwise), float(distances[best]), changes, tuple(fixed))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _switched(model: TableClassifier, encoded: FloatArray, fixed: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """The row, and the row with one category replaced by another; and how far away, in standard deviations."""
    scale = model.classifier_.polytopes()[0].features.scale
    starts = [encoded]
    for column, place in model.encoder_.blocks():
        if isinstance(column, CategoryColumn) and column.name not in fixed:
            for code in range(len(column.categories)):
                if encoded[place.start + code] == 0.0:
                    other = encoded.copy()
                    other[place] = 0.0
                    other[place.start + code] = 1.0
                    starts.append(other)
    found = np.array(starts)
    return found, np.asarray(np.linalg.norm((found - encoded) / scale, axis=1))


def _moved(model: TableClassifier, starts: FloatArray, fixed: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """The nearest points by changes of numbers alone, and their distances."""
    free = [(column, place) for column, place in model.encoder_.blocks() if column.name not in fixed]
    numbers = [place.start for column, place in free if isinstance(column, NumericColumn)]
    whole = [place.start for column, place in free if isinstance(column, NumericColumn) and column.is_whole]
    if not numbers:
        return np.full(starts.shape, np.nan), np.full(len(starts), np.inf)
    known = model.classifier_.polytopes()[0].features
    bounds = (np.minimum(known.lower, starts.min(axis=0)), np.maximum(known.upper, starts.max(axis=0)))
    unmoved = [column for column in range(starts.shape[1]) if column not in set(numbers)]
    found = model.classifier_.counterfactual(starts, bounds=bounds, fixed=unmoved, integer=whole)
    return found.points, np.where(found.is_found, found.distances, np.inf)


def _changes(model: TableClassifier, row: Chunk, before: FloatArray, after: FloatArray) -> tuple[Change, ...]:
    """What differs, the largest change first."""
    scale = model.classifier_.polytopes()[0].features.scale
    sized: list[tuple[float, Change]] = []
    for column, place in model.encoder_.blocks():
        size = float(np.linalg.norm((after[place] - before[place]) / scale[place]))
        if size == 0.0:
            continue
        if isinstance(column, NumericColumn):
            raw, taken = float(row.numbers(column.name)[0]), float(before[place.start])
            new = float(after[place.start])
            is_missing = bool(np.isnan(raw))
            change = Change(column.name, None if is_missing else raw, new, taken if is_missing else None)
        else:
            new_text = column.categories[int(np.argmax(after[place]))]
            change = Change(column.name, row.texts(column.name)[0] or None, new_text)
        sized.append((size, change))
    sized.sort(key=lambda pair: -pair[0])
    return tuple(change for _, change in sized)


def named_polytopes(model: TableClassifier, threshold: float = 0.5) -> Polytopes:
    """The half-spaces, with the names of the encoded columns."""
    return model.named_classifier().polytopes(threshold)  # type: ignore[no-any-return]  # a classifier of ours


def explained(model: TableClassifier, encoded: FloatArray) -> Explanation:
    """The explanation of encoded rows, with the names of the encoded columns."""
    explanation: Explanation = model.classifier_.explain(encoded)
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
