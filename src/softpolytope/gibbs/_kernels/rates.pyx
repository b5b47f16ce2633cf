"""Latent rates theta of a block of rows, for all experts at once and one level per call (equation 42)."""

from libc.math cimport INFINITY, exp, fmin, log
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_exponential, random_standard_gamma

from softpolytope.distributions._kernels.bits cimport bits_of


# The largest count, too.
cdef double MAX_RATE = 1e100
# e^-800 is zero as a double. Times a large scale it may be a rate again, but a rate below e^-400 changes neither the
# counts nor the shapes of the level below.
cdef double LOG_NO_POWER = -800.0
cdef double LOG_NO_RATE = -400.0


cdef inline double log_mean_scale(double predictor, double log_activation, double above) noexcept nogil:
    """Return the log of the scale, -log(e^{-x'beta} + q) = x'beta - q of the level above."""
    cdef double logit = predictor + log_activation
    # For large logits both terms of the difference are large and nearly equal.
    if logit > 20.0:
        return -log_activation - exp(-logit)
    return predictor - above


def draw_rates(
    object bit_generator, const double[:, ::1] counts, const double[:, ::1] above, const double[::1] copies,
    const double[::1] weights, const double[:, ::1] linear_predictor, const double[:, ::1] log_activation,
    const double[:, ::1] activation_above,
    double log_least_activation, const int[::1] experts, double[:, ::1] out, bint is_log,
):
    """Draw theta ~ Gamma(theta above + m, rate = e^{-x'beta} + q) of some experts, or log theta if `is_log`.

    This is equation 42 for theta instead of tau = theta q, which needs no division by q. Arrays are (rows, experts).
    `log_activation` is log q of the level itself, `activation_above` is q of the next level. An empty `above` means
    that this is the top level, where the rates above are copies * weights. A rate whose q is below the least activation
    is multiplied by their ratio: the paper divides tau by max(epsilon, q), which gives theta back unless q is small.
    """
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t row, column, expert
    cdef bint is_top = above.shape[0] == 0
    cdef double shape, log_scale, log_power, draw
    with bit_generator.lock, nogil:
        for row in range(out.shape[0]):
            for column in range(experts.shape[0]):
                expert = experts[column]
                shape = counts[row, expert]
                shape += copies[row] * weights[expert] if is_top else above[row, expert]
                if shape <= 0.0:
                    out[row, expert] = -INFINITY if is_log else 0.0
                    continue
                log_scale = log_mean_scale(
                    linear_predictor[row, expert], log_activation[row, expert], activation_above[row, expert]
                )
                log_scale += fmin(log_activation[row, expert] - log_least_activation, 0.0)
                # A gamma variate with a shape below one is U^(1/shape) times one with shape + 1. The power is drawn
                # first: if it underflows, as it does for the many tiny shapes, the gamma draw is not needed.
                if shape < 1.0:
                    log_power = -random_standard_exponential(bits) / shape
                    log_scale += log_power
                    if log_power < LOG_NO_POWER and log_scale < LOG_NO_RATE and not is_log:
                        out[row, expert] = 0.0
                        continue
                    shape += 1.0
                draw = random_standard_gamma(bits, shape)
                out[row, expert] = log(draw) + log_scale if is_log else fmin(draw * exp(log_scale), MAX_RATE)
