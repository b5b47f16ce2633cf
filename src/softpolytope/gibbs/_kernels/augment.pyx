"""Augmentation of a block of rows: Polya-Gamma weights, and the counts of the next level up.

Both take all experts at once and one layer per call. They are equations 39 and 40 of the paper (appendix C).
"""

from numpy.random cimport bitgen_t

from softpolytope.distributions._kernels.bits cimport bits_of
from softpolytope.distributions._kernels.crt cimport draw_real_crt
from softpolytope.distributions._kernels.polya_gamma cimport draw_polya_gamma, draw_truncated_sum


def draw_pg_weights(
    object bit_generator, const double[:, ::1] counts, const double[:, ::1] above, const double[::1] copies,
    const double[::1] weights, const double[:, ::1] linear_predictor, const double[:, ::1] log_activation,
    const int[::1] experts, double[:, ::1] pg_weights, double[:, ::1] slopes, int terms,
):
    """Draw omega ~ PG(m + theta, psi), and write the coefficient of x in the linear term of equation 41.

    That coefficient, `slopes`, is (m - theta) / 2 - omega log q. Input arrays are (rows, experts): counts m and log q
    of the level below the layer, latent rates theta of the level above. The results are (rows, those experts). An
    empty `above` means that the layer is the last one, where theta is copies * weights. `terms` > 0 draws the paper's
    truncated sum.
    """
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t row, column, expert
    cdef bint is_top = above.shape[0] == 0
    cdef double rate, shape, tilt, omega
    with bit_generator.lock, nogil:
        for row in range(counts.shape[0]):
            for column in range(experts.shape[0]):
                expert = experts[column]
                rate = copies[row] * weights[expert] if is_top else above[row, expert]
                shape = counts[row, expert] + rate
                # PG(0, psi) is zero, and m = theta = 0: the row says nothing about this expert.
                if shape <= 0.0:
                    pg_weights[row, column] = slopes[row, column] = 0.0
                    continue
                tilt = linear_predictor[row, expert] + log_activation[row, expert]
                if terms:
                    omega = draw_truncated_sum(bits, shape, tilt, terms)
                else:
                    omega = draw_polya_gamma(bits, shape, tilt)
                pg_weights[row, column] = omega
                slopes[row, column] = 0.5 * (counts[row, expert] - rate) - omega * log_activation[row, expert]


def draw_table_counts(
    object bit_generator, const double[:, ::1] counts, const double[:, ::1] above, const double[::1] copies,
    const double[::1] weights, double[:, ::1] out,
):
    """Draw the counts of the next level up, CRT(m, theta above); shapes and `above` as in `draw_pg_weights`."""
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t row, expert
    cdef bint is_top = above.shape[0] == 0
    with bit_generator.lock, nogil:
        for row in range(counts.shape[0]):
            for expert in range(counts.shape[1]):
                if counts[row, expert] <= 0.0:
                    out[row, expert] = 0.0
                else:
                    out[row, expert] = draw_real_crt(
                        bits, counts[row, expert], copies[row] * weights[expert] if is_top else above[row, expert]
                    )
