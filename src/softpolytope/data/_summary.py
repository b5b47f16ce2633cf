"""Summaries of rows in partitions: checks, moments by label, a few rows and hashes, in one pass over the data."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.data._checks import check_classes, check_finite, check_labels_agree
from softpolytope.data._dataset import design_arrays
from softpolytope.data._moments import Moments
from softpolytope.model import Design
from softpolytope.parallel import PartitionStore, Raw, StatelessBlockFactory, one_blas_thread, read_only

# Rows at which diagnostics compare the chains' probabilities.
N_PROBES = 10
MAX_LABELS = 10_000


@dataclass(frozen=True)
class DataSummary:
    """Summary of partitions of rows, which can be added to that of other partitions."""

    by_label: dict[Any, Moments]
    is_sparse: bool
    probes: FloatArray  # (a few rows, features)
    digests: bytes  # of the partitions

    @classmethod
    def from_store(cls, store: PartitionStore, names: list[str] | None) -> "DataSummary":
        """Read all rows of a store once."""
        blocks = store.blocks(SummaryBlockFactory(names))
        # The units of columns decide every draw, and come from matrix products.
        with one_blas_thread():
            summary = blocks.sum(SummaryBlock.summarize)
        blocks.close()
        return summary

    def __add__(self, other: "DataSummary") -> "DataSummary":
        """Return the summary of the partitions of both."""
        if self.is_sparse != other.is_sparse:
            raise ValueError("Some partitions of X are sparse and others dense. Convert all of them to one kind.")
        labels = dict(self.by_label)
        for label, moments in other.by_label.items():
            labels[label] = labels[label] + moments if label in labels else moments
        if len(labels) > MAX_LABELS:
            raise ValueError(f"y has more than {MAX_LABELS} different labels; a classifier needs classes.")
        probes = np.ascontiguousarray(np.concatenate([self.probes, other.probes])[:N_PROBES])
        return DataSummary(labels, self.is_sparse, probes, self.digests + other.digests)

    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and largest value of each column, in rows of positive weight."""
        found = list(self.by_label.values())
        lower = np.min([moments.lower for moments in found], axis=0)
        return lower, np.max([moments.upper for moments in found], axis=0)

    def classes(self) -> tuple[NDArray[Any], FloatArray]:
        """Return the classes in their order and the weight of each; raise ValueError unless there are two or more."""
        values = list(self.by_label)
        check_labels_agree(values, "y")
        classes = np.unique(np.array(values, dtype=object if isinstance(values[0], str) else None))
        check_classes(classes, weights := np.array([self.by_label[value].weight for value in classes.tolist()]))
        return classes, weights


class SummaryBlock:
    """Rows of a partition as they come from their source."""

    def __init__(self, raw: Raw, partition: int, names: list[str] | None) -> None:
        self._raw, self._partition, self._names = raw, partition, names

    @read_only
    def summarize(self) -> DataSummary:
        """Check the rows, and return their summary."""
        X, y, weights = self._checked()
        values, codes = np.unique(y, return_inverse=True)
        by_label = {
            value: Moments.from_rows(X[codes == code], weights[codes == code])
            for code, value in enumerate(values.tolist())
        }
        rows = X[:N_PROBES]
        is_sparse = isinstance(rows, sparse.csr_array)
        probes = rows.toarray() if isinstance(rows, sparse.csr_array) else rows
        return DataSummary(by_label, is_sparse, np.array(probes, order="C"), _digest(X, y, weights))

    def _checked(self) -> tuple[Design, NDArray[Any], FloatArray]:
        given, y, weights = self._raw
        where = f"partition {self._partition}"
        n_rows = given.shape[0]
        if len(y) != n_rows or (weights is not None and len(weights) != n_rows):
            n_weights = "" if weights is None else f" and {len(weights)} weights"
            raise ValueError(f"{where} has {n_rows} rows of X, but {len(y)} labels{n_weights}.")
        X = _to_numbers(given)
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


def _digest(X: Design, y: NDArray[Any], weights: FloatArray) -> bytes:
    """Return a hash of the rows of a partition."""
    is_text = y.dtype.kind in "OTU"
    digest = hashlib.sha256(repr((X.shape, y.tolist() if is_text else None)).encode())
    for part in (*design_arrays(X), weights, *(() if is_text else (y,))):
        digest.update(np.ascontiguousarray(part).data)
    return digest.digest()


def _to_numbers(given: Any) -> Design:  # rows of a source: an array, a data frame or a sparse matrix
    """Return rows as doubles, dense or CSR."""
    if hasattr(given, "tocsr"):
        return sparse.csr_array(given.tocsr()).astype(np.float64)
    return np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given, dtype=np.float64)


@dataclass(frozen=True)
class SummaryBlockFactory(StatelessBlockFactory[Raw, SummaryBlock]):
    """Factory of one block for every partition."""

    names: list[str] | None

    rows_key = None  # rows are taken as they come

    def rows(self, raw: Raw, partition: int) -> Raw:  # noqa: ARG002  # all partitions are treated alike
        """Return rows as they come."""
        return raw

    def blocks(self, rows: Raw, partition: int) -> list[SummaryBlock]:
        """Return the rows of a partition as one block."""
        return [SummaryBlock(rows, partition, self.names)]

    def state_bytes(self, rows: Raw) -> int:  # noqa: ARG002  # no state, whatever the rows
        """Return zero: a summary has no state."""
        return 0
