"""Activations of a block of rows, all experts at once, one layer per call; and what follows from the top one."""

from libc.math cimport exp, expm1, log, log1p
from libc.string cimport memset

from softpolytope.model._kernels.vector_math cimport add_multiple, log_softplus_of, multiply
from softpolytope.model._kernels.vector_math import vector_exp

cdef enum:
    BUFFER = 512


def predict_dense(const double[:, ::1] design, const double[:, ::1] coefficients, double[:, ::1] out):
    """Write x'beta as (rows, experts), from coefficients (columns, experts).

    Every sum runs over the columns in order, whatever experts are asked for together: a chain that computes them in
    other groups after a restart must get the same bits, which a library's matrix product does not promise.
    """
    if out.shape[0] == 0 or out.shape[1] == 0:
        return
    with nogil:
        multiply(out.shape[0], design.shape[1], out.shape[1], &design[0, 0], &coefficients[0, 0], &out[0, 0])


def predict_sparse(
    const double[::1] data, const int[::1] indices, const int[::1] indptr, const double[:, ::1] coefficients,
    double[:, ::1] out,
):
    """The same for rows in CSR form."""
    cdef Py_ssize_t row, entry
    if out.shape[0] == 0 or out.shape[1] == 0:
        return
    with nogil:
        memset(&out[0, 0], 0, out.shape[0] * out.shape[1] * sizeof(double))
        for row in range(out.shape[0]):
            for entry in range(indptr[row], indptr[row + 1]):
                add_multiple(out.shape[1], data[entry], &coefficients[indices[entry], 0], &out[row, 0])


def advance(
    const double[:, ::1] predictor_columns, const int[::1] experts, double[:, ::1] linear_predictor,
    const double[:, ::1] below, double[:, ::1] log_above, double[:, ::1] above,
):
    """Take x'beta of some experts (rows, those experts); write log q and q of the level above their layer.

    All other arrays are (rows, experts).
    """
    cdef Py_ssize_t first, n_taken, i, row = 0, column = 0, n_columns = experts.shape[0]
    cdef Py_ssize_t n_cells = above.shape[0] * n_columns
    cdef double[BUFFER] logs
    cdef double[BUFFER] values
    cdef Py_ssize_t[BUFFER] places
    with nogil:
        for first from 0 <= first < n_cells by BUFFER:
            n_taken = min(<Py_ssize_t> BUFFER, n_cells - first)
            for i in range(n_taken):
                places[i] = row * above.shape[1] + experts[column]
                linear_predictor[row, experts[column]] = predictor_columns[row, column]
                logs[i] = predictor_columns[row, column] + below[row, experts[column]]
                column += 1
                if column == n_columns:
                    column = 0
                    row += 1
            log_softplus_of(n_taken, logs, values)
            for i in range(n_taken):
                (&log_above[0, 0])[places[i]] = logs[i]
                (&above[0, 0])[places[i]] = values[i]


cdef double log_positive(double rate) noexcept nogil:
    """log(1 - e^-rate)."""
    return log(-expm1(-rate)) if rate < 0.7 else log1p(-exp(-rate))


def log_likelihood(
    const double[:, ::1] activation, const double[:, ::1] log_activation, const double[::1] log_weights,
    const unsigned char[::1] labels, const double[::1] row_weights,
):
    """Sum of log P(y) over the rows, from q and log q of the top level."""
    cdef Py_ssize_t row, expert, n_experts = log_weights.shape[0]
    cdef double total = 0.0, rate, largest, term
    cdef double[::1] weights = vector_exp(log_weights)
    with nogil:
        for row in range(activation.shape[0]):
            rate = 0.0
            for expert in range(n_experts):
                rate += weights[expert] * activation[row, expert]
            if not labels[row]:
                total -= row_weights[row] * rate
            elif rate > 1e-290:
                total += row_weights[row] * log_positive(rate)
            else:
                largest = log_weights[0] + log_activation[row, 0]
                for expert in range(1, n_experts):
                    term = log_weights[expert] + log_activation[row, expert]
                    largest = term if term > largest else largest
                rate = 0.0
                for expert in range(n_experts):
                    rate += exp(log_weights[expert] + log_activation[row, expert] - largest)
                total += row_weights[row] * (largest + log(rate))
    return total
