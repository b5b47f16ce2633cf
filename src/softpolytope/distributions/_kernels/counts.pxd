from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

cdef int64_t draw_binomial(bitgen_t* bits, int64_t count, double probability) noexcept nogil
cdef int64_t draw_poisson(bitgen_t* bits, double rate) noexcept nogil
cdef double draw_real_binomial(bitgen_t* bits, double count, double probability) noexcept nogil
cdef double draw_real_poisson(bitgen_t* bits, double rate) noexcept nogil
