"""Standardized columns inside, the user's units outside."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.data._dataset import InMemoryDataset
from softpolytope.data._features import MIN_SPREAD, FeatureSummary


@dataclass(frozen=True, slots=True)
class ColumnTransform:
    """How columns of the design were changed: z = (x - center) / scale, the intercept left alone."""

    center: FloatArray  # (columns,)
    scale: FloatArray  # (columns,)

    def are_same(self, other: "ColumnTransform") -> bool:
        """Whether both change columns alike."""
        return np.array_equal(self.center, other.center) and np.array_equal(self.scale, other.scale)

    def to_original(self, coefficients: FloatArray) -> FloatArray:
        """Coefficients (..., columns) for the user's columns."""
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = coefficients / self.scale
            slopes[..., 0] -= (slopes[..., 1:] * self.center[1:]).sum(axis=-1)
        if not np.isfinite(slopes).all():
            column = int(np.argmin(self.scale))
            raise ValueError(
                f"the coefficients of column {column - 1} of X overflow in its units, whose standard deviation is "
                f"{self.scale[column]:g}. Multiply the column by a power of ten, or leave it out."
            )
        return slopes

    def to_transformed(self, coefficients: FloatArray) -> FloatArray:
        """Coefficients (..., columns) for the changed columns: the inverse of `to_original`."""
        # Those of a batch beyond all bounds may overflow; then no step can be made, which is reported.
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = coefficients * self.scale
            slopes[..., 0] += (coefficients[..., 1:] * self.center[1:]).sum(axis=-1)
        return slopes

    def applied(self, data: InMemoryDataset) -> InMemoryDataset:
        """Rows with their columns changed so."""
        if self.are_same(identity_transform(data)):
            # Extreme columns stay divided by their powers of two.
            return data
        design: Any = data.design
        if sparse.issparse(data.design):
            changed = design.copy()
            changed.data *= (data.column_scale / self.scale)[changed.indices]
        else:
            ratio = data.column_scale / self.scale
            changed = (design - self.center / data.column_scale) * ratio
            changed[:, 0] = 1.0
        return replace(data, design=changed, column_scale=np.ones(data.n_columns))


def running_transform(features: FeatureSummary, *, is_sparse: bool) -> ColumnTransform:
    """Units in which columns like those seen so far have variance 1 and mean 0, or, if they stay sparse, mean square 1.

    The intercept keeps its size; a column without spread is measured by its own, so that later rows may have one.
    """
    size = np.maximum(np.abs(features.lower), np.abs(features.upper))
    has_spread = features.deviation > MIN_SPREAD * size
    center = np.zeros_like(features.mean) if is_sparse else features.mean
    scale = np.hypot(features.mean, features.deviation) if is_sparse else features.deviation
    scale = np.where(has_spread & (scale > 0.0), scale, np.where(size > 0.0, size, 1.0))
    return ColumnTransform(np.concatenate([[0.0], center]), np.concatenate([[1.0], scale]))


def identity_transform(data: InMemoryDataset) -> ColumnTransform:
    """Columns as they are."""
    return ColumnTransform(np.zeros(data.n_columns), np.ones(data.n_columns))


def standardized_data(data: InMemoryDataset) -> tuple[InMemoryDataset, ColumnTransform]:
    """Columns of weighted mean 0 and variance 1; sparse ones keep their zeros and get mean square 1.

    Sums run over the distinct rows in their canonical order, so that neither the order of the rows given nor repeats
    instead of weights change a bit. Columns without spread become zero.
    """
    # Column scales of the data are powers of two that keep squares in range.
    shares = data.row_weights / data.row_weights.sum()
    design: Any = data.design
    is_sparse = bool(sparse.issparse(data.design))
    if is_sparse:
        center = np.zeros(data.n_columns)
        squares = design.copy()
        squares.data **= 2
        spread = np.sqrt(shares @ squares)
    else:
        center = shares @ design
        spread = np.sqrt(shares @ (design - center) ** 2)
    is_left = np.asarray(spread <= MIN_SPREAD * np.abs(center))
    is_left[0] = True
    # A constant goes into the intercept: left in, it would be a second one of another size, which no step size suits.
    spread = np.where(is_left, 1.0, spread)
    center[0] = 0.0
    if is_sparse:
        changed = design.copy()
        changed.data /= spread[changed.indices]
    else:
        changed = (design - center) / spread
        changed[:, 1:][:, is_left[1:]] = 0.0
    units = ColumnTransform(center * data.column_scale, spread * data.column_scale)
    return replace(data, design=changed, column_scale=np.ones(data.n_columns)), units
