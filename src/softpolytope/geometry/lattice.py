"""The nearest point when some features must stay whole numbers.

For given whole numbers the other features are an ordinary search; what is left is to choose the numbers. All choices
nearer than the best so far are tried where they are few, which makes the choice certain; else neighbours of the best
are tried until none is nearer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray

Solver = Callable[[FloatArray], FloatArray]

# Choices that are all tried, if no more than these are nearer than the best.
MOST_CHOICES = 4096
MOST_ROUNDS = 30
# First guesses overshoot the boundary by these factors, for rounding may fall short of it.
STRETCHES = (0.0, 1.0, 1.05, 1.2, 1.5, 2.0, 3.0, 5.0)


@dataclass(frozen=True, slots=True)
class Lattice:
    """A row, the features that must stay whole, and how far they may go."""

    row: FloatArray  # (features,)
    columns: NDArray[np.intp]  # the whole features
    scale: FloatArray  # (features,)
    lower: FloatArray  # (features,)
    upper: FloatArray  # (features,)

    def bases(self, choices: FloatArray) -> FloatArray:
        """The row with its whole features replaced, one for each choice (choices, whole features)."""
        bases = np.repeat(self.row[None], len(choices), axis=0)
        bases[:, self.columns] = choices
        return bases

    def allowed(self, choices: FloatArray) -> FloatArray:
        """The distinct choices within bounds; a feature left as it is need not be whole."""
        own = self.row[self.columns]
        is_right = (choices == own) | (
            (choices == np.round(choices))
            & (choices >= self.lower[self.columns])
            & (choices <= self.upper[self.columns])
        )
        return np.unique(choices[is_right.all(axis=1)], axis=0)

    def distances(self, points: FloatArray) -> FloatArray:
        """In standard deviations from the row; inf where there is no point."""
        found = np.linalg.norm((points - self.row) / self.scale, axis=-1)
        return np.where(np.isnan(found), np.inf, found)

    def guesses(self, steps: FloatArray) -> FloatArray:
        """Choices near the ends of steps (in standard deviations) of the continuous search, rounded both ways."""
        ends = [self.row + stretch * steps * self.scale for stretch in STRETCHES]
        values = np.concatenate(ends)[:, self.columns]
        own = self.row[self.columns]
        away = np.where(values > own, np.ceil(values), np.floor(values))
        nearer = np.where(values > own, np.floor(values), np.ceil(values))
        return np.concatenate([own[None], np.round(values), away, nearer])

    def nearer_than(self, distance: float) -> FloatArray | None:
        """All choices nearer than a distance; None if there are too many."""
        own = self.row[self.columns]
        reach = distance * self.scale[self.columns]
        lower = np.maximum(np.ceil(own - reach), self.lower[self.columns])
        upper = np.minimum(np.floor(own + reach), self.upper[self.columns])
        sizes = np.maximum(np.floor(upper) - np.ceil(lower) + 2.0, 1.0)
        if not np.isfinite(sizes).all() or sizes.prod() > 4 * MOST_CHOICES:
            return None
        axes = [
            np.unique(np.append(np.arange(np.ceil(low), np.floor(high) + 1.0), value))
            for low, high, value in zip(lower, upper, own, strict=True)
        ]
        choices = np.array(list(product(*axes))).reshape(-1, len(own))
        choices = choices[np.linalg.norm((choices - own) / self.scale[self.columns], axis=1) < distance]
        return choices if len(choices) <= MOST_CHOICES else None

    def neighbours(self, choice: FloatArray) -> FloatArray:
        """One or two features up or down by one, or back to what they were."""
        single = np.concatenate([np.eye(len(choice)), -np.eye(len(choice))])
        pairs = (single[:, None] + single[None]).reshape(-1, len(choice))
        own = self.row[self.columns]
        back = np.where(np.eye(len(choice), dtype=bool), own, choice)
        return np.concatenate([choice + single, choice + pairs, back])


def nearest_on_lattice(lattice: Lattice, steps: FloatArray, solve: Solver) -> FloatArray:
    """The nearest point found, given steps to the boundary of the search that knew nothing of whole numbers.

    `solve` takes rows and returns for each the nearest point with the same whole features, or NaN.
    """
    best = np.full(len(lattice.row), np.nan)
    best = _better(lattice, best, lattice.allowed(lattice.guesses(steps)), solve)
    if np.isnan(best).any():
        return best
    choices = lattice.nearer_than(float(lattice.distances(best[None])[0]))
    if choices is not None:
        return _better(lattice, best, lattice.allowed(choices), solve)
    for _ in range(MOST_ROUNDS):
        better = _better(lattice, best, lattice.allowed(lattice.neighbours(best[lattice.columns])), solve)
        if np.array_equal(better, best):
            break
        best = better
    return best


def _better(lattice: Lattice, best: FloatArray, choices: FloatArray, solve: Solver) -> FloatArray:
    """The nearest of the best so far and what choices lead to."""
    bases = lattice.bases(choices)
    bases = bases[lattice.distances(bases) < lattice.distances(best[None])[0]]
    if not len(bases):
        return best
    points = solve(bases)
    distances = lattice.distances(points)
    nearest = int(np.argmin(distances))
    return points[nearest] if distances[nearest] < lattice.distances(best[None])[0] else best
