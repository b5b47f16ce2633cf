from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

cdef int64_t draw_truncated_poisson(bitgen_t* bits, double rate) noexcept nogil
