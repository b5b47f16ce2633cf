"""Split of a count over experts, given the logarithms of their rates."""

from libc.math cimport INFINITY, exp
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_uniform

from softpolytope.distributions._kernels.bits cimport bits_of
from softpolytope.distributions._kernels.counts cimport draw_binomial, draw_real_binomial


cdef Py_ssize_t choose_one(bitgen_t* bits, const double* shares, double total, Py_ssize_t n_experts) noexcept nogil:
    """Draw an expert in proportion to the shares."""
    cdef double left = total * random_standard_uniform(bits)
    cdef Py_ssize_t k, last = 0
    for k in range(n_experts):
        if shares[k] > 0.0:
            last = k
            left -= shares[k]
            if left < 0.0:
                break
    return last


cdef void split_count(
    bitgen_t* bits, count_t count, const double* shares, Py_ssize_t n_experts, double* tails, count_t* out,
) noexcept nogil:
    """Split in proportion to `shares`, of which one must be positive; `tails` has room for n_experts doubles."""
    cdef count_t left = count, given
    cdef double probability
    cdef Py_ssize_t k
    for k in range(n_experts):
        out[k] = 0
    if count <= 0:
        return
    tails[n_experts - 1] = shares[n_experts - 1]
    for k in range(n_experts - 2, -1, -1):
        tails[k] = shares[k] + tails[k + 1]
    # A search costs one uniform and about n_experts additions; a binomial costs about ten uniforms.
    if count <= 4:
        while left > 0:
            out[choose_one(bits, shares, tails[0], n_experts)] += 1
            left -= 1
        return
    for k in range(n_experts):
        if k == n_experts - 1 or tails[k + 1] == 0.0:
            out[k] = left
            return
        # The smaller of the two parts is drawn: a probability near 1 would have lost its digits to rounding.
        probability = (shares[k] if shares[k] <= tails[k + 1] else tails[k + 1]) / tails[k]
        if count_t is double:
            given = draw_real_binomial(bits, left, probability)
        else:
            given = draw_binomial(bits, left, probability)
        if shares[k] > tails[k + 1]:
            # The small remainder was drawn; as the difference of two large doubles it would lose its digits.
            out[k] = left - given
            left = given
        else:
            out[k] = given
            left -= given
        if left <= 0:
            return


def fill(object bit_generator, const int64_t[::1] count, const double[:, ::1] log_rates, int64_t[:, ::1] out):
    """Write one split per row; return the first row without a positive rate, or -1.

    Only differences of log rates enter, so all rates may be far below the smallest double.
    """
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t i, k, n_experts = log_rates.shape[1], failed = -1
    cdef double largest
    cdef double* shares = <double*> malloc((2 * n_experts + 1) * sizeof(double))
    if shares == NULL:
        raise MemoryError
    try:
        with bit_generator.lock, nogil:
            for i in range(count.shape[0]):
                largest = -INFINITY
                for k in range(n_experts):
                    largest = log_rates[i, k] if log_rates[i, k] > largest else largest
                if largest == -INFINITY and count[i] > 0:
                    failed = i
                    break
                for k in range(n_experts):
                    shares[k] = exp(log_rates[i, k] - largest) if largest > -INFINITY else 0.0
                if n_experts > 0:
                    split_count[int64_t](bits, count[i], shares, n_experts, shares + n_experts, &out[i, 0])
    finally:
        free(shares)
    return failed
