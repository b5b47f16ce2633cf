"""Standardised columns inside, the user's units outside."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.model.data import TrainingData


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
    # A column of equal numbers has a spread of rounding errors.
    is_left = np.asarray(spread <= 1e-10 * np.abs(centre))
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
