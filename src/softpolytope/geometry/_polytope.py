"""Intersections of half-spaces: whether they are empty or bounded, their redundant faces and their corners."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import HalfspaceIntersection, QhullError

from softpolytope._typing import BoolArray, FloatArray

# Corners are computed up to these numbers of features and faces; their number is exponential in the features.
MAX_FEATURES_FOR_CORNERS = 6
MAX_FACES_FOR_CORNERS = 200
# A polytope whose largest ball has a radius below this, in its own scaled space, is treated as flat.
MIN_RADIUS = 1e-9
# Smallest depth that a face must cut off to count, relative to its distance from a point inside.
MIN_CUT = 1e-9
# Faces farther away than this, in the same units, are ignored nearby; solvers treat 1e20 as infinite.
FAR = 1e9
MAX_OFFSET = 1e300


@dataclass(frozen=True, slots=True)
class Polytope:
    """Intersection of half-spaces, {x: normals . x <= offsets}."""

    normals: FloatArray  # (faces, features)
    offsets: FloatArray  # (faces,)

    def contains(self, X: FloatArray) -> BoolArray:
        """Return whether rows are inside, (rows,)."""
        return np.asarray((self.offsets - X @ self.normals.T >= 0.0).all(axis=1))

    def within(self, lower: FloatArray, upper: FloatArray) -> "Polytope":
        """Return the part inside a box; infinite bounds add no face."""
        identity = np.eye(self.normals.shape[1])
        normals = np.concatenate([self.normals, identity, -identity])
        offsets = np.concatenate([self.offsets, upper, -lower])
        is_finite = np.isfinite(offsets)
        return Polytope(normals[is_finite], offsets[is_finite])

    def is_empty(self) -> bool:
        """Return whether no x is inside."""
        is_face = _is_face(self.normals, self.offsets)
        if _holds_nowhere(self.normals[is_face], self.offsets[is_face]).any():
            return True
        # If zero is inside, no program is needed.
        return bool((self.offsets[is_face] < 0.0).any()) and self._scaled()[0]._ball() is None

    def is_bounded(self) -> bool:
        """Return whether the polytope is bounded; an empty one is.

        It is bounded if no direction d except zero has normals . d <= 0, that is, if the normals span the space and
        zero is a combination of all of them with positive weights (Stiemke's lemma).
        """
        if self.is_empty():
            return True
        scaled, _ = self._scaled()
        n_features = self.normals.shape[1]
        if len(scaled.offsets) <= n_features or np.linalg.matrix_rank(scaled.normals) < n_features:
            return False
        zero = np.zeros(n_features)
        return _solve(np.ones(len(scaled.offsets)), A_eq=scaled.normals.T, b_eq=zero, bounds=(1.0, None)) is not None

    def needed_faces(self) -> BoolArray:
        """Return whether each face is not implied by the others, (faces,); of equal faces one is kept."""
        scaled, _ = self._seen_from(self._inside())._scaled()
        is_needed = np.ones(len(scaled.offsets), dtype=bool)
        for face in range(len(is_needed)):
            is_needed[face] = False
            is_needed[face] = scaled._reaches_beyond(face, is_needed)
        is_all = _is_face(self.normals, self.offsets)
        is_all[is_all] = is_needed
        return is_all

    def without_redundant(self) -> "Polytope":
        """Return the same set without redundant faces."""
        is_needed = self.needed_faces()
        return Polytope(self.normals[is_needed], self.offsets[is_needed])

    def corners(self) -> FloatArray | None:
        """Return the vertices (vertices, features); None if unbounded, or if there are too many features or faces."""
        n_features = self.normals.shape[1]
        if n_features > MAX_FEATURES_FOR_CORNERS or len(self.offsets) > MAX_FACES_FOR_CORNERS:
            return None
        if self.is_empty():
            return np.empty((0, n_features))
        if not self.is_bounded():
            return None
        if n_features == 1:
            return self._interval()
        center = self._inside()
        scaled, unit = self._seen_from(center)._scaled()
        near = scaled._near()
        corners = (near if near.is_bounded() else scaled)._intersections()
        return None if corners is None else center + corners * unit

    def _interval(self) -> FloatArray:
        """Return both ends if there is a single feature."""
        normals = self.normals[:, 0]
        is_upper, is_lower = normals > 0.0, normals < 0.0
        lower, upper = ((self.offsets[side] / normals[side]) for side in (is_lower, is_upper))
        return np.array([[lower.max()], [upper.min()]])

    def _intersections(self) -> FloatArray | None:
        """Return the points where faces meet; None if the polytope is flat."""
        ball = self._ball()
        if ball is None or ball[1] < MIN_RADIUS:
            return None
        halves = np.column_stack([self.normals, -self.offsets])
        try:
            points = HalfspaceIntersection(halves, ball[0]).intersections
        except QhullError:
            return None
        return _distinct(points[np.isfinite(points).all(axis=1)])

    def _scaled(self) -> tuple["Polytope", FloatArray]:
        """Return faces with unit normals, in feature units that make the nearer offsets similar, and those units.

        Faces without a normal hold everywhere or nowhere; only the latter are kept.
        """
        is_face = _is_face(self.normals, self.offsets)
        normals, offsets = self.normals[is_face], self.offsets[is_face]
        is_nowhere = _holds_nowhere(normals, offsets)
        normals, offsets = np.where(is_nowhere[:, None], 0.0, normals), np.where(is_nowhere, -1.0, offsets)
        unit = _feature_units(normals, offsets)
        scaled = _in_units(normals, offsets, unit)
        size = scaled._size()
        return Polytope(scaled.normals, scaled.offsets / size), unit * size

    def _size(self) -> float:
        """Return the distance of the relevant faces: those that exclude zero, and the nearest that may enclose it."""
        distances = np.sort(np.abs(self.offsets[self.offsets != 0.0]))
        if not len(distances):
            return 1.0
        closing = distances[: self.normals.shape[1] + 1][-1]
        return float(max(closing, -self.offsets.min()))

    def _near(self) -> "Polytope":
        """Return the polytope without the faces that are too far away to matter."""
        is_near = self.offsets <= FAR
        return Polytope(self.normals[is_near], self.offsets[is_near])

    def _inside(self) -> FloatArray:
        """Return a point as deep inside as possible; an arbitrary point if there is none."""
        center = np.zeros(self.normals.shape[1])
        # From far away a small polytope looks like a point: the first answer may be off by a solver's tolerance.
        for _ in range(2):
            scaled, unit = self._seen_from(center)._scaled()
            ball = scaled._ball()
            if ball is not None:
                center = center + ball[0] * unit
        return center

    def _seen_from(self, center: FloatArray) -> "Polytope":
        """Return the polytope with a point moved to zero."""
        return Polytope(self.normals, self.offsets - self.normals @ center)

    def _ball(self) -> tuple[FloatArray, float] | None:
        """Return the center and radius of a large ball inside; None if the polytope is empty."""
        near = self._near()
        n_features = near.normals.shape[1]
        lengths = np.linalg.norm(near.normals, axis=1, keepdims=True)
        found = _solve(
            np.append(np.zeros(n_features), -1.0),
            A_ub=np.hstack([near.normals, lengths]),
            b_ub=near.offsets,
            # The radius is bounded, since an unbounded polytope has no largest ball.
            bounds=[(None, None)] * n_features + [(0.0, 1.0 + np.abs(near.offsets).max(initial=0.0))],
        )
        return None if found is None else (found[:-1], float(found[-1]))

    def _reaches_beyond(self, face: int, others: BoolArray) -> bool:
        """Return whether points beyond a face satisfy the others; lengths are relative to the face's distance."""
        distance = abs(self.offsets[face])
        size = distance if distance > MIN_RADIUS else 1.0
        normal, offset = self.normals[face], self.offsets[face] / size
        rest = Polytope(self.normals[others], self.offsets[others] / size)._near()
        found = _solve(
            -normal,
            A_ub=np.vstack([rest.normals, normal]),
            # Looking one unit beyond the face is enough, and keeps the program bounded.
            b_ub=np.append(rest.offsets, offset + 1.0),
            bounds=(None, None),
        )
        # None: the other faces leave nothing.
        return found is not None and bool(normal @ found > offset + MIN_CUT)


def _solve(costs: FloatArray, **constraints: Any) -> FloatArray | None:  # keywords of linprog, of several types
    """Return the solution of a linear program; None if it is infeasible."""
    # Interior points may succeed where the simplex method fails.
    for method in ("highs", "highs-ipm"):
        found = linprog(costs, method=method, **constraints)
        if found.status == 2:
            return None
        if found.status == 0:
            return np.asarray(found.x)
    raise RuntimeError(f"a linear program with {len(costs)} variables could not be solved: {found.message}")


def _feature_units(normals: FloatArray, offsets: FloatArray) -> FloatArray:
    """Return, for each feature, the second nearest crossing of its axis by a face: features have two sides.

    It does not depend on faces that are far away or nearly parallel to an axis. If the second crossing is far away
    too, the nearest is used.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossings = np.abs(offsets[:, None] / normals)
    crossings = np.sort(np.where((crossings > 0.0) & np.isfinite(crossings), crossings, np.inf), axis=0)
    nearest, second = (crossings[rank : rank + 1].min(axis=0, initial=np.inf) for rank in (0, 1))
    unit = np.where(second / FAR <= nearest, second, nearest)
    return np.where(np.isfinite(unit), unit, 1.0)


def _in_units(normals: FloatArray, offsets: FloatArray, unit: FloatArray) -> Polytope:
    """Return faces with unit normals for features measured in the given units."""
    # Divide by the largest component first: its square may overflow.
    normals, offsets = _divide_by_largest(normals, offsets)
    normals, offsets = _divide_by_largest(normals * unit, offsets)
    length = np.linalg.norm(normals, axis=1)
    length = np.where(length > 0.0, length, 1.0)
    return Polytope(normals / length[:, None], offsets / length)


def _divide_by_largest(normals: FloatArray, offsets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide faces by their largest components; offsets are clipped to finite numbers."""
    largest = np.abs(normals).max(axis=1, initial=0.0)
    largest = np.where(largest > 0.0, largest, 1.0)
    with np.errstate(over="ignore"):
        return normals / largest[:, None], np.clip(offsets / largest, -MAX_OFFSET, MAX_OFFSET)


def _holds_nowhere(normals: FloatArray, offsets: FloatArray) -> BoolArray:
    """Return whether half-spaces are empty."""
    return np.asarray((~(normals != 0.0).any(axis=1) & (offsets < 0.0)) | (offsets == -np.inf))


def _is_face(normals: FloatArray, offsets: FloatArray) -> BoolArray:
    """Return whether half-spaces exclude anything; infinite offsets, and zero normals that always hold, do not."""
    has_normal = (normals != 0.0).any(axis=1)
    return np.asarray((has_normal & (offsets < np.inf)) | (~has_normal & (offsets < 0.0)))


def _distinct(points: FloatArray) -> FloatArray:
    """Return points without those that repeat another up to rounding."""
    scale = np.abs(points).max(initial=0.0) or 1.0
    _, first = np.unique(np.round(points / scale, 9), axis=0, return_index=True)
    return points[np.sort(first)]
