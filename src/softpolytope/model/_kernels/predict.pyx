"""Poisson rates of rows under many draws: one matrix product a draw and chunk of rows, then arithmetic along rows."""

from libc.math cimport exp
from libc.stdlib cimport free, malloc
from libc.string cimport memset
from scipy.linalg.cython_blas cimport dgemm

from softpolytope.model._kernels.softplus cimport next_activation
from softpolytope.model._kernels.vector_math cimport activate, add_multiple, add_probabilities
from softpolytope.model._kernels.vector_math cimport multiply_odds as vector_multiply_odds

cdef enum:
    CHUNK = 256


cdef double slow_activation(const double* predictor, int n_layers) noexcept nogil:
    """q of one row and expert, whatever the size of its numbers; `predictor` has one entry per run of rows."""
    cdef double activation = 1.0, log_activation = 0.0, slope
    cdef int layer
    for layer in range(n_layers):
        activation = next_activation(predictor[layer * CHUNK], activation, &log_activation, &slope)
    return activation


cdef void add_rates(
    double* predictor, const double* weights, Py_ssize_t n_experts, int n_layers, Py_ssize_t n_rows,
    double* activation, double* is_plain, double* out,
) noexcept nogil:
    """Add r q of every expert to the rates of a chunk of rows; the predictor is (experts, layers) runs of rows."""
    cdef Py_ssize_t expert, row
    cdef int layer
    cdef double* own
    cdef bint is_any_slow
    for expert in range(n_experts):
        own = predictor + expert * n_layers * CHUNK
        for row in range(n_rows):
            activation[row] = is_plain[row] = 1.0
        for layer in range(n_layers):
            activate(n_rows, own + layer * CHUNK, activation, is_plain)
        is_any_slow = False
        for row in range(n_rows):
            is_any_slow |= is_plain[row] == 0.0
        if is_any_slow:
            for row in range(n_rows):
                if is_plain[row] == 0.0:
                    activation[row] = slow_activation(own + row, n_layers)
        add_multiple(n_rows, weights[expert], activation, out)


def fill_rates_dense(
    const double[:, ::1] X, const double[:, :, ::1] slopes, const double[:, ::1] intercepts,
    const double[::1] weights, const Py_ssize_t[::1] starts, double[:, ::1] out,
):
    """Write lambda as (draws, rows).

    `slopes` (experts, layers, features), `intercepts` (experts, layers) and `weights` (experts) are those of all draws
    one after the other; those of draw d are experts starts[d] to starts[d + 1].
    """
    cdef Py_ssize_t n_draws = starts.shape[0] - 1, draw, first, row, n_experts, most = 0, line
    cdef int n_layers = intercepts.shape[1], n_features = X.shape[1], n_rows, n_lines, run = CHUNK
    cdef double one = 1.0, constant
    cdef double* memory
    cdef double* predictor
    for draw in range(n_draws):
        most = max(most, starts[draw + 1] - starts[draw])
    memory = <double*> malloc((most * n_layers + 2) * CHUNK * sizeof(double))
    if memory == NULL:
        raise MemoryError
    predictor = memory + 2 * CHUNK
    with nogil:
        memset(&out[0, 0], 0, n_draws * X.shape[0] * sizeof(double))
        for first from 0 <= first < X.shape[0] by CHUNK:
            n_rows = min(<Py_ssize_t> CHUNK, X.shape[0] - first)
            for draw in range(n_draws):
                n_experts = starts[draw + 1] - starts[draw]
                if n_experts == 0:
                    continue
                n_lines = n_experts * n_layers
                for line in range(n_lines):
                    constant = intercepts[starts[draw] + line // n_layers, line % n_layers]
                    for row in range(n_rows):
                        predictor[line * CHUNK + row] = constant
                dgemm(
                    b"T", b"N", &n_rows, &n_lines, &n_features, &one, <double*> &X[first, 0], &n_features,
                    <double*> &slopes[starts[draw], 0, 0], &n_features, &one, predictor, &run,
                )
                add_rates(
                    predictor, &weights[starts[draw]], n_experts, n_layers, n_rows, memory, memory + CHUNK,
                    &out[draw, first],
                )
    free(memory)


def fill_rates_sparse(
    const double[::1] data, const int[::1] indices, const int[::1] indptr, const double[:, ::1] slopes,
    const double[:, ::1] intercepts, const double[::1] weights, const Py_ssize_t[::1] starts, double[:, ::1] out,
):
    """The same for rows in CSR form; `slopes` is (features, experts x layers)."""
    cdef Py_ssize_t n_draws = starts.shape[0] - 1, draw, first, row, entry, line, n_experts, most = 0, n_rows, n_lines
    cdef int n_layers = intercepts.shape[1]
    cdef double* memory
    cdef double* predictor
    cdef double* values
    for draw in range(n_draws):
        most = max(most, starts[draw + 1] - starts[draw])
    memory = <double*> malloc((most * n_layers * (CHUNK + 1) + 2 * CHUNK) * sizeof(double))
    if memory == NULL:
        raise MemoryError
    predictor = memory + 2 * CHUNK
    values = predictor + most * n_layers * CHUNK
    with nogil:
        memset(&out[0, 0], 0, n_draws * out.shape[1] * sizeof(double))
        for first from 0 <= first < out.shape[1] by CHUNK:
            n_rows = min(<Py_ssize_t> CHUNK, out.shape[1] - first)
            for draw in range(n_draws):
                n_experts = starts[draw + 1] - starts[draw]
                if n_experts == 0:
                    continue
                n_lines = n_experts * n_layers
                for row in range(n_rows):
                    for line in range(n_lines):
                        values[line] = intercepts[starts[draw] + line // n_layers, line % n_layers]
                    for entry in range(indptr[first + row], indptr[first + row + 1]):
                        add_multiple(n_lines, data[entry], &slopes[indices[entry], starts[draw] * n_layers], values)
                    for line in range(n_lines):
                        predictor[line * CHUNK + row] = values[line]
                add_rates(
                    predictor, &weights[starts[draw]], n_experts, n_layers, n_rows, memory, memory + CHUNK,
                    &out[draw, first],
                )
    free(memory)


def add_mean_probabilities(const double[:, ::1] rates, double share, double[::1] event, double[::1] survival):
    """Add `share` times the mean over draws of 1 - e^-lambda to one array and of e^-lambda to the other.

    `rates` is (draws, rows).
    """
    cdef Py_ssize_t draw
    if rates.shape[1] == 0:
        return
    with nogil:
        for draw in range(rates.shape[0]):
            add_probabilities(rates.shape[1], share / rates.shape[0], &rates[draw, 0], &event[0], &survival[0])


def multiply_odds(const double[:, ::1] rates, double limit, double[::1] product):
    """Multiply by the odds e^lambda - 1 of all draws, each with a logarithm of at most `limit` in size.

    `rates` is (draws, rows).
    """
    cdef Py_ssize_t draw
    cdef double lowest = exp(-limit), highest = exp(limit)
    if rates.shape[1] == 0:
        return
    with nogil:
        for draw in range(rates.shape[0]):
            vector_multiply_odds(rates.shape[1], limit, lowest, highest, &rates[draw, 0], &product[0])
