"""Planes through the space of the features."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softpolytope._typing import FloatArray

# Space around the rows, as a share of their range.
MARGIN = 0.08


@dataclass(frozen=True, slots=True)
class Plane:
    """The rows origin + u * horizontal + v * vertical.

    Parameters
    ----------
    origin, horizontal, vertical : ndarray, shape (n_features,)
        A row and two directions, in the units of the features.
    horizontal_label, vertical_label : str
        What the axes are called.
    scale : ndarray, shape (n_features,), optional
        What the features are measured in when the point nearest to a row is sought, by default their own units.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.inspection.displays import Plane
    >>> plane = Plane(np.zeros(3), np.array([1.0, 0, 0]), np.array([0, 1.0, 1.0]), "first", "second and third")
    >>> plane.rows_at(np.array([[2.0, 1.0]])).tolist()
    [[2.0, 1.0, 1.0]]
    """

    origin: FloatArray
    horizontal: FloatArray
    vertical: FloatArray
    horizontal_label: str = "horizontal"
    vertical_label: str = "vertical"
    scale: FloatArray | None = None

    def __post_init__(self) -> None:
        directions = self.directions
        if directions.ndim != 2 or directions.shape[1:] != self.origin.shape:
            raise ValueError("origin, horizontal and vertical must be vectors of one number per feature.")
        if not (np.isfinite(directions).all() and np.isfinite(self.origin).all()):
            raise ValueError("origin, horizontal and vertical must hold finite numbers.")
        if np.linalg.matrix_rank(directions) < 2:
            raise ValueError("horizontal and vertical must point in two different directions.")

    @property
    def directions(self) -> FloatArray:
        """Both directions, (2, n_features)."""
        return np.array([self.horizontal, self.vertical], dtype=np.float64)

    def rows_at(self, points: FloatArray) -> FloatArray:
        """Rows (n, n_features) of points (n, 2) of the plane."""
        return np.ascontiguousarray(self.origin + points @ self.directions)

    def points_of(self, rows: FloatArray) -> FloatArray:
        """The points (n, 2) of the plane nearest to rows."""
        unit = 1.0 if self.scale is None else self.scale
        gaps = (rows - self.origin) / unit
        return np.asarray(np.linalg.lstsq((self.directions / unit).T, gaps.T, rcond=None)[0].T)


def plane_of_features(names: Sequence[str], pair: Sequence[Any] | None, origin: FloatArray) -> Plane:
    """The plane of two features, given by names or numbers; the others stay where `origin` has them."""
    if len(names) < 2:
        raise ValueError("a map needs two features; the model has one.")
    if pair is None:
        pair = (0, 1)
    if isinstance(pair, str) or len(pair) != 2:
        raise ValueError(f"view must be a pair of features or a Plane; got {pair!r}.")
    first, second = (_number_of(item, names) for item in pair)
    if first == second:
        raise ValueError(f"view must name two different features; got {names[first]!r} twice.")
    directions = np.eye(len(names))
    at = origin.copy()
    at[[first, second]] = 0.0
    return Plane(at, directions[first], directions[second], names[first], names[second])


def _number_of(feature: Any, names: Sequence[str]) -> int:
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if not isinstance(feature, str) and feature in range(len(names)):
        return int(feature)
    raise ValueError(f"view must name features of the model ({', '.join(names)}) or number them; got {feature!r}.")


def bounds_of(points: FloatArray) -> FloatArray:
    """Lower and upper corner of a view that holds all points, (2, 2)."""
    lower, upper = points.min(axis=0), points.max(axis=0)
    width = np.where(upper > lower, upper - lower, 1.0)
    return np.array([lower - MARGIN * width, upper + MARGIN * width])
