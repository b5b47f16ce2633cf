"""The split of a count over experts, given the logarithms of their rates."""

from libc.math cimport INFINITY, exp
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_uniform

from softpolytope.distributions._bits cimport bits_of
from softpolytope.distributions._counts cimport draw_binomial


cdef void seat_one(
    bitgen_t* bits, const double* weights, double total, Py_ssize_t n_experts,
    int64_t* out, Py_ssize_t out_stride,
) noexcept nogil:
    """Give one count to an expert drawn in proportion to the weights."""
    cdef double left = total * random_standard_uniform(bits)
    cdef Py_ssize_t k, last = 0
    for k in range(n_experts):
        if weights[k] > 0.0:
            last = k
            left -= weights[k]
            if left < 0.0:
                break
    out[last * out_stride] += 1


cdef int split_count(
    bitgen_t* bits, int64_t count, const double* log_rates, Py_ssize_t stride, Py_ssize_t n_experts,
    double* weights, int64_t* out, Py_ssize_t out_stride,
) noexcept nogil:
    """Multinomial(count, softmax(log_rates)); returns -1 if no rate is above zero.

    The rates enter by their differences only, so they may all lie far below the smallest double.
    `weights` is scratch for 2 * n_experts doubles.
    """
    cdef double largest = -INFINITY, total = 0.0
    cdef double* tails = weights + n_experts
    cdef Py_ssize_t k
    cdef int64_t left = count, given
    for k in range(n_experts):
        out[k * out_stride] = 0
        if log_rates[k * stride] > largest:
            largest = log_rates[k * stride]
    if count == 0:
        return 0
    if largest == -INFINITY:
        return -1
    for k in range(n_experts):
        weights[k] = exp(log_rates[k * stride] - largest)
        total += weights[k]
    # One search costs a uniform and about n_experts additions; a binomial costs about ten of them.
    if count <= 4:
        for given in range(count):
            seat_one(bits, weights, total, n_experts, out, out_stride)
        return 0
    for k in range(n_experts - 1, -1, -1):
        tails[k] = weights[k] + (tails[k + 1] if k + 1 < n_experts else 0.0)
    for k in range(n_experts):
        if k == n_experts - 1 or tails[k + 1] == 0.0:
            out[k * out_stride] = left
            return 0
        # The smaller share is drawn, because only its probability is free of rounding.
        if weights[k] <= tails[k + 1]:
            given = draw_binomial(bits, left, weights[k] / tails[k])
        else:
            given = left - draw_binomial(bits, left, tails[k + 1] / tails[k])
        out[k * out_stride] = given
        left -= given
        if left == 0:
            return 0
    return 0


def fill(object bit_generator, const int64_t[::1] count, const double[:, ::1] log_rates, int64_t[:, ::1] out):
    """Write one split per row; returns the first row without a positive rate, or -1."""
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t i, n_experts = log_rates.shape[1], failed = -1
    cdef double* weights = <double*> malloc((2 * n_experts + 1) * sizeof(double))
    if weights == NULL:
        raise MemoryError
    try:
        with bit_generator.lock, nogil:
            for i in range(count.shape[0]):
                if split_count(bits, count[i], &log_rates[i, 0], 1, n_experts, weights, &out[i, 0], 1):
                    failed = i
                    break
    finally:
        free(weights)
    return failed
