"""Poisson law given that it is positive."""

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_uniform

from softpolytope.distributions._kernels.bits cimport bits_of
from softpolytope.distributions._kernels.counts cimport draw_poisson


cdef int64_t draw_truncated_poisson(bitgen_t* bits, double rate) noexcept nogil:
    """Draw N ~ Poisson(rate) given N >= 1, with at most 1.6 Poisson draws on average."""
    cdef int64_t count
    if rate < 1e-17:  # P(N > 1) is below rate / 2
        return 1
    while True:
        if rate > 1.0:
            count = draw_poisson(bits, rate)
            if count > 0:
                return count
        else:
            # P(1 + Poisson = n) is proportional to rate^(n-1) / (n-1)!, and the target to 1/n times that.
            count = 1 + draw_poisson(bits, rate)
            if count == 1 or random_standard_uniform(bits) * count < 1.0:
                return count


def fill(object bit_generator, const double[::1] rate, int64_t[::1] out):
    """Write one draw per entry."""
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t i
    with bit_generator.lock, nogil:
        for i in range(out.shape[0]):
            out[i] = draw_truncated_poisson(bits, rate[i])
