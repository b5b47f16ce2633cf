"""Sums over the rows of a block that the coefficients need: weighted Gram matrices, for all experts in one call.

Narrow designs, dense or sparse, multiply the experts' weights (experts x rows) by the rows' own products x_a x_b (rows x
pairs): one matrix product for all experts. Wide dense ones take one symmetric product per expert, wide sparse ones loop
over pairs of entries.
"""

from libc.math cimport sqrt
from libc.string cimport memset
from scipy.linalg.cython_blas cimport dgemm, dsyrk

cdef enum:
    CHUNK = 64
    WIDEST_PAIRED = 48


def scratch_size(int n_columns, int n_experts):
    """How many doubles `add_dense` needs."""
    cdef int n_pairs = n_columns * (n_columns + 1) // 2
    if n_columns <= WIDEST_PAIRED:
        return CHUNK * n_pairs + n_experts * n_pairs
    return CHUNK * n_columns


cdef void fill_pairs(
    const double* values, const int* indices, const int* indptr, Py_ssize_t start, int n_rows, int n_columns,
    double* pairs,
) noexcept nogil:
    """Products x_a x_b, b <= a, of a few rows, dense (no `indptr`) or in CSR form."""
    cdef int n_pairs = n_columns * (n_columns + 1) // 2, pair, a, b
    cdef Py_ssize_t row, first, second
    cdef const double* x
    if indptr == NULL:
        for row in range(n_rows):
            x = values + (start + row) * n_columns
            pair = 0
            for a in range(n_columns):
                for b in range(a + 1):
                    pairs[row * n_pairs + pair] = x[a] * x[b]
                    pair += 1
        return
    memset(pairs, 0, n_rows * n_pairs * sizeof(double))
    for row in range(n_rows):
        for first in range(indptr[start + row], indptr[start + row + 1]):
            a = indices[first]
            for second in range(indptr[start + row], first + 1):
                pairs[row * n_pairs + a * (a + 1) // 2 + indices[second]] = values[first] * values[second]


cdef void add_by_pairs(
    const double* values, const int* indices, const int* indptr, int n_columns, const double[:, ::1] pg_weights,
    double[:, :, ::1] gram, double* scratch,
) noexcept nogil:
    """Dense rows, and the same rows in CSR form, give the same bits."""
    cdef int n_experts = pg_weights.shape[1], n_pairs = n_columns * (n_columns + 1) // 2, n_rows, pair, a, b
    cdef Py_ssize_t start, expert
    cdef double* pairs = scratch
    cdef double* total = scratch + CHUNK * n_pairs
    cdef double one = 1.0, kept = 0.0
    for start from 0 <= start < pg_weights.shape[0] by CHUNK:
        n_rows = min(<Py_ssize_t> CHUNK, pg_weights.shape[0] - start)
        fill_pairs(values, indices, indptr, start, n_rows, n_columns, pairs)
        # In column-major terms: total (pairs x experts) = pairs (pairs x rows) weights' (rows x experts).
        dgemm(
            b"N", b"T", &n_pairs, &n_experts, &n_rows, &one, pairs, &n_pairs,
            <double*> &pg_weights[start, 0], &n_experts, &kept, total, &n_pairs,
        )
        kept = 1.0
    for expert in range(n_experts):
        pair = 0
        for a in range(n_columns):
            for b in range(a + 1):
                gram[expert, a, b] += total[expert * n_pairs + pair]
                if a != b:
                    gram[expert, b, a] += total[expert * n_pairs + pair]
                pair += 1


cdef void add_by_expert(
    const double[:, ::1] design, const double[:, ::1] pg_weights, double[:, :, ::1] gram, double* scratch
) noexcept nogil:
    cdef int n_columns = design.shape[1], n_rows, column
    cdef Py_ssize_t start, row, expert, other
    cdef double one = 1.0, root
    for expert in range(pg_weights.shape[1]):
        for start from 0 <= start < design.shape[0] by CHUNK:
            n_rows = 0
            for row in range(start, min(start + <Py_ssize_t> CHUNK, design.shape[0])):
                if pg_weights[row, expert] > 0.0:
                    root = sqrt(pg_weights[row, expert])
                    for column in range(n_columns):
                        scratch[n_rows * n_columns + column] = root * design[row, column]
                    n_rows += 1
            if n_rows:
                dsyrk(
                    b"U", b"N", &n_columns, &n_rows, &one, scratch, &n_columns, &one,
                    &gram[expert, 0, 0], &n_columns,
                )
        for column in range(n_columns):
            for other in range(column):
                gram[expert, other, column] = gram[expert, column, other]


def add_dense(const double[:, ::1] design, const double[:, ::1] pg_weights, double[:, :, ::1] gram, double[::1] scratch):
    """Add sum_i omega_ik x_i x_i' to `gram` (experts, columns, columns), which holds zeros or a symmetric sum."""
    if design.shape[0] == 0:
        return
    with nogil:
        if design.shape[1] <= WIDEST_PAIRED:
            add_by_pairs(&design[0, 0], NULL, NULL, design.shape[1], pg_weights, gram, &scratch[0])
        else:
            add_by_expert(design, pg_weights, gram, &scratch[0])


def add_sparse(
    const double[::1] data, const int[::1] indices, const int[::1] indptr, const double[:, ::1] pg_weights,
    double[:, :, ::1] gram, double[::1] scratch,
):
    """The same for rows in CSR form, columns in order; wide ones by pairs of entries."""
    cdef Py_ssize_t row, expert, first, second
    cdef double product
    if data.shape[0] == 0:
        return
    with nogil:
        if gram.shape[1] <= WIDEST_PAIRED:
            add_by_pairs(&data[0], &indices[0], &indptr[0], gram.shape[1], pg_weights, gram, &scratch[0])
        else:
            for row in range(pg_weights.shape[0]):
                for expert in range(pg_weights.shape[1]):
                    if pg_weights[row, expert] <= 0.0:
                        continue
                    for first in range(indptr[row], indptr[row + 1]):
                        product = pg_weights[row, expert] * data[first]
                        for second in range(indptr[row], indptr[row + 1]):
                            gram[expert, indices[first], indices[second]] += product * data[second]


def add_linear_dense(const double[:, ::1] design, const double[:, ::1] slopes, double[:, ::1] out):
    """Add sum_i slope_ik x_i to `out` (columns, experts), row after row."""
    cdef Py_ssize_t row, column, expert
    cdef double value
    with nogil:
        for row in range(design.shape[0]):
            for column in range(design.shape[1]):
                value = design[row, column]
                for expert in range(slopes.shape[1]):
                    out[column, expert] += value * slopes[row, expert]


def add_linear_sparse(
    const double[::1] data, const int[::1] indices, const int[::1] indptr, const double[:, ::1] slopes,
    double[:, ::1] out,
):
    """The same for rows in CSR form, with the same bits."""
    cdef Py_ssize_t row, entry, expert
    with nogil:
        for row in range(slopes.shape[0]):
            for entry in range(indptr[row], indptr[row + 1]):
                for expert in range(slopes.shape[1]):
                    out[indices[entry], expert] += data[entry] * slopes[row, expert]
