"""Training data as inference wants them: distinct rows in a canonical order, cut into fixed blocks."""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.model import Design

# Rows of a block: enough that a call's overhead vanishes, few enough that its arrays stay in the cache.
BLOCK_ROWS = 1024
# Counts of rows stop at 1e100.
MAX_WEIGHT = 1e90
# Rows that the paper's scan may have when positive rows are repeated.
MAX_COPIES = 10**9


@dataclass(frozen=True, slots=True)
class InMemoryDataset:
    """Distinct rows (design, label) with the weights of their copies; use `from_arrays`."""

    design: Design  # (rows, columns), dense or CSR; the intercept is column 0
    column_scale: FloatArray  # (columns,), powers of two by which the design was divided; 1 but for extreme columns
    labels: BoolArray  # (rows,)
    row_weights: FloatArray  # (rows,), powers of the likelihood
    block_rows: int = BLOCK_ROWS

    @classmethod
    def from_arrays(
        cls,
        design: Design,
        labels: BoolArray,
        row_weights: FloatArray | None = None,
        block_rows: int = BLOCK_ROWS,
    ) -> "InMemoryDataset":
        """Check the arrays, merge equal rows, and put the distinct ones in an order of their own.

        The order follows from the rows' contents alone, so that neither the order nor the repetition of the rows
        given, nor their being dense or sparse, changes a draw.

        Examples
        --------
        >>> import numpy as np
        >>> from softpolytope.data import InMemoryDataset
        >>> rows = np.array([[1.0, 0.5], [1.0, 2.0], [1.0, 0.5]])
        >>> InMemoryDataset.from_arrays(rows, np.array([True, False, True])).row_weights.tolist()
        [1.0, 2.0]
        """
        design = checked_design(design)
        n_rows = design.shape[0]
        labels = np.asarray(labels, dtype=bool)
        weights = np.ones(n_rows) if row_weights is None else np.asarray(row_weights, dtype=np.float64)
        _check_rows(n_rows, labels, weights)
        design, labels, weights = _merged(design, labels, weights)
        return cls(*_scaled(design), labels, weights, block_rows)

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return len(self.labels)

    @property
    def n_columns(self) -> int:
        """Number of columns of the design."""
        return int(self.design.shape[1])

    @property
    def fingerprint(self) -> str:
        """A hash of the rows and of how they are cut."""
        digest = hashlib.sha256(repr(self.block_rows).encode())
        design: Any = self.design
        parts = (design.data, design.indices, design.indptr) if sparse.issparse(self.design) else (design,)
        for part in (*parts, self.column_scale, self.labels, self.row_weights):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def column_size(self) -> FloatArray:
        """Largest absolute value of each column."""
        return _largest(self.design) * self.column_scale

    def flipped(self) -> "InMemoryDataset":
        """The same rows under the other labeling."""
        return replace(self, labels=~self.labels)

    def weighted(self, row_weights: FloatArray) -> "InMemoryDataset":
        """The rows of positive weight, under other weights."""
        kept = np.flatnonzero(row_weights > 0.0)
        if len(kept) == self.n_rows:
            return replace(self, row_weights=row_weights)
        return replace(self, design=self.design[kept], labels=self.labels[kept], row_weights=row_weights[kept])

    def groups(self) -> NDArray[np.intp]:
        """A number for every row, the same for rows that differ in their label only; such rows are neighbors."""
        first, second = _fingerprints(self.design)
        is_new = np.ones(self.n_rows, dtype=np.intp)
        is_new[:1] = 0
        is_new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        return np.cumsum(is_new)

    def with_single_positives(self) -> "InMemoryDataset":
        """Positive rows one by one, as the paper's scan needs them: it keeps a latent rate of every copy."""
        if (self.row_weights[self.labels] % 1.0 != 0.0).any():
            raise ValueError('the paper\'s scan takes positive rows of whole weights only; use scan="collapsed".')
        n_copies = self.row_weights[self.labels].sum()
        if n_copies > MAX_COPIES:
            raise ValueError(
                f"the paper's scan keeps every copy of a positive row, and the weights make {n_copies:g} of them; use "
                'scan="collapsed".'
            )
        copies = np.where(self.labels, self.row_weights, 1.0).astype(np.int64)
        if (copies == 1).all():
            return self
        rows = np.repeat(np.arange(self.n_rows), copies)
        weights = np.where(self.labels, 1.0, self.row_weights)[rows]
        return replace(self, design=self.design[rows], labels=self.labels[rows], row_weights=weights)

    def split(self) -> Iterator["InMemoryDataset"]:
        """Cut the rows into blocks; no rows make one block."""
        for start in range(0, max(self.n_rows, 1), self.block_rows):
            rows = slice(start, start + self.block_rows)
            yield InMemoryDataset(
                self.design[rows], self.column_scale, self.labels[rows], self.row_weights[rows], self.block_rows
            )


def checked_design(design: Any) -> Design:
    """Finite doubles, dense in C order or CSR with 32-bit indices."""
    # scipy-stubs narrows what issparse has seen to a class without methods, hence the names without types.
    rows: Any = design
    values: Any
    if sparse.issparse(design):
        rows = sparse.csr_array(rows.astype(np.float64))  # always a copy
        rows.sum_duplicates()
        rows.eliminate_zeros()
        # The kernels take 32-bit indices.
        if rows.nnz >= 2**31:
            raise ValueError(f"a sparse design may have up to 2**31 - 1 entries; got {rows.nnz}.")
        rows.indices, rows.indptr = rows.indices.astype(np.intc), rows.indptr.astype(np.intc)
        values = rows.data
    else:
        rows = values = np.ascontiguousarray(design, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(f"design must be (rows, columns) with at least one column; got shape {rows.shape}.")
    if not np.isfinite(values).all():
        raise ValueError("design holds NaN or infinite values; impute or drop such rows first.")
    checked: Design = rows
    return checked


def _check_rows(n_rows: int, labels: BoolArray, weights: FloatArray) -> None:
    if labels.shape != (n_rows,) or weights.shape != (n_rows,):
        raise ValueError(
            f"labels and row_weights must have one entry for each of the {n_rows} rows; "
            f"got shapes {labels.shape} and {weights.shape}."
        )
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        bad = weights[~(np.isfinite(weights) & (weights >= 0.0))][0]
        raise ValueError(f"row_weights must be finite and >= 0; got {bad}.")
    if (weights > MAX_WEIGHT).any():
        raise ValueError(
            f"row_weights must be at most {MAX_WEIGHT:g}; got {weights.max():g}. Divide them all by one number."
        )


def _merged(design: Design, labels: BoolArray, weights: FloatArray) -> tuple[Design, BoolArray, FloatArray]:
    """Merge rows of equal content, in the order of their fingerprints."""
    first, second = _fingerprints(design)
    order = np.lexsort((labels, second, first))
    order = order[weights[order] > 0.0]
    keys = np.stack([first[order], second[order], labels[order].astype(np.uint64)])
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    starts = np.flatnonzero(is_new)
    kept = order[starts]
    return design[kept], labels[kept], _group_sums(weights[order], starts)


def _group_sums(weights: FloatArray, starts: NDArray[np.intp]) -> FloatArray:
    """Sums over runs of weights, rounded once: their order, and n copies of f or one of n f, give the same double."""
    sums = weights[starts]
    ends = np.append(starts[1:], len(weights))
    for group in np.flatnonzero(ends - starts > 1):
        sums[group] = math.fsum(weights[starts[group] : ends[group]])
    return sums


def _largest(design: Any) -> FloatArray:
    """Largest absolute value of each column."""
    if design.shape[0] == 0:
        return np.zeros(design.shape[1])
    largest: Any = abs(design).max(axis=0)
    dense = largest.toarray() if sparse.issparse(design) else largest
    return np.asarray(dense, dtype=np.float64).reshape(-1)


def _scaled(design: Design) -> tuple[Design, FloatArray]:
    """Divide columns whose squares could overflow or underflow by a power of two, which costs no digit."""
    largest = _largest(design)
    _, exponent = np.frexp(largest)
    scale = np.where((abs(exponent) > 100) & (largest > 0.0), np.ldexp(1.0, exponent - 1), 1.0)
    if (scale == 1.0).all():
        return design, scale
    if sparse.issparse(design):
        thin: Any = design.copy()
        thin.data /= scale[thin.indices]
        return thin, scale
    return design / scale, scale


def _fingerprints(design: Design) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Two 64-bit sums over a row's non-zero entries, mixed with their columns: equal rows have equal ones.

    Different rows share both with a chance of 2^-128 a pair.
    """
    if sparse.issparse(design):
        columns = design.indices.astype(np.uint64)
        values = design.data
    else:
        columns = np.broadcast_to(np.arange(design.shape[1], dtype=np.uint64), design.shape)
        values = design
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)  # -0.0 + 0.0 is +0.0, whose bits are 0
    sums = []
    for salt in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F):
        mixed = np.where(bits == 0, np.uint64(0), _mix(_mix(columns + np.uint64(salt)) ^ bits))
        if sparse.issparse(design):
            total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
            sums.append(total[design.indptr[1:]] - total[design.indptr[:-1]])
        else:
            sums.append(mixed.sum(axis=1, dtype=np.uint64))
    return sums[0], sums[1]


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter bits one to one (the finalizer of splitmix64); arithmetic is modulo 2^64."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))
