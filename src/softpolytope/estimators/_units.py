"""Standardised columns inside, the user's units outside."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.model.data import TrainingData

# A column of equal numbers has a spread of rounding errors, below this share of its mean.
SMALLEST_SPREAD = 1e-10


@dataclass(frozen=True, slots=True)
class Units:
    """How columns of the design were changed: z = (x - centre) / scale, the intercept left alone."""

    centre: FloatArray  # (columns,)
    scale: FloatArray  # (columns,)

    def of_user(self, coefficients: FloatArray) -> FloatArray:
        """Coefficients (..., columns) for the user's columns."""
        slopes = coefficients / self.scale
        slopes[..., 0] -= (slopes[..., 1:] * self.centre[1:]).sum(axis=-1)
        return slopes

    def from_user(self, coefficients: FloatArray) -> FloatArray:
        """Coefficients (..., columns) for the changed columns: the inverse of `of_user`."""
        slopes = coefficients * self.scale
        slopes[..., 0] += (coefficients[..., 1:] * self.centre[1:]).sum(axis=-1)
        return slopes

    def columns(self, weight: float) -> "Columns":
        """Columns that have these units, seen with so much weight."""
        return Columns(weight, self.centre.copy(), self.scale**2)

    def applied(self, data: TrainingData) -> TrainingData:
        """Rows with their columns changed so."""
        design: Any = data.design
        if sparse.issparse(data.design):
            changed = design.copy()
            changed.data *= (data.column_scale / self.scale)[changed.indices]
        else:
            changed = (design * data.column_scale - self.centre) / self.scale
            changed[:, 0] = 1.0
        return replace(data, design=changed, column_scale=np.ones(data.n_columns))


@dataclass(frozen=True, slots=True)
class Columns:
    """Weight, mean and mean square deviation of the columns of all rows seen."""

    weight: float
    mean: FloatArray  # (columns,)
    variance: FloatArray  # (columns,); of sparse rows the mean square, and the mean counts as zero

    def updated(self, data: TrainingData) -> "Columns":
        """With more rows."""
        weight = float(data.row_weights.sum())
        shares = data.row_weights / weight
        design: Any = data.design
        if sparse.issparse(data.design):
            mean = np.zeros(data.n_columns)
            squares = design.copy()
            squares.data = (squares.data * data.column_scale[squares.indices]) ** 2
            variance = shares @ squares
        else:
            rows = design * data.column_scale
            mean = shares @ rows
            variance = shares @ (rows - mean) ** 2
        total = self.weight + weight
        share = weight / total
        gap = mean - self.mean
        return Columns(
            total,
            self.mean + share * gap,
            (1.0 - share) * self.variance + share * variance + share * (1.0 - share) * gap**2,
        )

    def units(self) -> Units:
        """Mean 0 and variance 1; the intercept, and columns without spread, keep their size."""
        scale = np.sqrt(self.variance)
        is_left = scale <= SMALLEST_SPREAD * np.abs(self.mean)
        is_left[0] = True
        centre = self.mean.copy()
        centre[0] = 0.0
        return Units(centre, np.where(is_left, 1.0, scale))


def no_columns(n_columns: int) -> Columns:
    """Of no rows."""
    return Columns(0.0, np.zeros(n_columns), np.zeros(n_columns))


def plain_units(data: TrainingData) -> Units:
    """Columns as they are."""
    return Units(np.zeros(data.n_columns), np.ones(data.n_columns))


def standardised(data: TrainingData) -> tuple[TrainingData, Units]:
    """Columns of weighted mean 0 and variance 1; sparse ones keep their zeros and get mean square 1.

    Sums run over the distinct rows in their canonical order, so that neither the order of the rows given nor repeats
    instead of weights change a bit. Columns without spread become zero.
    """
    # Column scales of the data are powers of two that keep squares in range.
    shares = data.row_weights / data.row_weights.sum()
    design: Any = data.design
    is_sparse = bool(sparse.issparse(data.design))
    if is_sparse:
        centre = np.zeros(data.n_columns)
        squares = design.copy()
        squares.data **= 2
        spread = np.sqrt(shares @ squares)
    else:
        centre = shares @ design
        spread = np.sqrt(shares @ (design - centre) ** 2)
    is_left = np.asarray(spread <= SMALLEST_SPREAD * np.abs(centre))
    is_left[0] = True
    # A constant goes into the intercept: left in, it would be a second one of another size, which no step size suits.
    spread = np.where(is_left, 1.0, spread)
    centre[0] = 0.0
    if is_sparse:
        changed = design.copy()
        changed.data /= spread[changed.indices]
    else:
        changed = (design - centre) / spread
        changed[:, 1:][:, is_left[1:]] = 0.0
    units = Units(centre * data.column_scale, spread * data.column_scale)
    return replace(data, design=changed, column_scale=np.ones(data.n_columns)), units
