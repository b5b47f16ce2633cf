"""Planes through the feature space, and the rectangles of them that maps show."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from softpolytope._deprecation import renamed_attribute
from softpolytope._typing import FloatArray
from softpolytope.model import Design, FittedModel

# Margin around the rows, as a fraction of their range.
MARGIN = 0.08


@dataclass(frozen=True, slots=True)
class Plane:
    """Plane of the rows origin + u * horizontal + v * vertical.

    Parameters
    ----------
    origin, horizontal, vertical : ndarray of shape (n_features,)
        A row and two directions, in the units of the features.
    horizontal_label, vertical_label : str
        Labels of the axes.
    scale : ndarray of shape (n_features,), optional
        Units of the features for projecting rows onto the plane, by default their own units.

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

    points_of = renamed_attribute("points_of", "project")

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
        """Return the rows (n, n_features) at points (n, 2) of the plane."""
        return np.ascontiguousarray(self.origin + points @ self.directions)

    def project(self, rows: FloatArray) -> FloatArray:
        """Return the points (n, 2) of the plane nearest to rows."""
        unit = 1.0 if self.scale is None else self.scale
        gaps = (rows - self.origin) / unit
        return np.asarray(np.linalg.lstsq((self.directions / unit).T, gaps.T, rcond=None)[0].T)


@dataclass(frozen=True, slots=True)
class View:
    """Rectangle of a plane, divided into cells, and the training rows projected onto it."""

    plane: Plane
    points: FloatArray  # (rows, 2), the training rows on the plane
    horizontal: FloatArray  # (cells,), positions of the map's columns
    vertical: FloatArray  # (cells,), positions of the map's rows

    def rows(self) -> FloatArray:
        """Return rows (n_cells ** 2, n_features) at all cells, from the bottom up."""
        points = np.stack(np.meshgrid(self.horizontal, self.vertical), axis=-1)
        return self.plane.rows_at(points.reshape(-1, 2))

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top."""
        return (*self.horizontal[[0, -1]].tolist(), *self.vertical[[0, -1]].tolist())


def make_view(
    model: FittedModel, X: Design, view: Sequence[str | int] | Plane | None, at: ArrayLike | None, n_cells: int
) -> View:
    """Return a view of validated rows on a plane, or on that of two features."""
    if not n_cells >= 2:
        raise ValueError(f"n_cells must be at least 2; got {n_cells!r}.")
    rows = X.toarray() if sparse.issparse(X) else np.asarray(X)
    if isinstance(view, Plane):
        plane = view
        if len(plane.origin) != model.n_features:
            raise ValueError(f"the plane must be one of {model.n_features} features; got {len(plane.origin)}.")
    else:
        plane = _feature_plane(model, view, np.median(rows, axis=0) if at is None else np.asarray(at, np.float64))
    points = plane.project(rows)
    lower, upper = points.min(axis=0), points.max(axis=0)
    margin = MARGIN * np.where(upper > lower, upper - lower, 1.0)
    horizontal, vertical = np.linspace(lower - margin, upper + margin, n_cells).T
    return View(plane, points, horizontal, vertical)


def _feature_plane(model: FittedModel, pair: Sequence[str | int] | None, at: FloatArray) -> Plane:
    """Return the plane of two features, given by names or numbers; the others stay at the values of `at`."""
    n_features = model.n_features
    if at.shape != (n_features,):
        raise ValueError(f"at must hold {n_features} numbers, one per feature; got shape {at.shape}.")
    if n_features < 2:
        raise ValueError("a map needs two features; the model has one.")
    if pair is None:
        pair = (0, 1)
    if isinstance(pair, str) or len(pair) != 2:
        raise ValueError(f"view must be a pair of features or a Plane; got {pair!r}.")
    names = model.features.names if model.has_feature_names else tuple(f"feature {i}" for i in range(n_features))
    first, second = (_column(item, names) for item in pair)
    if first == second:
        raise ValueError(f"view must name two different features; got {names[first]!r} twice.")
    directions = np.eye(n_features)
    origin = at.copy()
    origin[[first, second]] = 0.0
    return Plane(origin, directions[first], directions[second], names[first], names[second])


def _column(feature: str | int, names: tuple[str, ...]) -> int:
    """Return the column of a feature given by name or number."""
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if not isinstance(feature, str) and feature in range(len(names)):
        return int(feature)
    raise ValueError(f"view must name features of the model ({', '.join(names)}) or number them; got {feature!r}.")
