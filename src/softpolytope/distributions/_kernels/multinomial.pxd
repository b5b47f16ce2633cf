from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

# Counts are int64 in the public laws, doubles in the sampler, where they may pass int64.
ctypedef fused count_t:
    int64_t
    double

cdef void split_count(
    bitgen_t* bits, count_t count, const double* shares, Py_ssize_t n_experts, double* tails, count_t* out,
) noexcept nogil
