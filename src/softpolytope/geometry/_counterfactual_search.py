"""Search for the nearest point at which a model predicts a different class.

Distances are Euclidean in features divided by their standard deviations. Each row sends out rays: in evenly spread
directions, along the normals of the experts, and towards points of other classes. Where a ray first crosses into
another class it yields a point on the boundary; the nearest of these, in directions that differ, then slide along the
boundary: the nearest point of the tangent plane within the bounds gives the new direction of the ray. All rows slide
at once. Tangent planes mislead where the boundary bends sharply, so the nearest point is finally rotated by small and
decreasing angles. A point is returned only if the model, evaluated again, predicts a different class there.
"""

from functools import cache

import numpy as np
from scipy.stats import qmc

from softpolytope._typing import BoolArray, FloatArray, IndexArray
from softpolytope.geometry._decision_boundary import SMALLEST, Boundary, Decision, Hyperplane, Limits
from softpolytope.geometry._integer_search import Lattice, Tangents, nearest_on_lattice
from softpolytope.model import Features

# Points of other classes that rays aim at.
N_AIMS, N_SCATTERED = 32, 512
# Evenly spread directions, in two dimensions and in more.
N_RAYS_IN_PLANE, N_RAYS = 180, 64
# Crossings per row that slide, and the largest cosine of the angle between two of them.
N_SLIDES, MAX_COSINE = 8, 0.95
MAX_TURNS = 60
MIN_GAIN = 1e-10
# Angles by which the nearest point is rotated in the end, from the first to the last, and directions of rotation.
FIRST_ANGLE, LAST_ANGLE, MAX_ROTATIONS, MAX_WAYS = 0.02, 1e-5, 100, 16
# Boundary points that a search with fixed integer features aims at.
N_TARGETS = 3
# Rows whose rays are evaluated together, which bounds memory.
ROWS_AT_ONCE = 64


def nearest_points(
    decision: Decision, rows: FloatArray, is_wanted: BoolArray, limits: Limits, features: Features
) -> FloatArray:
    """Return for each row the nearest point found where a wanted class (classes, rows) is predicted; NaN if none is."""
    # Aims are spread evenly over the range of the training rows.
    shares = qmc.Halton(len(features.names), scramble=False).random(N_SCATTERED)
    aims = np.ascontiguousarray(features.lower + shares * (features.upper - features.lower))
    aim_codes = decision.codes(aims)
    points = np.full(rows.shape, np.nan)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        part_limits = Limits(limits.lower[part], limits.upper[part], limits.is_integer)
        boundary = Boundary(decision, rows[part], is_wanted[:, part], part_limits, features.scale)
        points[part] = _Search(boundary).nearest(aims, aim_codes)
    return points


def shortest_steps(normals: FloatArray, needed: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the shortest steps, lower <= step <= upper, with normal . step >= needed, one per row.

    Without bounds that is a multiple of the normal in closed form. With them it is a multiple clipped to the bounds,
    found by bisection; where none is long enough, the step goes as far as the bounds allow.
    """
    square = np.maximum((normals**2).sum(axis=1), SMALLEST)
    multiple = needed / square
    steps = multiple[:, None] * normals
    is_clipped = ((steps < lower) | (steps > upper)).any(axis=1)
    low, high = multiple, multiple.copy()
    for _ in range(80):
        reached = (normals * np.clip(high[:, None] * normals, lower, upper)).sum(axis=1)
        high = np.where(reached < needed, 2.0 * high, high)
    for _ in range(80):
        middle = 0.5 * (low + high)
        reached = (normals * np.clip(middle[:, None] * normals, lower, upper)).sum(axis=1)
        low, high = np.where(reached < needed, middle, low), np.where(reached < needed, high, middle)
    return np.asarray(np.where(is_clipped[:, None], np.clip(high[:, None] * normals, lower, upper), steps))


def _even_directions(n_features: int) -> FloatArray:
    """Return directions spread over the sphere, including both ways along each axis."""
    axes = np.concatenate([np.eye(n_features), -np.eye(n_features)])
    if n_features == 1:
        return axes
    if n_features == 2:
        angles = 2.0 * np.pi * np.arange(N_RAYS_IN_PLANE) / N_RAYS_IN_PLANE
        return np.column_stack([np.cos(angles), np.sin(angles)])
    # A fixed seed, so that equal rows get equal answers.
    return np.concatenate([axes, np.random.default_rng(0).standard_normal((N_RAYS, n_features))])


@cache
def _rotation_directions(n_features: int) -> FloatArray:
    """Return the directions in which a step is rotated: along the features or, if these are many, random ones."""
    if 2 * n_features <= MAX_WAYS:
        return np.concatenate([np.eye(n_features), -np.eye(n_features)])
    some = np.random.default_rng(1).standard_normal((MAX_WAYS, n_features))
    return np.asarray(some / np.linalg.norm(some, axis=1, keepdims=True))


class _Search:
    """Rays from rows to their boundary; all steps are from the row, in standard deviations."""

    def __init__(self, boundary: Boundary) -> None:
        self._boundary, self._decision, self._limits = boundary, boundary.decision, boundary.limits
        self._rows, self._is_wanted, self._scale = boundary.rows, boundary.is_wanted, boundary.scale

    def nearest(self, aims: FloatArray, aim_codes: IndexArray) -> FloatArray:
        """Return the nearest point found for each row, in the user's units."""
        hyperplane = self._decision.hyperplane()
        if hyperplane is not None and not self._limits.is_integer.any():
            return self._beyond_hyperplane(hyperplane)
        row_of, steps = self._boundary.crossings(*self._rays(aims, aim_codes))
        row_of, steps = self._spread(row_of, steps)
        steps = self._slide(row_of, steps)
        if self._limits.is_integer.any():
            return np.stack([self._with_integers(row, steps[row_of == row], aims) for row in range(len(self._rows))])
        row_of, steps = _shortest(row_of, steps)
        return self._points(row_of, self._rotate(row_of, steps))

    def nearest_towards(self, targets: FloatArray) -> FloatArray:
        """Return a near point for each row from a few rays, towards targets and up the gradient: fast, not thorough."""
        hyperplane = self._decision.hyperplane()
        if hyperplane is not None:
            return self._beyond_hyperplane(hyperplane)
        gradients = self._decision.gap_gradients(self._rows, self._is_wanted) * self._scale
        given = [
            np.concatenate([gradient[None], (targets - row) / self._scale])
            for gradient, row in zip(gradients, self._rows, strict=True)
        ]
        row_of, steps = _shortest(*self._boundary.crossings(*self._unit_rays(given, 1)))
        return self._points(row_of, self._slide(row_of, steps))

    def _points(self, row_of: IndexArray, steps: FloatArray) -> FloatArray:
        """Return the end points of steps, one row at most once; NaN for rows without a step."""
        points = np.full(self._rows.shape, np.nan)
        points[row_of] = self._boundary.points(row_of, steps)
        return points

    def _beyond_hyperplane(self, plane: Hyperplane) -> FloatArray:
        """Return the nearest points beyond the hyperplane, far enough for rounding not to matter."""
        lower, upper = self._boundary.lower, self._boundary.upper
        side = np.where(self._is_wanted[1], 1.0, -1.0)
        normals = side[:, None] * plane.normal * self._scale
        # Twice what is required below, because the point itself is rounded too.
        needed = 2.0 * plane.rounding(self._rows) - side * plane.beyond(self._rows)
        steps = shortest_steps(normals, needed, lower, upper)
        rows, is_beyond = np.arange(len(steps)), np.zeros(len(steps), dtype=bool)
        # Rounding grows with the distance from zero, so steps are lengthened by tiny factors until they suffice.
        for excess in 2.0 ** np.arange(-52.0, -20.0):
            points = self._boundary.points(rows, steps)
            is_beyond = side * plane.beyond(points) > plane.rounding(points)
            is_beyond &= self._decision.gap(points, self._is_wanted) > 0.0
            longer = np.clip(steps * (1.0 + excess), lower, upper)
            steps = np.where(is_beyond[:, None], steps, longer)
        return np.where(is_beyond[:, None], self._boundary.points(rows, steps), np.nan)

    # Integer features.

    def _with_integers(self, row: int, steps: FloatArray, aims: FloatArray) -> FloatArray:
        """Return the nearest point of one row whose integer features stay integers; NaN if no ray crossed."""
        if not len(steps):
            return np.full(self._rows.shape[1], np.nan)
        steps = steps[np.argsort(np.linalg.norm(steps, axis=1), kind="stable")]
        rows = np.full(len(steps), row)
        targets = self._boundary.points(rows, steps)[:N_TARGETS]
        tangents = Tangents(steps, self._boundary.normals(rows, steps))
        is_integer, own = self._limits.is_integer, self._rows[row]
        lattice = Lattice(
            own, np.flatnonzero(is_integer), self._scale, self._limits.lower[row], self._limits.upper[row]
        )

        def solve(bases: FloatArray) -> FloatArray:
            parts = range(0, len(bases), ROWS_AT_ONCE)
            return np.concatenate([self._near_bases(bases[a : a + ROWS_AT_ONCE], row, targets) for a in parts])

        best = nearest_on_lattice(lattice, tangents, solve)
        base = np.where(is_integer, best, own)
        if np.isnan(best).any() or np.array_equal(best, base):
            return best
        # The integers are chosen; the other features get a thorough search of their own.
        again = self._search_from(base[None], row).nearest(aims, self._decision.codes(aims))[0]
        return again if lattice.distances(again) < lattice.distances(best) else best

    def _near_bases(self, bases: FloatArray, row: int, targets: FloatArray) -> FloatArray:
        """Return a near point for each base that changes no integer feature; the base itself if it has the class."""
        is_wanted = np.repeat(self._is_wanted[:, [row]], len(bases), axis=1)
        points = np.where((self._boundary.gap_at(bases, is_wanted) > 0.0)[:, None], bases, np.nan)
        open_ = np.flatnonzero(np.isnan(points[:, 0]))
        if len(open_) and not self._limits.is_integer.all():
            points[open_] = self._search_from(bases[open_], row).nearest_towards(targets)
        return points

    def _search_from(self, bases: FloatArray, row: int) -> "_Search":
        """Return a search from bases that belong to a row, with the integer features fixed."""
        is_integer = self._limits.is_integer
        lower = np.where(is_integer, bases, self._limits.lower[row])
        upper = np.where(is_integer, bases, self._limits.upper[row])
        is_wanted = np.repeat(self._is_wanted[:, [row]], len(bases), axis=1)
        limits = Limits(lower, upper, np.zeros_like(is_integer))
        return _Search(Boundary(self._decision, bases, is_wanted, limits, self._scale))

    # Rays.

    def _rays(self, aims: FloatArray, aim_codes: IndexArray) -> tuple[IndexArray, FloatArray, FloatArray]:
        """Return rows, the unit directions of their rays, and the distances to the rays' aims, infinite without one."""
        common = np.concatenate([_even_directions(self._rows.shape[1]), self._expert_normals()])
        given = []
        for number, row in enumerate(self._rows):
            towards = (aims[self._is_wanted[aim_codes, number]] - row) / self._scale
            nearest = np.argsort(np.linalg.norm(towards, axis=1), kind="stable")[:N_AIMS]
            given.append(np.concatenate([common, towards[nearest]]))
        return self._unit_rays(given, len(common))

    def _unit_rays(self, given: list[FloatArray], first_aim: int) -> tuple[IndexArray, FloatArray, FloatArray]:
        """Normalize the directions (rays, features) of each row, whose rays from `first_aim` on end at an aim.

        Components along features that cannot move are left out.
        """
        row_of, directions, distances = [], [], []
        for number, rays in enumerate(given):
            can_move = np.where(rays > 0.0, self._boundary.upper[number] > 0.0, self._boundary.lower[number] < 0.0)
            movable = np.where(can_move, rays, 0.0)
            length = np.linalg.norm(movable, axis=1)
            is_ray = length > 0.0
            directions.append(movable[is_ray] / length[is_ray, None])
            distances.append(np.where(np.arange(len(rays)) < first_aim, np.inf, length)[is_ray])
            row_of.append(np.full(is_ray.sum(), number))
        return np.concatenate(row_of), np.concatenate(directions), np.concatenate(distances)

    def _expert_normals(self) -> FloatArray:
        """Return the normals of the best experts' upper layers, both ways."""
        bests = [labeling.best.coefficients for labeling in self._decision.posterior.labelings]
        sums = [np.cumsum(best[:, ::-1, 1:], axis=1).reshape(-1, len(self._scale)) for best in bests]
        normals = np.concatenate(sums) * self._scale
        return np.concatenate([normals, -normals])

    # Steps to the boundary.

    def _spread(self, row_of: IndexArray, steps: FloatArray) -> tuple[IndexArray, FloatArray]:
        """Return the nearest crossings of each row in directions that differ."""
        length = np.linalg.norm(steps, axis=1)
        kept: list[int] = []
        for row in np.unique(row_of):
            own = np.flatnonzero(row_of == row)
            own = own[np.argsort(length[own], kind="stable")]
            directions = steps[own] / length[own, None]
            is_left = np.ones(len(own), dtype=bool)
            for _ in range(N_SLIDES):
                if not is_left.any():
                    break
                first = int(np.argmax(is_left))
                kept.append(int(own[first]))
                is_left &= directions @ directions[first] < MAX_COSINE
        return row_of[kept], steps[kept]

    def _slide(self, row_of: IndexArray, steps: FloatArray) -> FloatArray:
        """Slide steps along the boundary until none gets shorter."""
        steps = steps.copy()
        share = np.ones(len(steps))  # of the way to the tangent plane's nearest point; less after a failure
        moving = np.arange(len(steps))
        for _ in range(MAX_TURNS):
            if not len(moving):
                break
            rows, old = row_of[moving], steps[moving]
            # The shortest step within the bounds to the other side of the tangent plane.
            normals = self._boundary.normals(rows, old)
            needed = (normals * old).sum(axis=1)
            aim = shortest_steps(normals, needed, self._boundary.lower[rows], self._boundary.upper[rows])
            new, is_crossing = self._boundary.pull_back(rows, old + share[moving, None] * (aim - old))
            gain = 1.0 - np.linalg.norm(new, axis=1) / np.linalg.norm(old, axis=1)
            is_nearer = is_crossing & (gain > 0.0)
            steps[moving[is_nearer]] = new[is_nearer]
            share[moving] = np.where(is_nearer, np.minimum(1.0, 2.0 * share[moving]), 0.25 * share[moving])
            is_done = (is_nearer & (gain < MIN_GAIN)) | (share[moving] < 1e-4)
            moving = moving[~is_done]
        return steps

    def _rotate(self, row_of: IndexArray, steps: FloatArray) -> FloatArray:
        """Rotate steps in many directions by decreasing angles, and keep what makes them shorter."""
        ways = _rotation_directions(self._rows.shape[1])
        angle = np.full(len(steps), FIRST_ANGLE)
        moving = np.arange(len(steps))
        for _ in range(MAX_ROTATIONS):
            if not len(moving):
                break
            rows, old = np.repeat(row_of[moving], len(ways)), np.repeat(steps[moving], len(ways), axis=0)
            length = np.linalg.norm(old, axis=1, keepdims=True)
            new = old + np.repeat(angle[moving], len(ways))[:, None] * length * np.tile(ways, (len(moving), 1))
            new = np.clip(new, self._boundary.lower[rows], self._boundary.upper[rows])
            new, is_crossing = self._boundary.pull_back(rows, new)
            ratio = np.where(is_crossing, np.linalg.norm(new, axis=1) / length[:, 0], np.inf)
            best = ratio.reshape(len(moving), len(ways)).argmin(axis=1) + len(ways) * np.arange(len(moving))
            is_nearer = ratio[best] < 1.0
            steps[moving[is_nearer]] = new[best[is_nearer]]
            # A gain that is small for its angle is the bottom of a valley.
            is_small = ratio[best] > 1.0 - 0.1 * angle[moving] ** 2
            angle[moving[is_small]] *= 0.5
            moving = moving[angle[moving] > LAST_ANGLE]
        return steps


def _shortest(row_of: IndexArray, steps: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Return the shortest step of each row that has any."""
    order = np.lexsort((np.linalg.norm(steps, axis=1), row_of))
    rows, first = np.unique(row_of[order], return_index=True)
    return rows, steps[order[first]]
