from numpy.random cimport bitgen_t

cdef double draw_log_standard_gamma(bitgen_t* bits, double shape) noexcept nogil
