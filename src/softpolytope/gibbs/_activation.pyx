"""Activations of a block of rows, all experts at once, one layer per call; and what follows from the top one."""

from libc.math cimport exp, expm1, log, log1p


cdef inline double log_softplus(double z) noexcept nogil:
    """log(log(1 + e^z)); near its zero the absolute, not the relative error is a rounding unit."""
    if z < -18.0:
        return z - 0.5 * exp(z)
    if z > 37.0:
        return log(z)
    return log(log1p(exp(z)))


def advance(const double[:, ::1] linear_predictor, const double[:, ::1] below, double[:, ::1] out):
    """Write log q of the level above a layer; arrays are (rows, experts)."""
    cdef Py_ssize_t row, expert
    with nogil:
        for row in range(out.shape[0]):
            for expert in range(out.shape[1]):
                out[row, expert] = log_softplus(linear_predictor[row, expert] + below[row, expert])


def exponentiate(const double[:, ::1] log_activation, double[:, ::1] out):
    """Write q of a level."""
    cdef Py_ssize_t row, expert
    with nogil:
        for row in range(out.shape[0]):
            for expert in range(out.shape[1]):
                out[row, expert] = exp(log_activation[row, expert])


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
    cdef double[::1] weights = np.exp(log_weights)
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


import numpy as np
