"""The part of a plane that a map shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softpolytope._typing import FloatArray
from softpolytope.data import validate_rows
from softpolytope.inspection.displays._plane import Plane, bounds_of, plane_of_features


@dataclass(frozen=True, slots=True)
class View:
    """A rectangle of a plane, cut into cells, and the rows that lie on it or near."""

    plane: Plane
    points: FloatArray  # (rows, 2), the training rows on the plane
    horizontal: FloatArray  # (cells,), where the columns of the map stand
    vertical: FloatArray  # (cells,)

    def rows(self) -> FloatArray:
        """Rows (n_cells ** 2, n_features) at all cells, from below upwards."""
        points = np.stack(np.meshgrid(self.horizontal, self.vertical), axis=-1)
        return self.plane.rows_at(points.reshape(-1, 2))

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top."""
        return (
            float(self.horizontal[0]),
            float(self.horizontal[-1]),
            float(self.vertical[0]),
            float(self.vertical[-1]),
        )


def view_of(estimator: Any, X: ArrayLike, chosen: Sequence[Any] | Plane | None, at: Any, n_cells: int) -> View:
    """A view that holds all rows; the estimator says whether they are rows at all."""
    if not n_cells >= 2:
        raise ValueError(f"n_cells must be at least 2; got {n_cells!r}.")
    rows = _dense(validate_rows(estimator, X))
    names = _feature_names(estimator)
    if isinstance(chosen, Plane):
        plane = chosen
        if len(plane.origin) != len(names):
            raise ValueError(f"the plane must be one of {len(names)} features; got {len(plane.origin)}.")
    else:
        origin = np.median(rows, axis=0) if at is None else np.asarray(at, dtype=np.float64)
        if origin.shape != (len(names),):
            raise ValueError(f"at must hold {len(names)} numbers, one per feature; got shape {origin.shape}.")
        plane = plane_of_features(names, chosen, origin)
    points = plane.points_of(rows)
    lower, upper = bounds_of(points)
    axes = [np.linspace(low, high, n_cells) for low, high in zip(lower, upper, strict=True)]
    return View(plane, points, axes[0], axes[1])


def _dense(rows: Any) -> FloatArray:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def _feature_names(estimator: Any) -> list[str]:
    given = getattr(estimator, "feature_names_in_", None)
    if given is not None:
        return [str(name) for name in given]
    return [f"feature {number}" for number in range(estimator.n_features_in_)]
