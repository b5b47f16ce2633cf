"""One block of rows, and the collapsed likelihood of its labels as a function of the parameters."""

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.model._kernels import collapsed as _collapsed
from softpolytope.model._kernels import predict as _predict
from softpolytope.parallel import read_only

if TYPE_CHECKING:
    from softpolytope.data._dataset import InMemoryDataset

MIN_RATE = 1e-300


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
        design = self._rows.design
        n_columns = self._rows.n_columns
        if not isinstance(design, sparse.csr_array):
            result[0] = _collapsed.add_likelihood_dense(
                design, coefficients, *rows, gradients, result[1 + n_coefficients :]
            )
        else:
            is_wide = _collapsed.is_wide(n_columns)
            given = np.ascontiguousarray(coefficients.transpose(2, 0, 1)) if is_wide else coefficients
            sums = np.zeros_like(given) if is_wide else gradients
            weight_gradients = result[1 + n_coefficients :]
            result[0] = _collapsed.add_likelihood_sparse(
                design.data, design.indices, design.indptr, given, *rows, sums, weight_gradients, n_columns
            )
            if is_wide:
                gradients[:] = sums.transpose(1, 2, 0)
        if self._is_scaled:
            gradients *= self._rows.column_scale
        return result

    @read_only
    def rates(self, coefficients: FloatArray, log_weights: FloatArray, starts: IndexArray) -> FloatArray:
        """Return lambda (sets, rows) of sets of experts; set s has the experts starts[s] to starts[s + 1]."""
        n_experts, n_layers, n_columns = coefficients.shape
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
        sums: FloatArray = self._expert_rates(coefficients, log_weights) @ self._rows.row_weights
        return sums

    @read_only
    def nested_log_likelihoods(
        self, coefficients: FloatArray, log_weights: FloatArray, order: IndexArray
    ) -> FloatArray:
        """Return the log likelihood of the labels without the first 0, 1, ..., all experts of an order."""
        own = self._expert_rates(coefficients, log_weights)[order]
        rates = np.zeros((len(own) + 1, self._rows.n_rows))
        rates[:-1] = np.cumsum(own[::-1], axis=0)[::-1]
        # The floor is for rates that have underflowed, far below any that matters here.
        logs = np.where(self._rows.labels, np.log(-np.expm1(-np.maximum(rates, MIN_RATE))), -rates)
        sums: FloatArray = logs @ self._rows.row_weights
        return sums

    def _expert_rates(self, coefficients: FloatArray, log_weights: FloatArray) -> FloatArray:
        return self.rates(coefficients, log_weights, np.arange(len(log_weights) + 1, dtype=np.intp))
