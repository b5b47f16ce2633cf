"""Labeled rows in memory, distinct and in a canonical order, which hashes of their contents give."""

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray, IndexArray
from softpolytope.data._moments import divide_columns, mean_square, power_of_two, ranges
from softpolytope.data._row_block import InMemorySampler, RowSampler
from softpolytope.model import Design, mix_bits
from softpolytope.parallel import Blocks, BlockThreads, blocks_in_memory

if TYPE_CHECKING:
    from softpolytope.data._block_factory import DatasetBlockFactory

Block = TypeVar("Block")

# Rows of a block: enough that a call's overhead vanishes, few enough that its arrays stay in the cache.
BLOCK_ROWS = 1024
# Sums of row weights must not overflow.
MAX_WEIGHT = 1e90
# Rows that the paper's scan may have when positive rows are repeated.
MAX_COPIES = 10**9


@dataclass(frozen=True, slots=True)
class InMemoryDataset:
    """Distinct rows (design, label) with the weights of their copies; use `from_arrays`."""

    design: Design  # (rows, columns), dense or CSR; the intercept is column 0
    column_scale: FloatArray  # (columns,), powers of two by which extreme columns were divided; 1 for all others
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
        """Check the arrays, merge equal rows, and put the distinct ones in a canonical order.

        The order depends only on the contents of the rows. Permuted rows, repeats instead of weights, and sparse
        instead of dense rows therefore give the same draws.

        Examples
        --------
        >>> import numpy as np
        >>> from softpolytope.data import InMemoryDataset
        >>> rows = np.array([[1.0, 0.5], [1.0, 2.0], [1.0, 0.5]])
        >>> InMemoryDataset.from_arrays(rows, np.array([True, False, True])).row_weights.tolist()
        [1.0, 2.0]
        """
        design = to_csr(design) if sparse.issparse(design) else np.ascontiguousarray(design, dtype=np.float64)
        labels = np.asarray(labels, dtype=bool)
        weights = np.ones(design.shape[0]) if row_weights is None else np.asarray(row_weights, dtype=np.float64)
        _check_rows(design, labels, weights)
        design, labels, weights = merge_equal_rows(design, labels, weights)
        scale = power_of_two(_largest(design))
        scale = np.where(scale > 0.0, scale, 1.0)
        return cls(divide_columns(design, scale), scale, labels, weights, block_rows)

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return len(self.labels)

    @property
    def n_columns(self) -> int:
        """Number of columns of the design."""
        return int(self.design.shape[1])

    @property
    def total_weight(self) -> float:
        """Sum of the row weights."""
        return float(self.row_weights.sum())

    @property
    def n_copies(self) -> float:
        """Number of rows when a row of weight w > 1 is w rows."""
        return float(np.maximum(self.row_weights, 1.0).sum())

    @property
    def fingerprint(self) -> str:
        """Hash of the rows, their labels and the way they are cut into blocks."""
        digest = hashlib.sha256(repr(self.block_rows).encode())
        for part in (*design_arrays(self.design), self.column_scale, self.labels, self.row_weights):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def column_size(self) -> FloatArray:
        """Return the largest absolute value of each column."""
        return _largest(self.design) * self.column_scale

    def root_mean_square(self) -> FloatArray:
        """Return the root mean square of each column."""
        # Weights are summed before the division, not turned into shares: steps of an optimization depend on the bits.
        size: FloatArray = np.sqrt(mean_square(self.design, self.row_weights) / self.total_weight) * self.column_scale
        return size

    def check_labels(self) -> None:
        """Raise ValueError unless there are rows of both labels."""
        if self.n_rows == 0:
            raise ValueError("There are no rows of positive weight to learn from.")
        for label in (True, False):
            if not (self.labels == label).any():
                kind = "positive" if label else "negative"
                raise ValueError(f"There is no {kind} row of positive weight. Both labels are needed.")

    def flipped(self) -> "InMemoryDataset":
        """Return the same rows under the opposite labeling."""
        return replace(self, labels=~self.labels)

    def n_parallel(self, n_jobs: int, n_threads: int) -> int:
        """Return how many of several jobs to run at once: one on each thread, unless there are more threads."""
        return n_threads if n_jobs >= n_threads else 1

    def blocks(self, factory: "DatasetBlockFactory[Block]", threads: BlockThreads | None = None) -> Blocks[Block]:
        """Return the blocks of a factory, evaluated on the given threads or in a loop."""
        return blocks_in_memory(factory.build(self, 0), threads)

    def sampler(self, make_rng: Callable[..., Generator]) -> RowSampler:
        """Return a sampler that takes rows in a random order."""
        return InMemorySampler(self, make_rng(block=0).permutation(self.n_rows))

    def weighted(self, row_weights: FloatArray) -> "InMemoryDataset":
        """Return the rows of positive weight, with other weights."""
        kept = np.flatnonzero(row_weights > 0.0)
        if len(kept) == self.n_rows:
            return replace(self, row_weights=row_weights)
        return replace(self, design=self.design[kept], labels=self.labels[kept], row_weights=row_weights[kept])

    def groups(self) -> IndexArray:
        """Return a number for every row, shared by rows that differ only in their label; such rows are neighbors."""
        first, second = hash_rows(self.design)
        is_new = np.ones(self.n_rows, dtype=np.intp)
        is_new[:1] = 0
        is_new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        return np.cumsum(is_new)

    def with_single_positives(self) -> "InMemoryDataset":
        """Return the rows with every copy of a positive row as a row of its own, as the paper's scan needs them."""
        if (self.row_weights[self.labels] % 1.0 != 0.0).any():
            raise ValueError(
                'scan="paper" requires integer weights of positive rows, but some are fractional. Use scan="collapsed".'
            )
        n_copies = self.row_weights[self.labels].sum()
        if n_copies > MAX_COPIES:
            raise ValueError(
                f'scan="paper" keeps every copy of a positive row, and the weights stand for {n_copies:g} copies. '
                'Use scan="collapsed".'
            )
        copies = np.where(self.labels, self.row_weights, 1.0).astype(np.int64)
        if (copies == 1).all():
            return self
        rows = np.repeat(np.arange(self.n_rows), copies)
        weights = np.where(self.labels, 1.0, self.row_weights)[rows]
        return replace(self, design=self.design[rows], labels=self.labels[rows], row_weights=weights)

    def split(self) -> Iterator["InMemoryDataset"]:
        """Yield the rows in blocks; no rows make one empty block."""
        for start in range(0, max(self.n_rows, 1), self.block_rows):
            rows = slice(start, start + self.block_rows)
            yield InMemoryDataset(
                self.design[rows], self.column_scale, self.labels[rows], self.row_weights[rows], self.block_rows
            )


def to_csr(design: sparse.csr_array) -> sparse.csr_array:
    """Return a sparse design of any format as finite doubles in canonical CSR form with 32-bit indices."""
    thin = sparse.csr_array(design.astype(np.float64))  # always a copy
    thin.sum_duplicates()
    if not np.isfinite(thin.data).all():
        raise ValueError("design holds NaN or infinite values, or entries of one place whose sum is. Drop such rows.")
    thin.eliminate_zeros()
    # The kernels take 32-bit indices.
    if thin.nnz >= 2**31:
        raise ValueError(f"A sparse design may have up to 2**31 - 1 entries, but this one has {thin.nnz}.")
    thin.indices, thin.indptr = thin.indices.astype(np.intc), thin.indptr.astype(np.intc)
    return thin


def design_arrays(design: Design) -> tuple[NDArray[Any], ...]:
    """Return the arrays that a design consists of."""
    return (design.data, design.indices, design.indptr) if isinstance(design, sparse.csr_array) else (design,)


def _check_rows(design: Design, labels: BoolArray, weights: FloatArray) -> None:
    """Raise ValueError unless rows have columns and are finite, with one label and one weight each."""
    n_rows = design.shape[0]
    if len(design.shape) != 2 or design.shape[1] == 0:
        raise ValueError(f"design must be (rows, columns) with at least one column; got shape {design.shape}.")
    if isinstance(design, np.ndarray) and not np.isfinite(design).all():
        raise ValueError("design holds NaN or infinite values. Impute or drop such rows first.")
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


def _largest(design: Design) -> FloatArray:
    """Return the largest absolute value of each column."""
    if design.shape[0] == 0:
        return np.zeros(int(design.shape[1]))
    lower, upper = ranges(design)
    return np.maximum(np.abs(lower), np.abs(upper))


def merge_equal_rows(design: Design, labels: BoolArray, weights: FloatArray) -> tuple[Design, BoolArray, FloatArray]:
    """Return the distinct rows of positive weight in the order of their hashes, with the weights of copies added."""
    first, second = hash_rows(design)
    order = np.lexsort((labels, second, first))
    order = order[weights[order] > 0.0]
    keys = np.stack([first[order], second[order], labels[order].astype(np.uint64)])
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    starts = np.flatnonzero(is_new)
    kept, ordered, ends = order[starts], weights[order], np.append(starts[1:], len(order))
    sums = ordered[starts]
    # Each sum is rounded once. It therefore does not depend on the order of the copies, and n copies of weight f give
    # the same double as one of weight n f.
    for group in np.flatnonzero(ends - starts > 1):
        sums[group] = math.fsum(ordered[starts[group] : ends[group]])
    return design[kept], labels[kept], sums


def hash_rows(design: Design) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return two 64-bit hashes of every row, sums over its non-zero entries mixed with their columns.

    Equal rows have equal hashes. Two different rows share both with a probability of 2^-128.
    """
    if isinstance(design, sparse.csr_array):
        columns = design.indices.astype(np.uint64)
        values = design.data
    else:
        columns = np.broadcast_to(np.arange(design.shape[1], dtype=np.uint64), design.shape)
        values = design
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)  # -0.0 + 0.0 is +0.0, whose bits are 0
    sums = []
    for salt in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F):
        mixed = np.where(bits == 0, np.uint64(0), mix_bits(mix_bits(columns + np.uint64(salt)) ^ bits))
        if isinstance(design, sparse.csr_array):
            total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
            sums.append(total[design.indptr[1:]] - total[design.indptr[:-1]])
        else:
            sums.append(mixed.sum(axis=1, dtype=np.uint64))
    return sums[0], sums[1]
