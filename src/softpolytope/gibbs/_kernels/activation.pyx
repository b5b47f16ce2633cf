"""Activations q of a block of rows, for all experts at once and one layer per call, and the log likelihood.

Going up the layers, q of level t + 1 is log(1 + q e^{x'beta}) of level t (definition 4 of the paper). Its logarithm is
kept beside it, because small activations underflow while their logarithms do not.
"""

from libc.math cimport exp, expm1, log, log1p
from libc.string cimport memset

from softpolytope.model._kernels.vector_math cimport add_multiple, log_softplus_of, multiply
from softpolytope.model._kernels.vector_math import vector_exp

cdef enum:
    BUFFER = 512


def predict_dense(const double[:, ::1] design, const double[:, ::1] coefficients, double[:, ::1] out):
    """Write x'beta as (rows, experts), from coefficients (columns, experts).

    Every sum runs over the columns in order, whichever experts are computed together: a chain that computes them in
    other groups after a restart must get the same bits, which a BLAS library does not promise.
    """
    if out.shape[0] == 0 or out.shape[1] == 0:
        return
    with nogil:
        multiply(out.shape[0], design.shape[1], out.shape[1], &design[0, 0], &coefficients[0, 0], &out[0, 0])


def predict_sparse(
    const double[::1] data, const int[::1] indices, const int[::1] indptr, const double[:, ::1] coefficients,
    double[:, ::1] out,
):
    """Write x'beta as `predict_dense` does, for rows in CSR form."""
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
    """Write x'beta, and log q and q of the level above, for some experts of a layer.

    `predictor_columns` is x'beta as (rows, those experts); `below` is log q of the level below the layer. All arrays
    except the first are (rows, experts), and only the columns of those experts are written.
    """
    cdef Py_ssize_t first, n_taken, i, row = 0, column = 0, n_columns = experts.shape[0]
    cdef Py_ssize_t n_cells = above.shape[0] * n_columns
    cdef double[BUFFER] logs
    cdef double[BUFFER] values
    cdef Py_ssize_t[BUFFER] places
    with nogil:
        for first from 0 <= first < n_cells by BUFFER:
            n_taken = min(<Py_ssize_t> BUFFER, n_cells - first)
            # The chosen experts of many rows are gathered, so that the vectorized log softplus gets full buffers even
            # where few experts are updated.
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
    """Return log(1 - e^-rate), with full precision for small and large rates."""
    # Up to about log 2, 1 - e^-rate would cancel; above it, its logarithm would.
    return log(-expm1(-rate)) if rate < 0.7 else log1p(-exp(-rate))


def log_likelihood(
    const double[:, ::1] activation, const double[:, ::1] log_activation, const double[::1] log_weights,
    const unsigned char[::1] labels, const double[::1] row_weights,
):
    """Return the sum of log P(y) over the rows, from q and log q of the top level.

    log P(y = 0) = -lambda and log P(y = 1) = log(1 - e^-lambda), with lambda = sum_k r_k q_k.
    """
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
                # The rate has underflowed, and log(1 - e^-rate) is log(rate): a log-sum-exp over the experts.
                largest = log_weights[0] + log_activation[row, 0]
                for expert in range(1, n_experts):
                    term = log_weights[expert] + log_activation[row, expert]
                    largest = term if term > largest else largest
                rate = 0.0
                for expert in range(n_experts):
                    rate += exp(log_weights[expert] + log_activation[row, expert] - largest)
                total += row_weights[row] * (largest + log(rate))
    return total
