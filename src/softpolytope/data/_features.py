"""Summaries of the features of training rows, which a fitted model keeps."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data._checks import ranges
from softpolytope.data._dataset import InMemoryDataset
from softpolytope.data._moments import MIN_SPREAD, Moments, integer_columns, mean_and_variance
from softpolytope.model import Features


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
    def from_rows(cls, data: InMemoryDataset) -> "FeatureSummary":
        """Return the summary of rows that are not standardized."""
        weight = data.total_weight
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
