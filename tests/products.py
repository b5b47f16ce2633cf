"""Products of rows with coefficients, one addition after the other, for tests of the kernels."""

import numpy as np
from scipy import sparse

# Rows, columns and experts around the four rows and four experts that the kernels take together.
SHAPES = [(1, 1, 1), (3, 2, 5), (4, 3, 4), (7, 5, 3), (65, 6, 8), (130, 23, 20), (64, 4, 1), (9, 60, 13)]


def one_by_one(entries, factors, n_experts):
    """sum_e x_e w_e, one addition after the other."""
    total = np.zeros(n_experts)
    for x, factor in zip(entries, factors, strict=True):
        total = total + x * factor
    return total


def thin(design):
    """The same rows in CSR form."""
    rows = sparse.csr_array(design)
    return rows.data, rows.indices.astype(np.intc), rows.indptr.astype(np.intc)
