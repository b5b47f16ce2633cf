"""Intersections of half-spaces: whether there is anything in them, whether they end, their corners."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import HalfspaceIntersection, QhullError

from softpolytope._typing import BoolArray, FloatArray

# Corners are listed up to so many features and faces; their number grows with a power of the first.
MOST_FEATURES_FOR_CORNERS = 6
MOST_FACES_FOR_CORNERS = 200
# A polytope whose largest ball has a radius below this, in units of its own scaled space, has no inside to speak of.
SMALLEST_RADIUS = 1e-9
# What a face must cut off to count, in the same units.
SMALLEST_CUT = 1e-9


@dataclass(frozen=True, slots=True)
class Polytope:
    """{x: normals . x <= offsets}."""

    normals: FloatArray  # (faces, features)
    offsets: FloatArray  # (faces,)

    def contains(self, X: FloatArray) -> BoolArray:
        """Whether rows are inside, (rows,)."""
        return np.asarray((self.offsets - X @ self.normals.T >= 0.0).all(axis=1))

    def within(self, lower: FloatArray, upper: FloatArray) -> "Polytope":
        """The part inside a box; infinite bounds add no face."""
        identity = np.eye(self.normals.shape[1])
        normals = np.concatenate([self.normals, identity, -identity])
        offsets = np.concatenate([self.offsets, upper, -lower])
        is_finite = np.isfinite(offsets)
        return Polytope(normals[is_finite], offsets[is_finite])

    def is_empty(self) -> bool:
        """Whether no x is inside."""
        scaled, _ = self._scaled()
        return len(scaled.offsets) > 0 and scaled._ball() is None

    def is_bounded(self) -> bool:
        """Whether it ends in every direction (an empty one does).

        It does if no direction d but zero has normals . d <= 0, that is, if the normals span the space and zero is a
        combination of all of them with positive weights (Stiemke's lemma).
        """
        if self.is_empty():
            return True
        scaled, _ = self._scaled()
        n_features = self.normals.shape[1]
        if len(scaled.offsets) <= n_features or np.linalg.matrix_rank(scaled.normals) < n_features:
            return False
        found: Any = linprog(
            np.ones(len(scaled.offsets)),
            A_eq=scaled.normals.T,
            b_eq=np.zeros(n_features),
            bounds=(1.0, None),
            method="highs",
        )
        return bool(found.status == 0)

    def needed_faces(self) -> BoolArray:
        """Whether each face cuts off something that the others leave, (faces,); of equal faces the first does."""
        scaled, _ = self._scaled()
        is_needed = np.ones(len(scaled.offsets), dtype=bool)
        for face in range(len(is_needed)):
            is_needed[face] = False
            is_needed[face] = scaled._reaches_beyond(face, is_needed)
        is_all = np.ones(len(self.offsets), dtype=bool)
        is_all[~_is_face(self.normals, self.offsets)] = False
        is_all[is_all] = is_needed
        return is_all

    def without_redundant(self) -> "Polytope":
        """The same set with the faces that matter only."""
        is_needed = self.needed_faces()
        return Polytope(self.normals[is_needed], self.offsets[is_needed])

    def corners(self) -> FloatArray | None:
        """Its vertices (vertices, features); None if there are too many features or faces, or it does not end."""
        n_features = self.normals.shape[1]
        if n_features > MOST_FEATURES_FOR_CORNERS or len(self.offsets) > MOST_FACES_FOR_CORNERS:
            return None
        if self.is_empty():
            return np.empty((0, n_features))
        if not self.is_bounded():
            return None
        scaled, unit = self._scaled()
        corners = scaled._interval() if n_features == 1 else scaled._intersections()
        return None if corners is None else corners * unit

    def _interval(self) -> FloatArray:
        """Both ends, of a single feature."""
        ends = self.offsets / self.normals[:, 0]
        is_upper = self.normals[:, 0] > 0.0
        return np.array([[ends[~is_upper].max()], [ends[is_upper].min()]])

    def _intersections(self) -> FloatArray | None:
        """Where faces meet; None if there is no inside to speak of."""
        ball = self._ball()
        if ball is None or ball[1] < SMALLEST_RADIUS:
            return None
        halves = np.column_stack([self.normals, -self.offsets])
        try:
            points = HalfspaceIntersection(halves, ball[0]).intersections
        except QhullError:
            return None
        return _distinct(points[np.isfinite(points).all(axis=1)])

    def _scaled(self) -> tuple["Polytope", FloatArray]:
        """Faces of unit normals in features measured in units that make their slopes alike, and those units.

        Faces without a normal hold everywhere or nowhere; only the latter stay.
        """
        is_face = _is_face(self.normals, self.offsets)
        normals, offsets = self.normals[is_face], self.offsets[is_face]
        largest = np.abs(normals).max(axis=0, initial=0.0)
        unit = 1.0 / np.where(largest > 0.0, largest, 1.0)
        normals = normals * unit
        length = np.linalg.norm(normals, axis=1)
        length = np.where(length > 0.0, length, 1.0)
        return Polytope(normals / length[:, None], offsets / length), unit

    def _ball(self) -> tuple[FloatArray, float] | None:
        """Centre and radius of a large ball inside; None if there is none of any size."""
        n_features = self.normals.shape[1]
        lengths = np.linalg.norm(self.normals, axis=1, keepdims=True)
        found: Any = linprog(
            np.append(np.zeros(n_features), -1.0),
            A_ub=np.hstack([self.normals, lengths]),
            b_ub=self.offsets,
            # The radius is bounded, or an unbounded polytope would have no best ball.
            bounds=[(None, None)] * n_features + [(0.0, 1.0 + np.abs(self.offsets).max(initial=0.0))],
            method="highs",
        )
        if found.status == 2:
            return None
        return found.x[:-1], float(found.x[-1])

    def _reaches_beyond(self, face: int, others: BoolArray) -> bool:
        """Whether other faces leave points beyond a face."""
        normal, offset = self.normals[face], self.offsets[face]
        found: Any = linprog(
            -normal,
            A_ub=np.vstack([self.normals[others], normal]),
            # One unit beyond is enough to know; without it the programme may be unbounded.
            b_ub=np.append(self.offsets[others], offset + 1.0),
            bounds=(None, None),
            method="highs",
        )
        if found.status == 2:  # nothing is inside the others
            return False
        return bool(found.status != 0 or -found.fun > offset + SMALLEST_CUT * (1.0 + abs(offset)))


def _is_face(normals: FloatArray, offsets: FloatArray) -> BoolArray:
    """Whether a half-space says anything: infinite offsets, and zero normals that hold everywhere, do not."""
    has_normal = (normals != 0.0).any(axis=1)
    return np.asarray((has_normal & (offsets < np.inf)) | (~has_normal & (offsets < 0.0)))


def _distinct(points: FloatArray) -> FloatArray:
    """Points with those that differ by rounding taken once."""
    scale = np.abs(points).max(initial=0.0) or 1.0
    _, first = np.unique(np.round(points / scale, 9), axis=0, return_index=True)
    return points[np.sort(first)]
