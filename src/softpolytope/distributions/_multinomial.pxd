from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

cdef int split_count(
    bitgen_t* bits, int64_t count, const double* log_rates, Py_ssize_t stride, Py_ssize_t n_experts,
    double* weights, int64_t* out, Py_ssize_t out_stride,
) noexcept nogil
