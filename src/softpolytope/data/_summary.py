"""What a fit must know of rows that live elsewhere: one pass over the partitions, small sums."""

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data._checks import check_finite, check_labels_agree, ranges
from softpolytope.data._features import integer_columns
from softpolytope.parallel import Raw, StatelessBlockFactory, read_only

# Rows at which diagnostics compare the chains' probabilities.
N_PROBES = 10
MAX_LABELS = 10_000


@dataclass(frozen=True)
class Moments:
    """Rows of one label: their number and weight, and of each feature what a sum can tell.

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
    is_integer: BoolArray  # (features,), whether all values are whole numbers

    def __add__(self, other: "Moments") -> "Moments":
        """Of both lots of rows."""
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
        """With every weight multiplied."""
        if factor == 0.0:
            return replace(self, n_rows=0, weight=0.0, square=np.zeros_like(self.square))
        return replace(self, weight=factor * self.weight, square=factor * self.square)

    def _scaled(self, scale: FloatArray) -> "Moments":
        if np.array_equal(scale, self.scale):
            return self
        ratio = np.divide(self.scale, scale, out=np.zeros_like(scale), where=scale > 0.0)
        return replace(self, scale=scale, mean=self.mean * ratio, square=self.square * ratio**2)


@dataclass(frozen=True)
class DataSummary:
    """What is known of all rows."""

    by_label: dict[Any, Moments]
    is_sparse: bool
    probes: FloatArray  # (a few rows, features)
    digests: bytes  # of the partitions

    def __add__(self, other: "DataSummary") -> "DataSummary":
        """Of both lots of partitions."""
        if self.is_sparse != other.is_sparse:
            raise ValueError("some partitions of X are sparse and others dense; make them all the same.")
        labels = dict(self.by_label)
        for label, moments in other.by_label.items():
            labels[label] = labels[label] + moments if label in labels else moments
        if len(labels) > MAX_LABELS:
            raise ValueError(f"y has more than {MAX_LABELS} different labels; a classifier needs classes.")
        probes = np.ascontiguousarray(np.concatenate([self.probes, other.probes])[:N_PROBES])
        return DataSummary(labels, self.is_sparse, probes, self.digests + other.digests)

    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest number of each column, in rows of positive weight."""
        found = list(self.by_label.values())
        lower = np.min([moments.lower for moments in found], axis=0)
        return lower, np.max([moments.upper for moments in found], axis=0)


class SummaryBlock:
    """The rows of a partition as they come."""

    def __init__(self, raw: Raw, partition: int, names: list[str] | None) -> None:
        self._raw, self._partition, self._names = raw, partition, names

    @read_only
    def survey(self) -> DataSummary:
        """Check the rows, and take their moments, label by label."""
        X, y, weights = self._checked()
        values, codes = np.unique(y, return_inverse=True)
        by_label = {
            value: _moments(X[codes == code], weights[codes == code]) for code, value in enumerate(values.tolist())
        }
        is_sparse = bool(sparse.issparse(X))
        rows: Any = X[:N_PROBES]
        probes = rows.toarray() if is_sparse else rows
        return DataSummary(by_label, is_sparse, np.array(probes, order="C"), self._digest(X, y, weights))

    def _checked(self) -> tuple[Any, NDArray[Any], FloatArray]:
        given, y, weights = self._raw
        where = f"partition {self._partition}"
        n_rows = given.shape[0]
        if len(y) != n_rows or (weights is not None and len(weights) != n_rows):
            n_weights = "" if weights is None else f" and {len(weights)} weights"
            raise ValueError(f"{where} has {n_rows} rows of X, but {len(y)} labels{n_weights}.")
        X: Any = _numbers(given)
        try:
            check_finite(X, self._names)
        except ValueError as error:
            raise ValueError(f"in {where}: {error}") from None
        is_missing = np.array([value is None or value != value for value in y.tolist()], dtype=bool)  # noqa: PLR0124
        if is_missing.any():
            raise ValueError(f"y has no label at row {int(np.argmax(is_missing))} of {where}; drop such rows first.")
        if y.dtype.kind == "O":
            check_labels_agree(y.tolist(), f"y of {where}")
        if weights is None:
            return X, y, np.ones(n_rows)
        checked = np.asarray(weights, dtype=np.float64)
        is_bad = ~np.isfinite(checked) | (checked < 0.0)
        if is_bad.any():
            row = int(np.argmax(is_bad))
            raise ValueError(f"sample_weight must be finite and >= 0; got {checked[row]} at row {row} of {where}.")
        return X, y, checked

    def _digest(self, X: Any, y: NDArray[Any], weights: FloatArray) -> bytes:
        digest = hashlib.sha256(repr((X.shape, y.tolist() if y.dtype.kind in "OTU" else None)).encode())
        is_sparse = bool(sparse.issparse(X))
        parts = (X.data, X.indices, X.indptr) if is_sparse else (X,)
        for part in (*parts, weights, *(() if y.dtype.kind in "OTU" else (y,))):
            digest.update(np.ascontiguousarray(part).data)
        return digest.digest()


def _numbers(given: Any) -> Any:
    """Rows as doubles, dense or CSR."""
    rows: Any = given.tocsr() if hasattr(given, "tocsr") else given
    is_sparse = bool(sparse.issparse(rows))
    if is_sparse:
        return sparse.csr_array(rows).astype(np.float64)
    return np.asarray(rows.to_numpy() if hasattr(rows, "to_numpy") else rows, dtype=np.float64)


def _moments(X: Any, weights: FloatArray) -> Moments:
    """Of the rows of a label."""
    n_given = X.shape[0]
    if not weights.all():
        kept = np.flatnonzero(weights)
        X, weights = X[kept], weights[kept]
    n_rows, n_features = X.shape
    if n_rows == 0:
        nothing = np.zeros(n_features)
        none = (nothing + np.inf, nothing - np.inf, np.ones(n_features, dtype=bool))
        return Moments(n_given, 0, 0.0, nothing, nothing, nothing, *none)
    is_sparse = bool(sparse.issparse(X))
    lower, upper = ranges(X)
    scale = power_of_two(np.maximum(np.abs(lower), np.abs(upper)))
    weight = float(weights.sum())
    shares = weights / weight
    divisor = np.where(scale > 0.0, scale, 1.0)
    if is_sparse:
        scaled = X.copy()
        scaled.data /= divisor[scaled.indices]
        mean = np.asarray(shares @ scaled)
        square = weight * np.maximum(shares @ scaled.multiply(scaled).tocsr() - mean**2, 0.0)
    else:
        scaled = X / divisor if (divisor != 1.0).any() else X
        mean = shares @ scaled
        square = weight * (shares @ (scaled - mean) ** 2)
    return Moments(n_given, n_rows, weight, scale, mean, np.asarray(square), lower, upper, integer_columns(X))


def power_of_two(largest: FloatArray) -> FloatArray:
    """One, but for columns whose squares could overflow or underflow about their size; 0 of 0."""
    _, exponent = np.frexp(largest)
    return np.where(largest == 0.0, 0.0, np.where(np.abs(exponent) > 100, np.ldexp(1.0, exponent - 1), 1.0))


@dataclass(frozen=True)
class SummaryBlockFactory(StatelessBlockFactory[Raw, SummaryBlock]):
    """One block for every partition."""

    names: list[str] | None

    @property
    def rows_key(self) -> Hashable:
        """Rows as they come."""
        return None

    def rows(self, raw: Raw, partition: int) -> Raw:  # noqa: ARG002  # a partition is as good as another
        """Rows as they come."""
        return raw

    def blocks(self, rows: Raw, partition: int) -> list[SummaryBlock]:
        """The rows of a partition."""
        return [SummaryBlock(rows, partition, self.names)]

    def state_bytes(self, rows: Raw) -> int:  # noqa: ARG002  # no state, whatever the rows
        """A survey has no state."""
        return 0
