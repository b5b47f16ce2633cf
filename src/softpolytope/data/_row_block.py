"""Blocks of rows with the collapsed likelihood of their labels, and random samples of the rows in such blocks."""

from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy import sparse

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.data._random_weights import RandomWeights
from softpolytope.model._kernels import collapsed as _collapsed
from softpolytope.model._kernels import predict as _predict
from softpolytope.parallel import Blocks, BlockThreads, blocks_in_memory, read_only

if TYPE_CHECKING:
    from softpolytope.data._dataset import InMemoryDataset

MIN_RATE = 1e-300
# Rows of the first sample of an optimization that starts on few rows and ends on all; it always fits into memory.
MAX_FIRST_ROWS = 20_000


class RowBlock:
    """Rows of a block, in the form that the compiled gradient takes."""

    def __init__(self, rows: "InMemoryDataset") -> None:
        self._rows = rows
        self._labels = rows.labels.astype(np.uint8)
        self._is_scaled = bool((rows.column_scale != 1.0).any())
        self._offset = np.zeros(rows.n_rows)  # part of the rate of each row that does not depend on the parameters

    @read_only
    def gradient(self, coefficients: FloatArray, log_weights: FloatArray) -> FloatArray:
        """Return the log likelihood and its gradient in one flat array, so that sums are one operation.

        The array is (value, derivatives by coefficients in their order, derivatives by log weights).
        """
        n_coefficients = coefficients.size
        result = np.zeros(1 + n_coefficients + len(log_weights))
        gradients = result[1 : 1 + n_coefficients].reshape(coefficients.shape)
        rows = (log_weights, self._labels, self._rows.row_weights, self._offset)
        if self._is_scaled:
            coefficients = coefficients * self._rows.column_scale
        design, weight_gradients = self._rows.design, result[1 + n_coefficients :]
        if not isinstance(design, sparse.csr_array):
            result[0] = _collapsed.add_likelihood_dense(design, coefficients, *rows, gradients, weight_gradients)
        else:
            n_columns = coefficients.shape[2]
            is_wide = _collapsed.is_wide(n_columns)
            given = np.ascontiguousarray(coefficients.transpose(2, 0, 1)) if is_wide else coefficients
            sums = np.zeros_like(given) if is_wide else gradients
            result[0] = _collapsed.add_likelihood_sparse(
                design.data, design.indices, design.indptr, given, *rows, sums, weight_gradients, n_columns
            )
            if is_wide:
                gradients[:] = sums.transpose(1, 2, 0)
        if self._is_scaled:
            gradients *= self._rows.column_scale
        return result

    @read_only
    def rates(self, coefficients: FloatArray, log_weights: FloatArray, starts: IndexArray | None = None) -> FloatArray:
        """Return lambda (sets, rows) of sets of experts; set s has the experts starts[s] to starts[s + 1].

        By default every expert is a set.
        """
        n_experts, n_layers, n_columns = coefficients.shape
        if starts is None:
            starts = np.arange(n_experts + 1, dtype=np.intp)
        out = np.empty((len(starts) - 1, self._rows.n_rows))
        given = np.ascontiguousarray(coefficients * self._rows.column_scale)
        # The intercept is a column of the design.
        experts = (np.zeros((n_experts, n_layers)), np.exp(log_weights), starts, out)
        design = self._rows.design
        if isinstance(design, sparse.csr_array) and _collapsed.is_wide(n_columns):
            turned = np.ascontiguousarray(given.reshape(n_experts * n_layers, n_columns).T)
            _predict.fill_rates_sparse(design.data, design.indices, design.indptr, turned, *experts)
        else:
            # Narrow rows give the bits of dense ones, as in the gradient.
            dense = design.toarray() if isinstance(design, sparse.csr_array) else design
            _predict.fill_rates_dense(dense, given, *experts)
        return out

    @read_only
    def expert_sums(self, coefficients: FloatArray, log_weights: FloatArray) -> FloatArray:
        """Return the sum over the rows of what each expert adds to lambda."""
        sums: FloatArray = self.rates(coefficients, log_weights) @ self._rows.row_weights
        return sums

    @read_only
    def nested_log_likelihoods(
        self, coefficients: FloatArray, log_weights: FloatArray, order: IndexArray
    ) -> FloatArray:
        """Return the log likelihood of the labels without the first 0, 1, ..., all experts of an order."""
        own = self.rates(coefficients, log_weights)[order]
        rates = np.zeros((len(own) + 1, self._rows.n_rows))
        rates[:-1] = np.cumsum(own[::-1], axis=0)[::-1]
        # The floor is for rates that have underflowed, far below any that matters here.
        logs = np.where(self._rows.labels, np.log(-np.expm1(-np.maximum(rates, MIN_RATE))), -rates)
        sums: FloatArray = logs @ self._rows.row_weights
        return sums


def row_blocks(rows: "InMemoryDataset", threads: BlockThreads | None = None) -> Blocks[RowBlock]:
    """Return the blocks of rows in memory, evaluated on the given threads or in a loop."""
    return blocks_in_memory([RowBlock(block) for block in rows.split()], threads)


def reweighted_rows(rows: "InMemoryDataset", weights: RandomWeights) -> "InMemoryDataset":
    """Return rows with random weights."""
    # Rows are in the order of their hashes, so their positions identify them whatever order they were given in.
    return rows.weighted(weights.draw(np.arange(rows.n_rows, dtype=np.uint64), rows.row_weights))


class RowSampler(Protocol):
    """Nested random samples of the rows of a dataset."""

    def sample(self, n_rows: int) -> "InMemoryDataset":
        """Return a random sample of at most `MAX_FIRST_ROWS` rows, in memory."""
        ...

    def unseen(self, n_rows: int) -> "InMemoryDataset":
        """Return some rows that are not in the sample of `n_rows` rows; none if it has all rows."""
        ...

    def blocks(self, n_rows: int, *, is_flipped: bool, threads: BlockThreads | None = None) -> Blocks[RowBlock]:
        """Return the blocks of a sample of any size."""
        ...

    def reweighted(self, weights: RandomWeights) -> "RowSampler":
        """Return a sampler of the same samples whose rows have random weights."""
        ...

    def close(self) -> None:
        """Release all blocks."""
        ...


class InMemorySampler:
    """Samples of rows in memory: the first rows of a random permutation."""

    def __init__(self, data: "InMemoryDataset", order: IndexArray) -> None:
        self._data, self._order = data, order
        self._last, self._n_last = data, len(data.labels)

    def sample(self, n_rows: int) -> "InMemoryDataset":
        """Return a random sample, in the canonical order of the rows."""
        if n_rows != self._n_last:
            self._last = self._data if n_rows == self._data.n_rows else self._select(self._order[:n_rows])
            self._n_last = n_rows
        return self._last

    def unseen(self, n_rows: int) -> "InMemoryDataset":
        """Return some rows that are not in the sample of `n_rows` rows; none if it has all rows."""
        return self._select(self._order[n_rows : n_rows + MAX_FIRST_ROWS])

    def blocks(self, n_rows: int, *, is_flipped: bool, threads: BlockThreads | None = None) -> Blocks[RowBlock]:
        """Return the blocks of a sample."""
        rows = self.sample(n_rows)
        return row_blocks(rows.flipped() if is_flipped else rows, threads)

    def reweighted(self, weights: RandomWeights) -> "InMemorySampler":
        """Return a sampler of the same samples whose rows have random weights."""
        return InMemorySampler(reweighted_rows(self._data, weights), self._order)

    def close(self) -> None:
        """Do nothing: blocks in memory are garbage-collected."""

    def _select(self, chosen: IndexArray) -> "InMemoryDataset":
        weights = np.zeros(self._data.n_rows)
        weights[chosen] = self._data.row_weights[chosen]
        return self._data.weighted(weights)
