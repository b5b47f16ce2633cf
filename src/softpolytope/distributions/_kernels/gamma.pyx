"""Logarithm of a gamma variate, for shapes whose variates would underflow."""

from libc.math cimport INFINITY, log
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_exponential, random_standard_gamma

from softpolytope.distributions._kernels.bits cimport bits_of


cdef double draw_log_standard_gamma(bitgen_t* bits, double shape) noexcept nogil:
    """Draw log G for G ~ Gamma(shape, rate=1); shape 0 gives -inf."""
    if shape <= 0.0:
        return -INFINITY
    if shape >= 1.0:
        return log(random_standard_gamma(bits, shape))
    # G(a) = G(a + 1) U^(1/a) in law, and -log U is a standard exponential.
    return log(random_standard_gamma(bits, shape + 1.0)) - random_standard_exponential(bits) / shape


def fill(object bit_generator, const double[::1] shape, double[::1] out):
    """Write one draw per entry."""
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t i
    with bit_generator.lock, nogil:
        for i in range(out.shape[0]):
            out[i] = draw_log_standard_gamma(bits, shape[i])
