"""The nearest point at which a model decides otherwise.

Distances are Euclidean in features divided by their standard deviations. Each row sends out rays: in directions spread
evenly, along the normals of the experts, and towards points of other classes. Where a ray first crosses into another
class it gives a point of the boundary; the nearest of these, in directions that differ, then slide along the boundary:
the nearest point of the tangent plane that the bounds allow shows where to turn the ray. All rows slide at once. Where
the boundary bends sharply tangent planes mislead, so the nearest point is then turned this way and that, by less and
less. A point is returned only if the model, asked again, decides otherwise there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.geometry._decision import ROUNDING, Decision, Hyperplane
from softpolytope.geometry._directions import even_directions, shortest_steps, ways_around
from softpolytope.geometry._integer_search import Lattice, Tangents, nearest_on_lattice
from softpolytope.model import Features

# Points of other classes that rays aim at.
N_AIMS, N_SCATTERED = 32, 512
# Places looked at along each ray, closer together near the row.
N_STEPS = 48
# Crossings per row that slide, and how alike the directions of two of them may be (their cosine).
N_SLIDES, MAX_ALIKE = 8, 0.95
MAX_TURNS = 60
MIN_GAIN = 1e-10
N_HALVINGS = 24
# Angles by which the nearest point is turned in the end, from the first to the last.
FIRST_ANGLE, LAST_ANGLE, MAX_POLISHES = 0.02, 1e-5, 100
# Points of the boundary that a search with integer features fixed aims at.
N_TARGETS = 3
# Rows whose rays are looked at together: bounds memory.
ROWS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """What a changed row may look like."""

    lower: FloatArray  # (rows, features)
    upper: FloatArray  # (rows, features)
    is_integer: BoolArray  # (features,)


def nearest_points(
    decision: Decision, rows: FloatArray, is_wanted: BoolArray, limits: Limits, features: Features
) -> FloatArray:
    """For each row the nearest point found where a wanted class (classes, rows) is predicted; NaN if there is none."""
    aims = _scattered(features)
    aim_codes = decision.codes(aims)
    points = np.full(rows.shape, np.nan)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        search = _Search(
            decision,
            rows[part],
            is_wanted[:, part],
            Limits(limits.lower[part], limits.upper[part], limits.is_integer),
            features.scale,
        )
        points[part] = search.nearest(aims, aim_codes)
    return points


def _scattered(features: Features) -> FloatArray:
    """Points spread evenly over the range of the training rows."""
    shares = qmc.Halton(len(features.names), scramble=False).random(N_SCATTERED)
    return np.ascontiguousarray(features.lower + shares * (features.upper - features.lower))


class _Search:
    """Some rows and their rays; positions are steps from the row, in standard deviations."""

    def __init__(
        self, decision: Decision, rows: FloatArray, is_wanted: BoolArray, limits: Limits, scale: FloatArray
    ) -> None:
        self._decision, self._rows, self._is_wanted, self._scale = decision, rows, is_wanted, scale
        self._lower, self._upper = (limits.lower - rows) / scale, (limits.upper - rows) / scale
        self._limits = limits
        self._largest = decision.largest_coefficients()

    def nearest(self, aims: FloatArray, aim_codes: NDArray[np.intp]) -> FloatArray:
        """The nearest point found for each row, in the user's units."""
        hyperplane = self._decision.hyperplane()
        if hyperplane is not None and not self._limits.is_integer.any():
            return self._across(hyperplane)
        row_of, steps = self._crossings(*self._directions(aims, aim_codes))
        row_of, steps = self._apart(row_of, steps)
        steps = self._turned(row_of, steps)
        if self._limits.is_integer.any():
            return np.stack([self._on_lattice(row, steps[row_of == row], aims) for row in range(len(self._rows))])
        row_of, steps = self._shortest(row_of, steps)
        steps = self._polished(row_of, steps)
        points = np.full(self._rows.shape, np.nan)
        points[row_of] = self._places(row_of, steps)
        return points

    def _shortest(self, row_of: NDArray[np.intp], steps: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        """The shortest step of each row that has any."""
        order = np.lexsort((np.linalg.norm(steps, axis=1), row_of))
        rows, first = np.unique(row_of[order], return_index=True)
        return rows, steps[order[first]]

    def _across(self, plane: Hyperplane) -> FloatArray:
        """The nearest points beyond the one hyperplane that decides, by more than rounding can undo."""
        side = np.where(self._is_wanted[1], 1.0, -1.0)
        normals = side[:, None] * plane.normal * self._scale
        # Twice what is asked for below: the point itself is rounded too.
        needed = 2.0 * plane.rounding(self._rows) - side * plane.beyond(self._rows)
        steps = shortest_steps(normals, needed, self._lower, self._upper)
        rows, is_beyond = np.arange(len(steps)), np.zeros(len(steps), dtype=bool)
        # Where the point is farther from zero than the row there is more rounding: a hair beyond, or two.
        for hair in 2.0 ** np.arange(-52.0, -20.0):
            places = self._places(rows, steps)
            is_beyond = side * plane.beyond(places) > plane.rounding(places)
            is_beyond &= self._decision.gap(places, self._is_wanted) > 0.0
            longer = np.clip(steps * (1.0 + hair), self._lower, self._upper)
            steps = np.where(is_beyond[:, None], steps, longer)
        return np.where(is_beyond[:, None], self._places(rows, steps), np.nan)

    def _on_lattice(self, row: int, steps: FloatArray, aims: FloatArray) -> FloatArray:
        """The nearest point of one row whose integer features stay whole; NaN if no ray met another decision."""
        if not len(steps):
            return np.full(self._rows.shape[1], np.nan)
        steps = steps[np.argsort(np.linalg.norm(steps, axis=1), kind="stable")]
        rows = np.full(len(steps), row)
        places = self._places(rows, steps)
        normals = self._decision.gap_slopes(places, self._is_wanted[:, rows]) * self._scale
        integers = np.flatnonzero(self._limits.is_integer)
        limits = (self._limits.lower[row], self._limits.upper[row])

        def solve(bases: FloatArray) -> FloatArray:
            parts = range(0, len(bases), ROWS_AT_ONCE)
            return np.concatenate([self._with_integers(bases[a : a + ROWS_AT_ONCE], row, places) for a in parts])

        lattice = Lattice(self._rows[row], integers, self._scale, *limits)
        best = nearest_on_lattice(lattice, Tangents(steps, normals), solve)
        base = np.where(self._limits.is_integer, best, self._rows[row])
        if np.isnan(best).any() or np.array_equal(best, base):
            return best
        # The choice is made; the other features deserve a search of their own.
        again = self._fixed_search(base[None], row).nearest(aims, self._decision.codes(aims))[0]
        return again if lattice.distances(again) < lattice.distances(best) else best

    def _with_integers(self, bases: FloatArray, row: int, targets: FloatArray) -> FloatArray:
        """A near point to each base that moves no integer feature; the base itself if it is a wanted one."""
        is_wanted = np.repeat(self._is_wanted[:, [row]], len(bases), axis=1)
        points = np.where((self._gap_at(bases, is_wanted) > 0.0)[:, None], bases, np.nan)
        open_ = np.flatnonzero(np.isnan(points[:, 0]))
        if len(open_) and not self._limits.is_integer.all():
            points[open_] = self._fixed_search(bases[open_], row).nearest_towards(targets[:N_TARGETS])
        return points

    def _fixed_search(self, bases: FloatArray, row: int) -> "_Search":
        """A search from bases that belong to a row, with the integer features fixed."""
        is_integer = self._limits.is_integer
        lower = np.where(is_integer, bases, self._limits.lower[row])
        upper = np.where(is_integer, bases, self._limits.upper[row])
        is_wanted = np.repeat(self._is_wanted[:, [row]], len(bases), axis=1)
        limits = Limits(lower, upper, np.zeros_like(is_integer))
        return _Search(self._decision, bases, is_wanted, limits, self._scale)

    def nearest_towards(self, targets: FloatArray) -> FloatArray:
        """A near point for each row, by a few rays towards places and up the gradient: quick, not thorough."""
        hyperplane = self._decision.hyperplane()
        if hyperplane is not None:
            return self._across(hyperplane)
        slopes = self._decision.gap_slopes(self._rows, self._is_wanted) * self._scale
        given = [
            np.concatenate([slope[None], (targets - row) / self._scale])
            for slope, row in zip(slopes, self._rows, strict=True)
        ]
        row_of, steps = self._shortest(*self._crossings(*self._unit_rays(given, 1)))
        points = np.full(self._rows.shape, np.nan)
        points[row_of] = self._places(row_of, self._turned(row_of, steps))
        return points

    def _gap(self, row_of: NDArray[np.intp], steps: FloatArray) -> FloatArray:
        """By how much wanted classes are ahead at steps from rows, more than rounding can undo."""
        return self._gap_at(self._places(row_of, steps), self._is_wanted[:, row_of])

    def _gap_at(self, places: FloatArray, is_wanted: BoolArray) -> FloatArray:
        """The same at places."""
        rounding = ROUNDING * (1.0 + self._largest[0] + np.abs(places) @ self._largest[1:])
        return np.asarray(self._decision.gap(places, is_wanted) - rounding)

    def _places(self, row_of: NDArray[np.intp], steps: FloatArray) -> FloatArray:
        """Where steps from rows end; rounding may not carry them over the limits."""
        places = self._rows[row_of] + steps * self._scale
        return np.ascontiguousarray(np.clip(places, self._limits.lower[row_of], self._limits.upper[row_of]))

    # Rays.

    def _directions(
        self, aims: FloatArray, aim_codes: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
        """Rows, directions of their rays, of unit length, and how far off their aims are, infinite if they have none.

        What may not move is left out.
        """
        common = np.concatenate([even_directions(self._rows.shape[1]), self._normals()])
        given = []
        for number, row in enumerate(self._rows):
            towards = (aims[self._is_wanted[aim_codes, number]] - row) / self._scale
            nearest = np.argsort(np.linalg.norm(towards, axis=1), kind="stable")[:N_AIMS]
            given.append(np.concatenate([common, towards[nearest]]))
        return self._unit_rays(given, len(common))

    def _unit_rays(self, given: list[FloatArray], first_aim: int) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
        """The same of directions (rays, features) for each row, those from a place on with an aim at their end."""
        row_of, found, distances = [], [], []
        for number, rays in enumerate(given):
            can_move = np.where(rays > 0.0, self._upper[number] > 0.0, self._lower[number] < 0.0)
            rays = np.where(can_move, rays, 0.0)  # noqa: PLW2901  # what may not move is left out
            length = np.linalg.norm(rays, axis=1)
            is_ray = length > 0.0
            found.append(rays[is_ray] / length[is_ray, None])
            distances.append(np.where(np.arange(len(rays)) < first_aim, np.inf, length)[is_ray])
            row_of.append(np.full(is_ray.sum(), number))
        return np.concatenate(row_of), np.concatenate(found), np.concatenate(distances)

    def _normals(self) -> FloatArray:
        """Normals of the best experts' upper layers, both ways."""
        normals = [np.zeros((0, self._rows.shape[1]))]
        for regression in self._decision.posterior.regressions:
            for labeling in regression.labelings:
                sums = np.cumsum(labeling.best.coefficients[:, ::-1, 1:], axis=1)
                normals.append(sums.reshape(-1, sums.shape[2]) * self._scale)
        both = np.concatenate(normals)
        return np.concatenate([both, -both])

    def _crossings(
        self, row_of: NDArray[np.intp], rays: FloatArray, aims: FloatArray
    ) -> tuple[NDArray[np.intp], FloatArray]:
        """Where rays first cross into a wanted class: rows, and steps just beyond the crossing."""
        if not len(rays):
            return row_of, rays
        ends = self._exits(row_of, rays)
        is_open, before, beyond = np.ones(len(rays), dtype=bool), np.zeros(len(rays)), np.full(len(rays), np.inf)
        for step in range(1, N_STEPS + 1):
            place = ends * (step / N_STEPS) ** 2
            asked = np.flatnonzero(is_open)
            is_beyond = self._gap(row_of[asked], rays[asked] * place[asked, None]) > 0.0
            beyond[asked[is_beyond]] = place[asked[is_beyond]]
            is_open[asked[is_beyond]] = False
            # An aim may lie between two steps that both miss its class.
            near = np.flatnonzero(is_open | (beyond == place))
            near = near[(before[near] < aims[near]) & (aims[near] < place[near])]
            is_hit = self._gap(row_of[near], rays[near] * aims[near, None]) > 0.0
            beyond[near[is_hit]] = aims[near[is_hit]]
            is_open[near[is_hit]] = False
            before[is_open] = place[is_open]
        is_found = np.isfinite(beyond)
        row_of, rays = row_of[is_found], rays[is_found]
        return row_of, rays * self._halved(row_of, rays, before[is_found], beyond[is_found])[:, None]

    def _exits(self, row_of: NDArray[np.intp], rays: FloatArray) -> FloatArray:
        """How far rays go before they leave the bounds."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(rays > 0.0, self._upper[row_of], self._lower[row_of]) / rays
        return np.asarray(np.where(rays == 0.0, np.inf, ends).min(axis=1))

    def _halved(self, row_of: NDArray[np.intp], rays: FloatArray, before: FloatArray, beyond: FloatArray) -> FloatArray:
        """How far along rays the class changes: the end of each bracket that is beyond, once it is small."""
        for _ in range(N_HALVINGS):
            middle = 0.5 * (before + beyond)
            is_beyond = self._gap(row_of, rays * middle[:, None]) > 0.0
            beyond, before = np.where(is_beyond, middle, beyond), np.where(is_beyond, before, middle)
        return beyond

    # Sliding.

    def _apart(self, row_of: NDArray[np.intp], steps: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        """The nearest crossings of each row in directions that differ."""
        length = np.linalg.norm(steps, axis=1)
        kept: list[int] = []
        for row in np.unique(row_of):
            own = np.flatnonzero(row_of == row)
            own = own[np.argsort(length[own], kind="stable")]
            units = steps[own] / length[own, None]
            is_left = np.ones(len(own), dtype=bool)
            for _ in range(N_SLIDES):
                if not is_left.any():
                    break
                first = int(np.argmax(is_left))
                kept.append(int(own[first]))
                is_left &= units @ units[first] < MAX_ALIKE
        return row_of[kept], steps[kept]

    def _turned(self, row_of: NDArray[np.intp], steps: FloatArray) -> FloatArray:
        """Slide steps along the boundary until none gets shorter."""
        steps = steps.copy()
        share = np.ones(len(steps))  # of the way to the tangent plane's nearest point; less after a failure
        moving = np.arange(len(steps))
        for _ in range(MAX_TURNS):
            if not len(moving):
                break
            rows, old = row_of[moving], steps[moving]
            aim = self._nearest_on_tangent(rows, old)
            new = old + share[moving, None] * (aim - old)
            new, is_crossing = self._brought_back(rows, new)
            gain = 1.0 - np.linalg.norm(new, axis=1) / np.linalg.norm(old, axis=1)
            is_nearer = is_crossing & (gain > 0.0)
            steps[moving[is_nearer]] = new[is_nearer]
            share[moving] = np.where(is_nearer, np.minimum(1.0, 2.0 * share[moving]), 0.25 * share[moving])
            is_done = (is_nearer & (gain < MIN_GAIN)) | (share[moving] < 1e-4)
            moving = moving[~is_done]
        return steps

    def _polished(self, row_of: NDArray[np.intp], steps: FloatArray) -> FloatArray:
        """Turn steps this way and that, and keep what makes them shorter."""
        ways = ways_around(self._rows.shape[1])
        angle = np.full(len(steps), FIRST_ANGLE)
        moving = np.arange(len(steps))
        for _ in range(MAX_POLISHES):
            if not len(moving):
                break
            rows, old = np.repeat(row_of[moving], len(ways)), np.repeat(steps[moving], len(ways), axis=0)
            length = np.linalg.norm(old, axis=1, keepdims=True)
            turned = old + np.repeat(angle[moving], len(ways))[:, None] * length * np.tile(ways, (len(moving), 1))
            turned, is_crossing = self._brought_back(rows, np.clip(turned, self._lower[rows], self._upper[rows]))
            ratio = np.where(is_crossing, np.linalg.norm(turned, axis=1) / length[:, 0], np.inf)
            best = ratio.reshape(len(moving), len(ways)).argmin(axis=1) + len(ways) * np.arange(len(moving))
            is_nearer = ratio[best] < 1.0
            steps[moving[is_nearer]] = turned[best[is_nearer]]
            # A gain that is small for its angle is the bottom of a valley.
            is_small = ratio[best] > 1.0 - 0.1 * angle[moving] ** 2
            angle[moving[is_small]] *= 0.5
            moving = moving[angle[moving] > LAST_ANGLE]
        return steps

    def _nearest_on_tangent(self, rows: NDArray[np.intp], steps: FloatArray) -> FloatArray:
        """The shortest steps within bounds to the other side of the tangent planes at points of the boundary."""
        places = self._places(rows, steps)
        normals = self._decision.gap_slopes(places, self._is_wanted[:, rows]) * self._scale
        return shortest_steps(normals, (normals * steps).sum(axis=1), self._lower[rows], self._upper[rows])

    def _brought_back(self, rows: NDArray[np.intp], steps: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Steps shortened or stretched until they end just beyond the boundary, and whether they do."""
        beyond = np.where(self._gap(rows, steps) > 0.0, 1.0, 1.5)
        beyond = np.minimum(beyond, self._exits(rows, steps))
        is_crossing = self._gap(rows, steps * beyond[:, None]) > 0.0
        length = self._halved(rows, steps, np.zeros(len(steps)), np.where(is_crossing, beyond, 0.0))
        return steps * length[:, None], is_crossing & (length > 0.0)
