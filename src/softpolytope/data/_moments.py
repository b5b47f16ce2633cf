"""Means, variances, ranges and integrality of columns, of rows in memory and of sums over partitions."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data._checks import ranges
from softpolytope.model import Design

# A column of equal numbers has a standard deviation of rounding errors, below this share of its size.
MIN_SPREAD = 1e-13
# Doubles from here on have no fractional part.
MAX_INTEGER = 2.0**53
ROWS_AT_ONCE = 4096


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
        if isinstance(part, sparse.csr_array):
            values = part.data * factors[part.indices]
            is_integer[part.indices[~_is_integer(values)]] = False
        else:
            chosen = np.flatnonzero(is_integer)
            is_integer[chosen] = _is_integer(part[:, chosen] * factors[chosen]).all(axis=0)
    return is_integer


def _is_integer(values: FloatArray) -> BoolArray:
    return np.asarray((values == np.floor(values)) & (np.abs(values) < MAX_INTEGER))


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
    def variance(self) -> FloatArray:
        """Variance of each feature, divided by `unit` squared."""
        return self.square / self.weight

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of each feature, divided by `unit`."""
        return np.sqrt(self.variance)

    @property
    def largest(self) -> FloatArray:
        """Largest absolute value of each feature."""
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

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
