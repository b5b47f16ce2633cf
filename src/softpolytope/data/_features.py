"""Summaries of the features of training rows, which a fitted model keeps."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data._dataset import InMemoryDataset
from softpolytope.model import Features

# A column of equal numbers has a spread of rounding errors, below this share of its size.
MIN_SPREAD = 1e-13
ROWS_AT_ONCE = 4096


# Beyond this, doubles have no room for a fraction, and all of them are whole.
MAX_INTEGER = 2.0**53


def integer_columns(rows: Any, scale: FloatArray | None = None) -> BoolArray:
    """Return whether all values of each column of dense or CSR rows, times its scale, are whole numbers."""
    n_columns = rows.shape[1]
    factors = np.ones(n_columns) if scale is None else scale
    is_integer = np.ones(n_columns, dtype=bool)
    is_sparse = sparse.issparse(rows)
    # In blocks, so that what is held beside the rows stays small.
    for start in range(0, rows.shape[0], ROWS_AT_ONCE):
        block: Any = rows[start : start + ROWS_AT_ONCE]
        if is_sparse:
            values = block.data * factors[block.indices]
            is_integer[block.indices[~_is_whole(values)]] = False
        else:
            chosen = np.flatnonzero(is_integer)
            is_integer[chosen] = _is_whole(block[:, chosen] * factors[chosen]).all(axis=0)
    return is_integer


def _is_whole(values: FloatArray) -> BoolArray:
    return np.asarray((values == np.floor(values)) & (np.abs(values) < MAX_INTEGER))


@dataclass(frozen=True, slots=True)
class FeatureSummary:
    """Weight of the rows, and mean, standard deviation and range of each feature, and whether it was an integer.

    Of columns as large as 1e200 the square is no number, so deviations are kept, and never squared.
    """

    weight: float
    mean: FloatArray  # (features,)
    deviation: FloatArray  # (features,)
    lower: FloatArray  # (features,)
    upper: FloatArray  # (features,)
    is_integer: BoolArray  # (features,), whether all rows had whole numbers; False in files that do not say

    @classmethod
    def of(cls, data: InMemoryDataset) -> "FeatureSummary":
        """Of rows as the user gave them."""
        design: Any = data.design
        weight = float(data.row_weights.sum())
        shares = data.row_weights / weight
        mean = np.asarray(shares @ design)
        if sparse.issparse(data.design):
            variance = np.maximum(shares @ design.multiply(design) - mean**2, 0.0)
            lower, upper = (np.asarray(end(axis=0).todense()).ravel() for end in (design.min, design.max))
        else:
            variance = shares @ (design - mean) ** 2
            lower, upper = design.min(axis=0), design.max(axis=0)
        scale = data.column_scale
        parts = (mean * scale, np.sqrt(variance) * scale, lower * scale, upper * scale)
        mean, deviation, lower, upper = (np.asarray(part[1:]) for part in parts)
        # Scales are powers of two, so that the numbers are the user's again.
        return cls(weight, mean, deviation, lower, upper, integer_columns(design, scale)[1:])

    def merged(self, other: "FeatureSummary") -> "FeatureSummary":
        """Of both lots of rows."""
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

    def named(self, names: Any = None) -> Features:
        """With names, by default x0, x1, ...; a feature without spread is measured in its own unit."""
        scale = self.deviation
        has_spread = scale > MIN_SPREAD * np.maximum(np.abs(self.lower), np.abs(self.upper))
        known = [f"x{number}" for number in range(len(scale))] if names is None else [str(name) for name in names]
        return Features(tuple(known), np.where(has_spread, scale, 1.0), self.lower, self.upper, self.is_integer)
