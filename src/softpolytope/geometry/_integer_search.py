"""Search for the nearest point when some features must stay integers.

For given integers the remaining features are an ordinary search; what is left is to choose the integers. Without other
features a choice costs one evaluation of the model, and all choices nearer than the best so far are tried if they are
few, which makes the result exact. With other features every choice is a search of its own, so choices are ranked by
the distances that the tangent planes of the boundary predict and only the best of them are searched; then neighbors of
the best are tried until none is nearer. Either way the number of choices tried is bounded, however many features are
integers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from softpolytope._typing import BoolArray, FloatArray, IndexArray

Solver = Callable[[FloatArray], FloatArray]

# Choices tried at once at most: if each is one evaluation of the model, and if each is a search.
MAX_CHOICES, MAX_SEARCHES = 4096, 48
MAX_ROUNDS = 12
# First guesses overshoot the boundary by these factors, since rounding may fall short of it.
STRETCHES = (0.0, 1.0, 1.05, 1.2, 1.5, 2.0, 3.0, 5.0)
# Tangent planes that greedy guesses follow, single steps in all, and steps of one feature.
MAX_GREEDY, MAX_GREEDY_STEPS, MAX_STEPS_OF_ONE = 3, 256, 32
# Features moved one at a time around the best choice, and two at a time.
MAX_MOVED, MAX_PAIRED = 64, 12


@dataclass(frozen=True, slots=True)
class Tangents:
    """Points of the boundary near a row, found without regard to integers, nearest first."""

    steps: FloatArray  # (points, features), from the row, in standard deviations
    normals: FloatArray  # (points, features), towards the wanted side, in standard deviations


@dataclass(frozen=True, slots=True)
class Lattice:
    """Integer features of a row, and the bounds of all its features."""

    row: FloatArray  # (features,)
    columns: IndexArray  # the integer features
    scale: FloatArray  # (features,)
    lower: FloatArray  # (features,)
    upper: FloatArray  # (features,)

    @property
    def is_free(self) -> BoolArray:
        """Whether a feature may take any value between its bounds, (features,)."""
        is_free = self.upper > self.lower
        is_free[self.columns] = False
        return is_free

    @property
    def max_choices(self) -> int:
        """Number of choices that may be tried at once."""
        return MAX_SEARCHES if self.is_free.any() else MAX_CHOICES

    def bases(self, choices: FloatArray) -> FloatArray:
        """Return the row with its integer features replaced by each choice (choices, integer features)."""
        bases = np.repeat(self.row[None], len(choices), axis=0)
        bases[:, self.columns] = choices
        return bases

    def allowed(self, choices: FloatArray) -> FloatArray:
        """Return the distinct choices within bounds; an unchanged feature need not be an integer."""
        own = self.row[self.columns]
        is_right = (choices == own) | (
            (choices == np.round(choices))
            & (choices >= self.lower[self.columns])
            & (choices <= self.upper[self.columns])
        )
        return np.unique(choices[is_right.all(axis=1)], axis=0)

    def distances(self, points: FloatArray) -> FloatArray:
        """Return the distances of points from the row in standard deviations; inf for NaN."""
        distances = np.linalg.norm((points - self.row) / self.scale, axis=-1)
        return np.where(np.isnan(distances), np.inf, distances)

    def predicted_distances(self, choices: FloatArray, tangents: Tangents) -> FloatArray:
        """Return the distances at which choices, with the other features' help, would cross the tangent planes."""
        moved = (choices - self.row[self.columns]) / self.scale[self.columns]
        normals = tangents.normals
        needed = (normals * tangents.steps).sum(axis=1) - moved @ normals[:, self.columns].T
        free = np.linalg.norm(normals[:, self.is_free], axis=1)
        # Without free features nothing can be added, and a shortfall becomes a penalty.
        length = np.where(free > 0.0, free, 1e-3 * np.linalg.norm(normals, axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            added = np.nan_to_num(np.maximum(needed, 0.0) / length, nan=np.inf)
        return np.asarray(np.hypot(np.linalg.norm(moved, axis=1), added.min(axis=1, initial=np.inf)))

    def guesses(self, tangents: Tangents) -> FloatArray:
        """Return choices near points of the boundary, rounded both ways, and greedy ones."""
        ends = [self.row + stretch * tangents.steps * self.scale for stretch in STRETCHES]
        values = np.concatenate(ends)[:, self.columns]
        own = self.row[self.columns]
        away = np.where(values > own, np.ceil(values), np.floor(values))
        nearer = np.where(values > own, np.floor(values), np.ceil(values))
        greedy = [self._greedy(normal) for normal in tangents.normals[:MAX_GREEDY]]
        return np.concatenate([own[None], np.round(values), away, nearer, *greedy])

    def _greedy(self, normal: FloatArray) -> FloatArray:
        """Return the choices along a path of single steps, in order of the gain per added distance."""
        own, sign = self.row[self.columns], np.sign(normal[self.columns])
        # The m-th step of a feature adds 2 m - 1 times the square of the first to the squared distance.
        shrink = 2.0 * np.arange(MAX_STEPS_OF_ONE)[:, None] + 1.0
        gains = np.abs(normal[self.columns]) * self.scale[self.columns] / shrink
        number, feature = np.unravel_index(np.argsort(-gains, axis=None, kind="stable"), gains.shape)
        value = np.where(sign > 0.0, np.floor(own), np.ceil(own))[feature] + sign[feature] * (number + 1)
        room = (value >= self.lower[self.columns][feature]) & (value <= self.upper[self.columns][feature])
        path = np.flatnonzero(room & (sign[feature] != 0.0))[:MAX_GREEDY_STEPS]
        choices = np.repeat(own[None], len(path), axis=0)
        for position, step in enumerate(path):
            choices[position:, feature[step]] = value[step]
        return choices

    def nearer_than(self, distance: float) -> FloatArray | None:
        """Return all choices nearer than a distance; None if there are too many."""
        own = self.row[self.columns]
        reach = distance * self.scale[self.columns]
        lower = np.ceil(np.maximum(own - reach, self.lower[self.columns]))
        upper = np.floor(np.minimum(own + reach, self.upper[self.columns]))
        sizes = np.maximum(upper - lower + 1.0, 0.0) + ((own != np.round(own)) | (own < lower) | (own > upper))
        with np.errstate(over="ignore"):
            if not np.isfinite(sizes).all() or sizes.prod() > 4 * MAX_CHOICES:
                return None
        axes = [
            np.unique(np.append(np.arange(low, high + 1.0), value))
            for low, high, value in zip(lower, upper, own, strict=True)
        ]
        choices = np.array(list(product(*axes))).reshape(-1, len(own))
        choices = choices[np.linalg.norm((choices - own) / self.scale[self.columns], axis=1) < distance]
        return choices if len(choices) <= MAX_CHOICES else None

    def neighbors(self, choice: FloatArray, tangents: Tangents) -> FloatArray:
        """Return choices with one or two features changed by one, or one restored; of many features some."""
        own = self.row[self.columns]
        gains = np.abs(tangents.normals[0, self.columns]) * self.scale[self.columns]
        # Features that were changed come first: they may have gone too far.
        moved = np.lexsort((-gains, choice == own))[:MAX_MOVED]
        ways = np.zeros((2 * len(moved), len(choice)))
        ways[np.arange(len(moved)), moved] = 1.0
        ways[len(moved) + np.arange(len(moved)), moved] = -1.0
        paired = np.concatenate([ways[:MAX_PAIRED], ways[len(moved) :][:MAX_PAIRED]])
        pairs = (paired[:, None] + paired[None]).reshape(-1, len(choice))
        back = np.repeat(choice[None], len(moved), axis=0)
        back[np.arange(len(moved)), moved] = own[moved]
        return np.concatenate([choice + ways, choice + pairs, back])


def nearest_on_lattice(lattice: Lattice, tangents: Tangents, solve: Solver) -> FloatArray:
    """Return the nearest point found, given boundary points of a search without integer constraints.

    `solve` takes rows and returns for each the nearest point with the same integer features, or NaN.
    """
    best = np.full(len(lattice.row), np.nan)
    if not len(tangents.steps):
        return best
    best = _better(lattice, best, lattice.guesses(tangents), tangents, solve)
    if np.isnan(best).any():
        return best
    choices = lattice.nearer_than(float(lattice.distances(best[None])[0]))
    if choices is not None:
        best = _better(lattice, best, choices, tangents, solve)
        if len(choices) <= lattice.max_choices:
            return best
    for _ in range(MAX_ROUNDS):
        better = _better(lattice, best, lattice.neighbors(best[lattice.columns], tangents), tangents, solve)
        if np.array_equal(better, best):
            break
        best = better
    return best


def _better(lattice: Lattice, best: FloatArray, choices: FloatArray, tangents: Tangents, solve: Solver) -> FloatArray:
    """Return the best point so far or a nearer one, found from the most promising of the choices."""
    shortest = float(lattice.distances(best[None])[0])
    choices = lattice.allowed(choices)
    choices = choices[lattice.distances(lattice.bases(choices)) < shortest]
    if len(choices) > lattice.max_choices:
        order = np.argsort(lattice.predicted_distances(choices, tangents), kind="stable")
        choices = choices[order[: lattice.max_choices]]
    if not len(choices):
        return best
    points = solve(lattice.bases(choices))
    distances = lattice.distances(points)
    nearest = int(np.argmin(distances))
    return points[nearest] if distances[nearest] < shortest else best
