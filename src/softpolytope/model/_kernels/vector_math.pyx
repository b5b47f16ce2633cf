"""Elementary functions of arrays.

The vectorized ones are here for the tests. The others are the C library's: NumPy's own choose among more algorithms by
the processor, and differ in the last bit. The C library has two, with and without fused multiply-add.
"""

import numpy as np

from libc.math cimport exp, log, log1p


cdef object mapped(double (*function)(double) noexcept nogil, const double[::1] x):
    """A function of every number, as a new array."""
    cdef double[::1] out = np.empty(x.shape[0])
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[i] = function(x[i])
    return out.base


def vector_exp(const double[::1] x):
    """e^x."""
    return mapped(exp, x)


def vector_log(const double[::1] x):
    """log x."""
    return mapped(log, x)


def vector_log1p(const double[::1] x):
    """log(1 + x)."""
    return mapped(log1p, x)


def fill_exp(const double[::1] x, double[::1] out):
    """Write e^x of numbers from -700 to 700."""
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[i] = plain_exp(x[i])


def fill_log(const double[::1] x, double[::1] out):
    """Write log x of normal numbers above 0."""
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[i] = plain_log(x[i])


def fill_log_positive(const double[::1] rate, double[::1] out, double[::1] slope):
    """Write log(1 - e^-rate) and 1 / (e^rate - 1) of rates above 1e-290."""
    log_positive_with_slopes(rate.shape[0], &rate[0], &out[0], &slope[0])


def fill_log_softplus(double[::1] z, double[::1] activation):
    """Replace z by log log(1 + e^z), and write log(1 + e^z)."""
    log_softplus_of(z.shape[0], &z[0], &activation[0])
