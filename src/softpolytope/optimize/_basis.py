"""The basis in which minibatches are taken: columns of one size, and uncorrelated if there are few.

Adam scales every coordinate by itself, so it is slow where columns are correlated. Dense rows of few columns are
multiplied by the root of their inverse second moments, and the prior is evaluated for the coefficients of the original
columns. Sparse rows would lose their zeros; their columns are divided by powers of two only.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.data import InMemoryDataset
from softpolytope.model import Design
from softpolytope.optimize._mode import column_unit

FloatArray32 = NDArray[np.float32]

# With more columns, the products with the basis in every step would take longer than those with the rows of a batch.
MAX_ROTATED = 64
# Smallest second moment of a direction, relative to the mean one, that is scaled up to one.
MIN_MOMENT = 1e-2


@dataclass(frozen=True, slots=True)
class Basis:
    """Coefficients of the original columns are `matrix` (or `unit`) times those of the basis."""

    unit: FloatArray  # (columns,), powers of two
    matrix: FloatArray | None  # (columns, columns), symmetric, includes the unit

    @classmethod
    def from_dataset(cls, data: InMemoryDataset) -> "Basis":
        """Return the basis of the rows of a dataset."""
        unit = column_unit(data.root_mean_square())
        if isinstance(data.design, sparse.csr_array) or data.n_columns > MAX_ROTATED:
            return cls(unit, None)
        factor = data.column_scale * unit
        moments = np.zeros((data.n_columns, data.n_columns))
        for block in data.split():
            rows = np.asarray(block.design) * factor
            moments += (rows.T * (block.row_weights / data.total_weight)) @ rows
        return cls(unit, unit[:, None] * _inverse_root(moments))

    def transform(self, design: Design, column_scale: FloatArray) -> "FloatArray32 | sparse.csr_array":
        """Return a design in this basis, in single precision."""
        if isinstance(design, sparse.csr_array):
            values = (design.data * (column_scale * self.unit)[design.indices]).astype(np.float32)
            return sparse.csr_array((values, design.indices, design.indptr), shape=design.shape)
        if self.matrix is None:
            return np.ascontiguousarray(design * (column_scale * self.unit), dtype=np.float32)
        return np.ascontiguousarray(design @ (column_scale[:, None] * self.matrix), dtype=np.float32)

    def to_basis(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients (..., columns) of the original columns as those of the basis."""
        if self.matrix is None:
            return coefficients / self.unit
        flat = coefficients.reshape(-1, coefficients.shape[-1]).T
        solved = np.asarray(np.linalg.solve(self.matrix, flat), dtype=np.float64)
        return solved.T.reshape(coefficients.shape)

    def to_original(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients (..., columns) of the basis as those of the original columns."""
        if self.matrix is None:
            return coefficients * self.unit
        return coefficients @ self.matrix.T


def _inverse_root(moments: FloatArray) -> FloatArray:
    """Return the inverse root of a matrix of second moments, directions of small ones being scaled less."""
    values, vectors = np.linalg.eigh(moments)
    scale = np.asarray(np.sqrt(np.maximum(values, MIN_MOMENT * values.mean())))
    return np.asarray((vectors / scale) @ vectors.T)
