from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

cdef int64_t draw_sum_log(bitgen_t* bits, int64_t count, double exponent) noexcept nogil
cdef double draw_real_sum_log(bitgen_t* bits, double count, double exponent) noexcept nogil
