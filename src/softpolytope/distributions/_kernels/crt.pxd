from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

cdef int64_t draw_crt(bitgen_t* bits, int64_t count, double concentration) noexcept nogil
cdef double draw_real_crt(bitgen_t* bits, double count, double concentration) noexcept nogil
