"""Polya-Gamma draws for any real shape.

PG(h, c) = sum_j d_j G_j, with G_j ~ Gamma(h, 1) and d_j = 1 / (2 pi^2 ((j - 1/2)^2 + c^2 / (4 pi^2))) (the paper's
appendix A).

Its jump measure is that of an inverse Gaussian, thinned: PG(h, c) is the inverse Gaussian with mean h / (2c) and shape
h^2 / 4, given that no jump was removed. So its density is the inverse Gaussian density times (1 + e^-c)^h S(x), with
the alternating series S in [0, 1] of `survival` below. Proposing the inverse Gaussian and accepting with probability
S(x) is exact for every h > 0, and a fraction (1 + e^-c)^-h of the proposals is accepted: nearly all of them for the
small shapes and large tilts of this model. The exponent h log(1 + e^-c) is called the load. Where it exceeds MAX_LOAD,
shapes up to MAX_EXACT_SHAPE are drawn as the sum of two halves, and larger ones as the exact first gamma term plus two
gammas. These two are the two-point Gauss rule of the other terms and match their first four cumulants. The distribution
function is then within 2e-7 of the exact one (tested by inverting the difference of the transforms).
"""

from libc.math cimport M_PI, cosh, exp, fabs, log1p, sqrt, tanh
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport (
    random_standard_gamma,
    random_standard_normal,
    random_standard_uniform,
)

from softpolytope.distributions._kernels.bits cimport bits_of

cdef enum:
    N_SERIES = 20

cdef double MAX_LOAD = 1.4  # about four proposals per draw, on average
cdef double MAX_EXACT_SHAPE = 4.0
# P(draw > 1e-12) < 4e5 * shape: below this shape no run will ever see a draw that matters.
cdef double NEGLIGIBLE_SHAPE = 1e-25
# The coefficient of variation is below the rounding unit.
cdef double DEGENERATE_CONCENTRATION = 1e32

cdef double[N_SERIES] TANH_SERIES


cdef void fill_tanh_series() noexcept:
    """Fill in the coefficients of t(u) = tanh(sqrt u) / sqrt u, from 2 u t' = 1 - t - u t^2."""
    cdef int n, i
    TANH_SERIES[0] = 1.0
    for n in range(1, N_SERIES):
        TANH_SERIES[n] = 0.0
        for i in range(n):
            TANH_SERIES[n] -= TANH_SERIES[i] * TANH_SERIES[n - 1 - i] / (2 * n + 1)


fill_tanh_series()


cdef void power_sums(double tilt, double* sums) noexcept nogil:
    """Write sums[n - 1] = sum_j d_j^n for n = 1..4; the n-th cumulant of PG(h, c) is h (n - 1)! times it."""
    cdef double half = 0.5 * tilt, u = half * half, t, sech_square, t1, t2, t3
    cdef int n
    if u < 0.25:
        t = t1 = t2 = t3 = 0.0
        for n in range(N_SERIES - 1, -1, -1):
            t = t * u + TANH_SERIES[n]
            if n >= 1:
                t1 = t1 * u + n * TANH_SERIES[n]
            if n >= 2:
                t2 = t2 * u + n * (n - 1) * TANH_SERIES[n]
            if n >= 3:
                t3 = t3 * u + n * (n - 1) * (n - 2) * TANH_SERIES[n]
    else:
        # Derivatives in u, written with sech^2, so that nothing cancels for large u.
        t = tanh(half) / half
        sech_square = 1.0 / cosh(half) if half < 350.0 else 0.0
        sech_square *= sech_square
        t1 = (sech_square - t) / (2.0 * u)
        t2 = -(3.0 * t1 + t * sech_square) / (2.0 * u)
        t3 = -(5.0 * t2 + sech_square * (t1 - t * t)) / (2.0 * u)
    sums[0] = t / 4.0
    sums[1] = -t1 / 8.0
    sums[2] = t2 / 32.0
    sums[3] = -t3 / 192.0


cdef double unit_mean(double tilt) noexcept nogil:
    """Return the mean of PG(1, tilt), tilt >= 0, with at most one exponential."""
    cdef double square, decay
    if tilt < 0.1:
        square = tilt * tilt
        return 0.25 - square * (1.0 / 48.0 - square * (1.0 / 480.0 - square * (17.0 / 80640.0)))
    decay = exp(-tilt)
    return 0.5 * (1.0 - decay) / ((1.0 + decay) * tilt)


cdef inline double gamma_scale(int term, double tilt) noexcept nogil:
    """Return the scale d_j of the gamma term j = `term`."""
    cdef double place = 2.0 * M_PI * (term - 0.5)
    return 2.0 / (place * place + tilt * tilt)


cdef double survival(double x, double shape) noexcept nogil:
    """Return S(x) = sum_n (-1)^n (shape)_n / n! (2n + shape) / shape exp(-n (n + shape) / (2x))."""
    cdef double total = 1.0, weight = 1.0, term
    cdef double step = exp(-1.0 / x), decay = exp(-(1.0 + shape) / (2.0 * x))
    cdef int n
    for n in range(1, 200):
        # weight = (-1)^n (shape)_n / n! exp(-n (n + shape) / (2x)), from its ratio to the previous one.
        weight *= -(n - 1 + shape) / n * decay
        decay *= step
        term = weight * (2 * n + shape) / shape
        total += term
        if fabs(term) < 1e-17:
            break
    return total


cdef double draw_by_rejection(bitgen_t* bits, double shape, double tilt) noexcept nogil:
    """Draw PG(shape, tilt) exactly, with (1 + e^-tilt)^shape proposals on average; shape must be positive."""
    cdef double half = 0.5 * shape, concentration = half * tilt
    cdef double square, ratio, x, u
    while True:
        # Inverse Gaussian by Michael, Schucany and Haas (1976): two roots of a quadratic in a squared normal. They
        # are divided by shape^2 / 4, and the smaller one is written as a reciprocal, so that neither tiny shapes nor
        # tiny tilts (where the mean is infinite) lose a digit.
        square = random_standard_normal(bits)
        square *= square
        ratio = 1.0 / (concentration + 0.5 * square + sqrt(square * (concentration + 0.25 * square)))
        u = random_standard_uniform(bits) * (1.0 + concentration * ratio)
        if u < 1.0:
            x = half * (half * ratio)
        else:
            x = 1.0 / (tilt * (tilt * ratio))
            u = random_standard_uniform(bits)
        # u is uniform here: the smaller root has probability 1 / (1 + concentration * ratio) >= 1/2.
        if 1.0 + shape > x * (80.0 + 2.0 * shape):
            return x  # S(x) > 1 - 1e-17, because log(2 + shape) < 0.7 + shape / 2
        if not x < 20.0 + shape:
            continue  # S(x) < 1e-30, by Chernoff's bound on the tail of PG(shape, 0)
        # For x <= 1 the terms decrease from the second on, so S(x) is above its first two.
        if x <= 1.0 and u < 1.0 - (2.0 + shape) * exp(-0.5 * (1.0 + shape) / x):
            return x
        if u < survival(x, shape):
            return x


cdef void gamma_rule(double tilt, double* scales, double* weights) noexcept nogil:
    """Write scales and weights of three gammas: the first term, and the two-point Gauss rule of all other terms."""
    cdef double[4] rest
    cdef double first = gamma_scale(1, tilt), power = 1.0, determinant, linear, constant, root, large_mass
    cdef int n
    power_sums(tilt, rest)
    for n in range(4):
        power *= first
        rest[n] -= power
    # Nodes: zeros of the quadratic orthogonal to 1 and x under the measure with moments `rest`.
    determinant = rest[0] * rest[2] - rest[1] * rest[1]
    linear = (rest[0] * rest[3] - rest[1] * rest[2]) / determinant
    constant = (rest[1] * rest[3] - rest[2] * rest[2]) / determinant
    root = sqrt(linear * linear - 4.0 * constant)
    scales[0] = first
    scales[1] = 0.5 * (linear + root)
    scales[2] = constant / scales[1]
    large_mass = (rest[1] - scales[2] * rest[0]) / root
    weights[0] = 1.0
    weights[1] = large_mass / scales[1]
    weights[2] = (rest[0] - large_mass) / scales[2]


cdef double draw_by_cumulants(bitgen_t* bits, double shape, double tilt) noexcept nogil:
    """Draw one gamma variate per node of the rule; the first four cumulants are those of the law."""
    cdef double[3] scales
    cdef double[3] weights
    cdef double total = 0.0
    cdef int node
    gamma_rule(tilt, scales, weights)
    for node in range(3):
        total += scales[node] * random_standard_gamma(bits, shape * weights[node])
    return total


cdef double draw_polya_gamma(bitgen_t* bits, double shape, double tilt) noexcept nogil:
    """Draw PG(shape, tilt) for finite shape >= 0 and finite tilt."""
    cdef double half
    tilt = fabs(tilt)
    if shape < NEGLIGIBLE_SHAPE or shape * tilt > DEGENERATE_CONCENTRATION:
        return shape * unit_mean(tilt)
    # A shape of two has a load of at most 2 log 2 < 1.4, whatever the tilt.
    if shape <= 2.0 or shape * log1p(exp(-tilt)) <= MAX_LOAD:
        return draw_by_rejection(bits, shape, tilt)
    if shape <= MAX_EXACT_SHAPE:
        half = draw_by_rejection(bits, 0.5 * shape, tilt)
        return half + draw_by_rejection(bits, 0.5 * shape, tilt)
    return draw_by_cumulants(bits, shape, tilt)


cdef double draw_truncated_sum(bitgen_t* bits, double shape, double tilt, int terms) noexcept nogil:
    """Draw the paper's approximation: terms - 1 gammas, and one that matches mean and variance (appendix A)."""
    cdef double[4] sums
    cdef double total = 0.0, scale, mean, variance
    cdef int term
    tilt = fabs(tilt)
    if shape <= 0.0:
        return 0.0
    power_sums(tilt, sums)
    mean = sums[0]
    variance = sums[1]
    for term in range(1, terms):
        scale = gamma_scale(term, tilt)
        total += scale * random_standard_gamma(bits, shape)
        mean -= scale
        variance -= scale * scale
    # Where there are many terms, rounding may leave nothing of the mean or the variance.
    if mean <= 0.0:
        return total
    if variance <= 0.0:
        return total + shape * mean
    return total + variance / mean * random_standard_gamma(bits, shape * mean / variance * mean)


def fill(object bit_generator, const double[::1] shape, const double[::1] tilt, double[::1] out, int terms):
    """Write one draw per entry; terms = 0 means the default sampler."""
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t i
    with bit_generator.lock, nogil:
        if terms == 0:
            for i in range(out.shape[0]):
                out[i] = draw_polya_gamma(bits, shape[i], tilt[i])
        else:
            for i in range(out.shape[0]):
                out[i] = draw_truncated_sum(bits, shape[i], tilt[i], terms)


def fill_power_sums(const double[::1] tilt, double[:, ::1] out):
    """Write the four power sums of the gamma scales at each tilt."""
    cdef Py_ssize_t i
    for i in range(tilt.shape[0]):
        power_sums(fabs(tilt[i]), &out[i, 0])


def rule_of_gammas(double tilt):
    """Return the scales and weights of the three gammas drawn for large loads; for tests."""
    cdef double[3] scales
    cdef double[3] weights
    gamma_rule(fabs(tilt), scales, weights)
    return [scales[node] for node in range(3)], [weights[node] for node in range(3)]


def acceptance(double x, double shape):
    """Return S(x), the probability of accepting an inverse Gaussian proposal x; for tests."""
    return survival(x, shape)
