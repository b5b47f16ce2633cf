"""Sums of logarithmic variates.

A logarithmic variate with p = 1 - e^-q is geometric with success probability e^{-q U}, U uniform; a geometric variate
is one plus a Poisson variate whose rate is an exponential times the odds. So the sum of n is
n + Poisson(sum_i E_i v(U_i)), v(u) = e^{q u} - 1. Short sums add the n terms one by one, exactly. Long sums replace the
uniform by a Gauss-Legendre rule with panels of length at most one in q u and ten nodes each: a multinomial distributes
the n terms over the nodes, and a node with N of them adds v Gamma(N). The characteristic function of a summand is then
right to 1e-12 (tested), at a cost that does not depend on n.
"""

from libc.math cimport ceil, expm1, log
from libc.stdint cimport INT64_MAX, int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport (
    random_standard_exponential,
    random_standard_gamma,
    random_standard_uniform,
)

from softpolytope.distributions._kernels.bits cimport bits_of
from softpolytope.distributions._kernels.counts cimport draw_binomial, draw_poisson, draw_real_poisson

import numpy as np

cdef enum:
    N_NODES = 10
    SHORT_SUM = 64  # terms that are always added one by one

cdef double MAX_SUMMED = 1e18  # terms that an int64 counts safely
# e^700 is finite, e^710 is not. Counts are capped at 1e100.
cdef double MAX_EXPONENT = 700.0
cdef double MAX_COUNT = 1e100
cdef double[N_NODES] NODES
cdef double[N_NODES] CONDITIONAL_WEIGHTS


def gauss_legendre_rule():
    """Return nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    return 0.5 * (nodes + 1.0), 0.5 * weights


cdef void fill_rule():
    """Store each weight as a share of what the earlier nodes leave, as sequential binomials need it."""
    cdef int node
    nodes, weights = gauss_legendre_rule()
    for node in range(N_NODES):
        NODES[node] = nodes[node]
        CONDITIONAL_WEIGHTS[node] = weights[node] / weights[node:].sum()
    CONDITIONAL_WEIGHTS[N_NODES - 1] = 1.0


fill_rule()


cdef double mixed_rate_of_panel(bitgen_t* bits, int64_t count, double start, double length) noexcept nogil:
    """Draw the sum of E_i (e^{w_i} - 1) over `count` terms with w uniform on a panel, by its Gauss rule."""
    cdef double rate = 0.0
    cdef int64_t given
    cdef int node
    for node in range(N_NODES):
        given = draw_binomial(bits, count, CONDITIONAL_WEIGHTS[node])
        if given > 0:
            rate += random_standard_gamma(bits, <double> given) * expm1(start + length * NODES[node])
            count -= given
        if count == 0:
            break
    return rate


cdef double mixed_rate(bitgen_t* bits, int64_t count, double exponent) noexcept nogil:
    """Draw the sum of E_i (e^{exponent U_i} - 1) over `count` terms."""
    cdef double rate = 0.0, n_panels = ceil(exponent), length = exponent / n_panels
    cdef int64_t given, term, panel
    if count <= SHORT_SUM or count <= 2 * N_NODES * n_panels:
        for term in range(count):
            rate += random_standard_exponential(bits) * expm1(exponent * random_standard_uniform(bits))
        return rate
    for panel in range(<int64_t> n_panels):
        given = draw_binomial(bits, count, 1.0 / (n_panels - panel))
        rate += mixed_rate_of_panel(bits, given, panel * length, length)
        count -= given
    return rate


cdef int64_t draw_sum_log(bitgen_t* bits, int64_t count, double exponent) noexcept nogil:
    """Draw the sum of `count` logarithmic variates with p = 1 - e^-exponent, capped at the largest int64."""
    cdef int64_t extra
    if count <= 0 or exponent <= 0.0:
        return count
    extra = draw_poisson(bits, mixed_rate(bits, count, exponent))
    return count + extra if extra <= INT64_MAX - count else INT64_MAX


cdef double draw_real_sum_log(bitgen_t* bits, double count, double exponent) noexcept nogil:
    """Draw as `draw_sum_log`, with counts kept in doubles, so that they may exceed int64."""
    cdef double scale = 1.0, kept = count
    if count <= 0.0 or exponent <= 0.0:
        return count
    if exponent > MAX_EXPONENT:
        # If any of the uniforms is above MAX_EXPONENT / exponent, the sum exceeds all counts.
        if random_standard_exponential(bits) < count * log(exponent / MAX_EXPONENT):
            return MAX_COUNT
        exponent = MAX_EXPONENT
    if count > MAX_SUMMED:  # the relative spread of the mixed rate is below 1e-9
        scale = count / MAX_SUMMED
        kept = MAX_SUMMED
    return count + draw_real_poisson(bits, scale * mixed_rate(bits, <int64_t> kept, exponent))


def fill(object bit_generator, const int64_t[::1] count, const double[::1] exponent, int64_t[::1] out):
    """Write one draw per entry."""
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t i
    with bit_generator.lock, nogil:
        for i in range(out.shape[0]):
            out[i] = draw_sum_log(bits, count[i], exponent[i])


def fill_real(object bit_generator, const double[::1] count, const double[::1] exponent, double[::1] out):
    """Write one draw per entry, for counts that may exceed int64 and are capped at 1e100."""
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t i
    with bit_generator.lock, nogil:
        for i in range(out.shape[0]):
            out[i] = draw_real_sum_log(bits, count[i], exponent[i])
