from numpy.random cimport bitgen_t

cdef double draw_polya_gamma(bitgen_t* bits, double shape, double tilt) noexcept nogil
cdef double draw_truncated_sum(bitgen_t* bits, double shape, double tilt, int terms) noexcept nogil
