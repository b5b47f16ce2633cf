"""Means, variances, ranges and integrality of columns, from rows in memory or from sums over partitions."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.model import Design, Features

if TYPE_CHECKING:
    from softpolytope.data._dataset import InMemoryDataset

# A column of equal numbers has a standard deviation of rounding errors, below this share of its size.
MIN_SPREAD = 1e-13
# Doubles from here on have no fractional part.
MAX_INTEGER = 2.0**53
ROWS_AT_ONCE = 4096


def ranges(X: Design) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and largest value of each column."""
    if isinstance(X, np.ndarray):
        return X.min(axis=0), X.max(axis=0)
    lower, upper = (np.asarray(end.toarray(), dtype=np.float64).reshape(-1) for end in (X.min(axis=0), X.max(axis=0)))
    return lower, upper


def mean_and_variance(rows: Design, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weighted mean and variance of each column; `shares` are weights that add up to one."""
    mean = np.asarray(shares @ rows)
    if isinstance(rows, sparse.csr_array):
        return mean, np.maximum(mean_square(rows, shares) - mean**2, 0.0)
    return mean, np.asarray(shares @ (rows - mean) ** 2)


def mean_square(rows: Design, shares: FloatArray) -> FloatArray:
    """Return the weighted mean square of each column."""
    squares = rows.multiply(rows).tocsr() if isinstance(rows, sparse.csr_array) else rows**2
    return np.asarray(shares @ squares)


def power_of_two(largest: FloatArray) -> FloatArray:
    """Return 1, or a power of two near a size whose square could overflow or underflow; 0 for size 0."""
    _, exponent = np.frexp(largest)
    return np.where(largest == 0.0, 0.0, np.where(np.abs(exponent) > 100, np.ldexp(1.0, exponent - 1), 1.0))


def integer_columns(rows: Design, scale: FloatArray | None = None) -> BoolArray:
    """Return whether all values of each column, times its scale, are integers."""
    n_columns = int(rows.shape[1])
    factors = np.ones(n_columns) if scale is None else scale
    is_integer = np.ones(n_columns, dtype=bool)
    # Rows are visited in parts, so that temporary arrays stay small.
    for start in range(0, rows.shape[0], ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        columns: NDArray[np.integer[Any]]
        if isinstance(part, sparse.csr_array):
            columns, values = part.indices, (part.data * factors[part.indices])[None, :]
        else:
            columns = np.flatnonzero(is_integer)
            values = part[:, columns] * factors[columns]
        has_other = ((values != np.floor(values)) | (np.abs(values) >= MAX_INTEGER)).any(axis=0)
        is_integer[columns[has_other]] = False
    return is_integer


@dataclass(frozen=True)
class Moments:
    """Number, weight and column moments of rows, which can be added to those of other rows.

    Features are divided by `scale`, a power of two, where their squares could overflow or underflow.
    """

    n_given: int
    n_rows: int  # of positive weight
    weight: float
    scale: FloatArray  # (features,); 0 where all values are 0
    mean: FloatArray  # (features,)
    square: FloatArray  # (features,), weighted sum of squared deviations
    lower: FloatArray  # (features,), in the user's units
    upper: FloatArray  # (features,)
    is_integer: BoolArray  # (features,)

    @classmethod
    def from_rows(cls, X: Design, weights: FloatArray) -> "Moments":
        """Return the moments of weighted rows."""
        n_given = int(X.shape[0])
        if not weights.all():
            kept = np.flatnonzero(weights)
            X, weights = X[kept], weights[kept]
        n_rows, n_features = X.shape
        if n_rows == 0:
            nothing = np.zeros(n_features)
            none = (nothing + np.inf, nothing - np.inf, np.ones(n_features, dtype=bool))
            return cls(n_given, 0, 0.0, nothing, nothing, nothing, *none)
        lower, upper = ranges(X)
        scale = power_of_two(np.maximum(np.abs(lower), np.abs(upper)))
        weight = float(weights.sum())
        mean, variance = mean_and_variance(divide_columns(X, np.where(scale > 0.0, scale, 1.0)), weights / weight)
        return cls(n_given, int(n_rows), weight, scale, mean, weight * variance, lower, upper, integer_columns(X))

    def __add__(self, other: "Moments") -> "Moments":
        """Return the moments of the rows of both."""
        scale = np.maximum(self.scale, other.scale)
        one, two = self._scaled(scale), other._scaled(scale)
        weight = one.weight + two.weight
        share = two.weight / weight if weight > 0.0 else 0.0
        gap = two.mean - one.mean
        return Moments(
            one.n_given + two.n_given,
            one.n_rows + two.n_rows,
            weight,
            scale,
            one.mean + share * gap,
            one.square + two.square + share * one.weight * gap**2,
            np.minimum(one.lower, two.lower),
            np.maximum(one.upper, two.upper),
            one.is_integer & two.is_integer,
        )

    def times(self, factor: float) -> "Moments":
        """Return the moments with every weight multiplied by a factor."""
        if factor == 0.0:
            return replace(self, n_rows=0, weight=0.0, square=np.zeros_like(self.square))
        return replace(self, weight=factor * self.weight, square=factor * self.square)

    @property
    def unit(self) -> FloatArray:
        """Unit of mean and deviation in the user's units: `scale`, and 1 where all values are 0."""
        return np.where(self.scale > 0.0, self.scale, 1.0)

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of each feature, divided by `unit`."""
        return np.sqrt(self.square / self.weight)

    def _scaled(self, scale: FloatArray) -> "Moments":
        if np.array_equal(scale, self.scale):
            return self
        ratio = np.divide(self.scale, scale, out=np.zeros_like(scale), where=scale > 0.0)
        return replace(self, scale=scale, mean=self.mean * ratio, square=self.square * ratio**2)


def divide_columns(rows: Design, scale: FloatArray) -> Design:
    """Return rows with each column divided by its scale; the same object if all scales are 1."""
    if (scale == 1.0).all():
        return rows
    if isinstance(rows, sparse.csr_array):
        divided = rows.copy()
        divided.data /= scale[divided.indices]
        return divided
    return rows / scale


@dataclass(frozen=True, slots=True)
class FeatureSummary:
    """Total weight of the rows, and mean, standard deviation and range of each feature in the user's units.

    Deviations are never squared, because the squares of columns of size 1e200 overflow.
    """

    weight: float
    mean: FloatArray  # (features,)
    deviation: FloatArray  # (features,)
    lower: FloatArray  # (features,)
    upper: FloatArray  # (features,)
    is_integer: BoolArray  # (features,), whether all values are integers; False in files that do not say

    @classmethod
    def from_rows(cls, data: "InMemoryDataset") -> "FeatureSummary":
        """Return the summary of rows that are not standardized."""
        weight = float(data.row_weights.sum())
        mean, variance = mean_and_variance(data.design, data.row_weights / weight)
        parts = (mean, np.sqrt(variance), *ranges(data.design))
        # Scales are powers of two, so the products are exact.
        mean, deviation, lower, upper = ((part * data.column_scale)[1:] for part in parts)
        is_integer = integer_columns(data.design, data.column_scale)[1:]
        return cls(weight, mean, deviation, lower, upper, is_integer)

    @classmethod
    def from_moments(cls, moments: Moments) -> "FeatureSummary":
        """Return the summary of rows in partitions, from the sum of their moments."""
        mean, deviation = moments.mean * moments.unit, moments.deviation * moments.unit
        return cls(moments.weight, mean, deviation, moments.lower, moments.upper, moments.is_integer)

    def merged(self, other: "FeatureSummary") -> "FeatureSummary":
        """Return the summary of the rows of both."""
        weight = self.weight + other.weight
        share = other.weight / weight
        gap = other.mean - self.mean
        within = np.hypot(np.sqrt(1.0 - share) * self.deviation, np.sqrt(share) * other.deviation)
        return FeatureSummary(
            weight,
            self.mean + share * gap,
            np.hypot(within, np.sqrt(share * (1.0 - share)) * gap),
            np.minimum(self.lower, other.lower),
            np.maximum(self.upper, other.upper),
            self.is_integer & other.is_integer,
        )

    def named(self, names: Iterable[object] | None = None) -> Features:
        """Return the features with names, by default x0, x1, ...; the unit of a constant feature is 1."""
        scale = self.deviation
        has_spread = scale > MIN_SPREAD * np.maximum(np.abs(self.lower), np.abs(self.upper))
        known = [f"x{number}" for number in range(len(scale))] if names is None else [str(name) for name in names]
        return Features(tuple(known), np.where(has_spread, scale, 1.0), self.lower, self.upper, self.is_integer)
