"""Standardized columns for inference, and coefficients in the user's units.

There are two computations of center and scale. Rows in memory take them from sums over the distinct rows in canonical
order (`standardized_data`), so that neither the order of the rows nor repeats instead of weights change a bit. Rows in
partitions are neither merged nor sorted, and take them from moments added over partitions (`PartitionUnits`); the last
bits of such sums differ.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data._dataset import InMemoryDataset
from softpolytope.data._moments import (
    MIN_SPREAD,
    FeatureSummary,
    Moments,
    divide_columns,
    mean_and_variance,
    mean_square,
    power_of_two,
)


@dataclass(frozen=True, slots=True)
class ColumnTransform:
    """Transform of the columns of a design, z = (x - center) / scale; the intercept stays as it is."""

    center: FloatArray  # (columns,)
    scale: FloatArray  # (columns,)

    def are_same(self, other: "ColumnTransform") -> bool:
        """Return whether both transform columns in the same way."""
        return np.array_equal(self.center, other.center) and np.array_equal(self.scale, other.scale)

    def to_original(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients (..., columns) for the user's columns."""
        with np.errstate(over="ignore", invalid="ignore"):
            changed = coefficients / self.scale
            changed[..., 0] -= (changed[..., 1:] * self.center[1:]).sum(axis=-1)
        if not np.isfinite(changed).all():
            column = int(np.argmin(self.scale))
            raise ValueError(
                f"The coefficients of column {column - 1} of X overflow in the units of X: its standard deviation is "
                f"{self.scale[column]:g}. Multiply the column by a power of ten, or leave it out."
            )
        return changed

    def to_transformed(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients (..., columns) for the transformed columns, the inverse of `to_original`."""
        # Those of an extreme batch may overflow. No step is possible then, which is reported elsewhere.
        with np.errstate(over="ignore", invalid="ignore"):
            changed = coefficients * self.scale
            changed[..., 0] += (coefficients[..., 1:] * self.center[1:]).sum(axis=-1)
        return changed

    def apply(self, data: InMemoryDataset) -> InMemoryDataset:
        """Return rows with transformed columns."""
        if self.are_same(identity_transform(data.n_columns)):
            # Extreme columns stay divided by their powers of two.
            return data
        ratio = data.column_scale / self.scale
        if isinstance(data.design, sparse.csr_array):
            thin = data.design.copy()
            thin.data *= ratio[thin.indices]
            return replace(data, design=thin, column_scale=np.ones(data.n_columns))
        dense = (data.design - self.center / data.column_scale) * ratio
        dense[:, 0] = 1.0
        return replace(data, design=dense, column_scale=np.ones(data.n_columns))


def identity_transform(n_columns: int) -> ColumnTransform:
    """Return the transform that leaves columns as they are."""
    return ColumnTransform(np.zeros(n_columns), np.ones(n_columns))


def running_transform(features: FeatureSummary, *, is_sparse: bool) -> ColumnTransform:
    """Return the transform of columns like those seen so far to mean 0 and variance 1, or, if sparse, mean square 1.

    The intercept keeps its size. The scale of a constant column is its own size, because later rows may vary.
    """
    size = np.maximum(np.abs(features.lower), np.abs(features.upper))
    has_spread = features.deviation > MIN_SPREAD * size
    center = np.zeros_like(features.mean) if is_sparse else features.mean
    scale = np.hypot(features.mean, features.deviation) if is_sparse else features.deviation
    scale = np.where(has_spread & (scale > 0.0), scale, np.where(size > 0.0, size, 1.0))
    return ColumnTransform(np.concatenate([[0.0], center]), np.concatenate([[1.0], scale]))


def standardized_data(data: InMemoryDataset) -> tuple[InMemoryDataset, ColumnTransform]:
    """Return columns of weighted mean 0 and variance 1; sparse ones keep their zeros and get mean square 1.

    Constant columns become zero.
    """
    # The column scales of the data are powers of two that keep squares in range.
    design, shares = data.design, data.row_weights / data.row_weights.sum()
    is_sparse = isinstance(design, sparse.csr_array)
    if is_sparse:
        center, variance = np.zeros(design.shape[1]), mean_square(design, shares)
    else:
        center, variance = mean_and_variance(design, shares)
    spread = np.sqrt(variance)
    is_left = np.asarray(spread <= MIN_SPREAD * np.abs(center))
    is_left[0] = True
    # A constant column goes into the intercept: left in, it would be a second intercept of another size, which no step
    # size suits.
    spread = np.where(is_left, 1.0, spread)
    center[0] = 0.0
    changed = divide_columns(design if is_sparse else design - center, spread)
    if not is_sparse:
        changed[:, 1:][:, is_left[1:]] = 0.0
    transform = ColumnTransform(center * data.column_scale, spread * data.column_scale)
    return replace(data, design=changed, column_scale=np.ones(len(spread))), transform


@dataclass(frozen=True, slots=True)
class PartitionUnits:
    """Center and scale of the columns of rows in partitions, from their moments."""

    transform: ColumnTransform
    column_scale: FloatArray  # (columns,), the part of the scale that inference multiplies back, powers of two
    is_constant: BoolArray  # (columns,), columns that become zero because the intercept represents them

    @classmethod
    def from_moments(cls, moments: Moments, *, standardize: bool, is_sparse: bool) -> "PartitionUnits":
        """Return the units of standardized columns, or powers of two for extreme columns."""
        n_columns = len(moments.mean) + 1
        none = np.zeros(n_columns, dtype=bool)
        largest = np.maximum(np.abs(moments.lower), np.abs(moments.upper))
        power = np.concatenate([[1.0], power_of_two(largest)])
        power[power == 0.0] = 1.0
        if not standardize:
            return cls(ColumnTransform(np.zeros(n_columns), power), power, none)
        if is_sparse:
            mean, spread = (
                np.zeros(n_columns - 1),
                np.sqrt(moments.square / moments.weight + moments.mean**2) * moments.unit,
            )
        else:
            mean, spread = moments.mean * moments.unit, moments.deviation * moments.unit
        is_left = np.concatenate([[True], spread <= MIN_SPREAD * np.abs(mean)])
        scale = np.where(is_left, power, np.concatenate([[1.0], spread]))
        is_constant = none if is_sparse else is_left & (np.arange(n_columns) > 0)
        return cls(ColumnTransform(np.concatenate([[0.0], mean]), scale), np.ones(n_columns), is_constant)

    def sizes(self, moments: Moments) -> tuple[FloatArray, FloatArray]:
        """Return the largest absolute value and the root mean square of each column as inference sees it."""
        center, scale = self.transform.center, self.transform.scale
        lower, upper = (np.concatenate([[1.0], end]) for end in (moments.lower, moments.upper))
        ends = [np.abs(((end - center) / scale) * self.column_scale) for end in (lower, upper)]
        largest = np.where(self.is_constant, 0.0, np.maximum(*ends))
        largest[0] = 1.0
        factor = self.column_scale[1:] / scale[1:]
        deviation = moments.deviation * moments.unit * factor
        centered = (moments.mean * moments.unit - center[1:]) * factor
        square = np.where(self.is_constant[1:], 0.0, deviation**2 + centered**2)
        return largest, np.sqrt(np.concatenate([[1.0], square]))
