"""Sums over the rows of a block that the coefficients need: weighted Gram matrices, for all experts in one call.

A matrix is kept as its lower triangle, which halves what blocks add up and what would travel between machines.

Narrow designs, dense or sparse, multiply the experts' weights (experts x rows) by the rows' own products x_a x_b (rows x
pairs): one matrix product for all experts. Wide dense ones take one symmetric product per expert, wide sparse ones loop
over pairs of entries.
"""

from libc.math cimport sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memset
from scipy.linalg.cython_blas cimport dgemm, dsyrk

from softpolytope.model._vector_math cimport add_multiple, add_transposed_product

cdef enum:
    CHUNK = 64
    WIDEST_PAIRED = 48


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


cdef bint add_by_pairs(
    const double* values, const int* indices, const int* indptr, int n_columns, const double[:, ::1] pg_weights,
    double[:, ::1] out,
) noexcept nogil:
    """Dense rows, and the same rows in CSR form, give the same bits."""
    cdef int n_experts = pg_weights.shape[1], n_pairs = out.shape[0], n_rows
    cdef Py_ssize_t start
    cdef double one = 1.0
    cdef double* pairs = <double*> malloc(CHUNK * n_pairs * sizeof(double))
    if pairs == NULL:
        return False
    for start from 0 <= start < pg_weights.shape[0] by CHUNK:
        n_rows = min(<Py_ssize_t> CHUNK, pg_weights.shape[0] - start)
        fill_pairs(values, indices, indptr, start, n_rows, n_columns, pairs)
        # In column-major terms: out (experts x pairs) += weights (experts x rows) pairs' (rows x pairs).
        dgemm(
            b"N", b"T", &n_experts, &n_pairs, &n_rows, &one, <double*> &pg_weights[start, 0], &n_experts,
            pairs, &n_pairs, &one, &out[0, 0], &n_experts,
        )
    free(pairs)
    return True


cdef bint add_by_expert(
    const double[:, ::1] design, const double[:, ::1] pg_weights, double[:, ::1] out
) noexcept nogil:
    """One symmetric product per expert, of the rows that have a weight."""
    cdef int n_columns = design.shape[1], n_rows, a, b
    cdef Py_ssize_t start, row, expert, pair
    cdef double one = 1.0, root
    cdef double* rows = <double*> malloc((CHUNK + n_columns) * n_columns * sizeof(double))
    cdef double* gram = rows + CHUNK * n_columns
    if rows == NULL:
        return False
    for expert in range(pg_weights.shape[1]):
        memset(gram, 0, n_columns * n_columns * sizeof(double))
        for start from 0 <= start < design.shape[0] by CHUNK:
            n_rows = 0
            for row in range(start, min(start + <Py_ssize_t> CHUNK, design.shape[0])):
                if pg_weights[row, expert] > 0.0:
                    root = sqrt(pg_weights[row, expert])
                    for a in range(n_columns):
                        rows[n_rows * n_columns + a] = root * design[row, a]
                    n_rows += 1
            if n_rows:
                dsyrk(b"U", b"N", &n_columns, &n_rows, &one, rows, &n_columns, &one, gram, &n_columns)
        pair = 0
        for a in range(n_columns):
            for b in range(a + 1):
                out[pair, expert] += gram[a * n_columns + b]
                pair += 1
    free(rows)
    return True


def add_dense(const double[:, ::1] design, const double[:, ::1] pg_weights, double[:, ::1] out):
    """Add sum_i omega_ik x_ia x_ib, b <= a, to `out` (pairs, experts); pair a (a + 1) / 2 + b."""
    cdef bint is_done = True
    if design.shape[0] == 0 or pg_weights.shape[1] == 0:
        return
    with nogil:
        if design.shape[1] <= WIDEST_PAIRED:
            is_done = add_by_pairs(&design[0, 0], NULL, NULL, design.shape[1], pg_weights, out)
        else:
            is_done = add_by_expert(design, pg_weights, out)
    if not is_done:
        raise MemoryError


def add_sparse(
    const double[::1] data, const int[::1] indices, const int[::1] indptr, int n_columns,
    const double[:, ::1] pg_weights, double[:, ::1] out,
):
    """The same for rows in CSR form, columns in order; wide ones by pairs of entries, all experts at once."""
    cdef Py_ssize_t row, first, second, pair
    cdef bint is_done = True
    if data.shape[0] == 0 or pg_weights.shape[1] == 0:
        return
    with nogil:
        if n_columns <= WIDEST_PAIRED:
            is_done = add_by_pairs(&data[0], &indices[0], &indptr[0], n_columns, pg_weights, out)
        else:
            for row in range(pg_weights.shape[0]):
                for first in range(indptr[row], indptr[row + 1]):
                    pair = <Py_ssize_t> indices[first] * (indices[first] + 1) // 2
                    for second in range(indptr[row], first + 1):
                        add_multiple(
                            pg_weights.shape[1], data[first] * data[second], &pg_weights[row, 0],
                            &out[pair + indices[second], 0],
                        )
    if not is_done:
        raise MemoryError


def unpack(const double[:, ::1] pairs, double[:, :, ::1] out):
    """Write the symmetric matrices (experts, columns, columns) that sums over pairs (pairs, experts) stand for."""
    cdef Py_ssize_t expert, a, b, pair = 0
    with nogil:
        for a in range(out.shape[1]):
            for b in range(a + 1):
                for expert in range(out.shape[0]):
                    out[expert, a, b] = out[expert, b, a] = pairs[pair, expert]
                pair += 1


def add_linear_dense(const double[:, ::1] design, const double[:, ::1] slopes, double[:, ::1] out):
    """Add sum_i slope_ik x_i to `out` (columns, experts), row after row."""
    if design.shape[0] == 0 or slopes.shape[1] == 0:
        return
    with nogil:
        add_transposed_product(
            design.shape[0], design.shape[1], slopes.shape[1], &design[0, 0], &slopes[0, 0], &out[0, 0]
        )


def add_linear_sparse(
    const double[::1] data, const int[::1] indices, const int[::1] indptr, const double[:, ::1] slopes,
    double[:, ::1] out,
):
    """The same for rows in CSR form, with the same bits."""
    cdef Py_ssize_t row, entry
    if slopes.shape[1] == 0:
        return
    with nogil:
        for row in range(slopes.shape[0]):
            for entry in range(indptr[row], indptr[row + 1]):
                add_multiple(slopes.shape[1], data[entry], &slopes[row, 0], &out[indices[entry], 0])
