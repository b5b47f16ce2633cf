"""Sums over the rows of a block that the coefficients need: weighted Gram matrices, for all experts in one call.

These are sum_i omega_ik x_i x_i' and the linear term of equation 41. A matrix is stored as its lower triangle, which
halves what is added between blocks and sent between machines.

Dense rows, and narrow sparse ones, are processed four at a time for each expert, skipping rows without weight. Wide
sparse rows loop over pairs of entries, all experts at once. Every sum runs over the rows in order, so the result does
not depend on the machine.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from softpolytope.model._kernels.vector_math cimport add_multiple, add_transposed_product

cdef extern from "symmetric.h" nogil:
    Py_ssize_t padded(Py_ssize_t n)
    void add_squares(
        Py_ssize_t n_rows, Py_ssize_t n, Py_ssize_t width, const double* rows, const double* weights, Py_ssize_t step,
        double* S
    )

cdef enum:
    CHUNK = 64  # rows that are copied together, and stay in the cache for all experts
    WIDEST_FILLED = 48  # sparse rows with more columns are not made dense
    ROOM = 1 << 16  # doubles for the matrices of the experts that share a chunk of rows


cdef void fill_rows(
    const double* values, const int* indices, const int* indptr, Py_ssize_t start, Py_ssize_t n_rows,
    Py_ssize_t n_columns, Py_ssize_t width, double* rows,
) noexcept nogil:
    """Copy a few rows, dense (`indptr` is NULL) or in CSR form; the padding beyond the last column is not written."""
    cdef Py_ssize_t row, entry
    for row in range(n_rows):
        if indptr == NULL:
            memcpy(rows + row * width, values + (start + row) * n_columns, n_columns * sizeof(double))
            continue
        memset(rows + row * width, 0, n_columns * sizeof(double))
        for entry in range(indptr[start + row], indptr[start + row + 1]):
            rows[row * width + indices[entry]] = values[entry]


cdef void add_triangle(
    const double* matrix, Py_ssize_t n_columns, Py_ssize_t width, Py_ssize_t expert, double[:, ::1] out
) noexcept nogil:
    """Add the upper triangle of an expert's matrix to its column of pairs."""
    cdef Py_ssize_t a, b, pair = 0
    for a in range(n_columns):
        for b in range(a + 1):
            out[pair, expert] += matrix[b * width + a]
            pair += 1


cdef bint add_filled(
    const double* values, const int* indices, const int* indptr, Py_ssize_t n_columns,
    const double[:, ::1] pg_weights, double[:, ::1] out,
) noexcept nogil:
    """Add the Gram matrices of rows made dense; return False if memory runs out.

    Dense rows, and the same rows in CSR form, give the same bits.
    """
    cdef Py_ssize_t n_experts = pg_weights.shape[1], width = padded(n_columns), size = n_columns * width
    cdef Py_ssize_t n_together = max(<Py_ssize_t> 1, min(n_experts, ROOM // size))
    cdef Py_ssize_t first, n_taken, start, n_rows, expert
    cdef double* rows = <double*> malloc((CHUNK * width + n_together * size) * sizeof(double))
    cdef double* matrices = rows + CHUNK * width
    if rows == NULL:
        return False
    memset(rows, 0, CHUNK * width * sizeof(double))
    for first from 0 <= first < n_experts by n_together:
        n_taken = min(n_together, n_experts - first)
        memset(matrices, 0, n_taken * size * sizeof(double))
        for start from 0 <= start < pg_weights.shape[0] by CHUNK:
            n_rows = min(<Py_ssize_t> CHUNK, pg_weights.shape[0] - start)
            fill_rows(values, indices, indptr, start, n_rows, n_columns, width, rows)
            for expert in range(n_taken):
                add_squares(
                    n_rows, n_columns, width, rows, &pg_weights[start, first + expert], n_experts,
                    matrices + expert * size,
                )
        for expert in range(n_taken):
            add_triangle(matrices + expert * size, n_columns, width, first + expert, out)
    free(rows)
    return True


def add_dense(const double[:, ::1] design, const double[:, ::1] pg_weights, double[:, ::1] out):
    """Add sum_i omega_ik x_ia x_ib, b <= a, to `out` (pairs, experts); pair a (a + 1) / 2 + b."""
    cdef bint is_done = True
    if design.shape[0] == 0 or design.shape[1] == 0 or pg_weights.shape[1] == 0:
        return
    with nogil:
        is_done = add_filled(&design[0, 0], NULL, NULL, design.shape[1], pg_weights, out)
    if not is_done:
        raise MemoryError


def add_sparse(
    const double[::1] data, const int[::1] indices, const int[::1] indptr, int n_columns,
    const double[:, ::1] pg_weights, double[:, ::1] out,
):
    """Add the same sums for rows in CSR form, with columns in order; wide rows by pairs of entries."""
    cdef Py_ssize_t row, first, second, pair
    cdef bint is_done = True
    if data.shape[0] == 0 or pg_weights.shape[1] == 0:
        return
    with nogil:
        if n_columns <= WIDEST_FILLED:
            is_done = add_filled(&data[0], &indices[0], &indptr[0], n_columns, pg_weights, out)
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
    """Write the symmetric matrices (experts, columns, columns) whose lower triangles are `pairs` (pairs, experts)."""
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
    """Add the same sums for rows in CSR form, with the same bits."""
    cdef Py_ssize_t row, entry
    if slopes.shape[1] == 0:
        return
    with nogil:
        for row in range(slopes.shape[0]):
            for entry in range(indptr[row], indptr[row + 1]):
                add_multiple(slopes.shape[1], data[entry], &slopes[row, 0], &out[indices[entry], 0])
