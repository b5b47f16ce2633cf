"""Binomial and Poisson draws that stay exact for any count an int64 can hold.

NumPy's own samplers compare sums of terms of the size of the count times its logarithm, whose rounding errors affect
the acceptance test of large counts: a million Poisson(1e15) draws have a variance that is 26 standard errors too large,
and binomials of 1e18 trials with p = 1e-15 are as wrong (both are controls in the tests). Its rejection sampler for
binomials is wrong in the tails for any count (docs/laws.md), so only its inversion is used. Above a safe size the draws
here use transformed rejection with the log probabilities written as saddle-point deviances (Loader 2000), which are
small numbers computed to full relative precision.
"""

from libc.math cimport fabs, floor, lgamma, log, log1p, sqrt
from libc.stdint cimport INT64_MAX, int64_t
from libc.string cimport memset
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport (
    binomial_t,
    random_binomial,
    random_poisson,
    random_standard_exponential,
    random_standard_normal,
    random_standard_uniform,
)

from softpolytope.distributions._kernels.bits cimport bits_of

cdef enum:
    # Below these sizes rounding in NumPy's samplers is negligible; up to this mean its binomials are inversions.
    NUMPY_BINOMIAL_LIMIT = 1 << 26
    NUMPY_INVERSION_LIMIT = 30
    NUMPY_POISSON_LIMIT = 1 << 20

cdef double HALF_LOG_TWO_PI = 0.91893853320467274178
cdef double MAX_COUNT = 9223372036854774784.0  # the largest double below 2**63
# Counts and rates from here on are drawn as doubles.
cdef double REAL_LIMIT = 4.0e18
# Up to this probability a binomial is replaced by a Poisson, whose total variation distance is at most p.
cdef double RARE = 1e-7
cdef double MAX_REAL = 1e100


cdef int64_t as_count(double value) noexcept nogil:
    """Convert a non-negative double to a count, capped at the largest int64."""
    if value >= MAX_COUNT:
        return INT64_MAX
    return <int64_t> value


cdef double deviance(double value, double mean) noexcept nogil:
    """Return value log(value / mean) + mean - value, without cancellation near value = mean."""
    cdef double gap = value - mean, ratio, square, term, total, previous
    cdef int power
    if value <= 0.0:
        return mean
    if fabs(gap) > 0.1 * (value + mean):
        return value * log(value / mean) - gap
    # log(value / mean) = 2 artanh(ratio), summed until it no longer changes.
    ratio = gap / (value + mean)
    square = ratio * ratio
    total = gap * ratio
    term = 2.0 * value * ratio
    for power in range(3, 1000, 2):
        term *= square
        previous = total
        total += term / power
        if total == previous:
            break
    return total


cdef double stirling_error(double count) noexcept nogil:
    """Return log(count!) minus the leading terms of Stirling's formula."""
    cdef double square
    if count < 16.0:
        return lgamma(count + 1.0) - (count + 0.5) * log(count) + count - HALF_LOG_TWO_PI
    square = count * count
    return (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / square) / square) / square) / count


cdef double log_poisson_pmf(double count, double rate) noexcept nogil:
    if count <= 0.0:
        return -rate
    return -stirling_error(count) - deviance(count, rate) - HALF_LOG_TWO_PI - 0.5 * log(count)


cdef double log_binomial_pmf(double value, double count, double probability) noexcept nogil:
    """Return the log pmf, for 0 < probability <= 1/2."""
    cdef double rest = count - value
    if value <= 0.0:
        return count * log1p(-probability)
    if rest <= 0.0:
        return count * log(probability)
    return (
        stirling_error(count) - stirling_error(value) - stirling_error(rest)
        - deviance(value, count * probability) - deviance(rest, count * (1.0 - probability))
        - HALF_LOG_TWO_PI + 0.5 * (log(count / value) - log(rest))
    )


cdef int64_t draw_large_poisson(bitgen_t* bits, double rate) noexcept nogil:
    """Draw by transformed rejection with squeeze, for large rates (Hoermann 1993, PTRS)."""
    cdef double b = 0.931 + 2.53 * sqrt(rate)
    cdef double a = -0.059 + 0.02483 * b
    cdef double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    cdef double center = 0.9277 - 3.6224 / (b - 2.0)
    cdef double u, v, distance, count
    while True:
        u = random_standard_uniform(bits) - 0.5
        v = random_standard_uniform(bits)
        distance = 0.5 - fabs(u)
        if distance <= 0.0:
            continue
        count = floor((2.0 * a / distance + b) * u + rate + 0.43)
        if distance >= 0.07 and v <= center:
            return as_count(count)
        if count < 0.0 or (distance < 0.013 and v > distance):
            continue
        if log(v * inverse_alpha / (a / (distance * distance) + b)) <= log_poisson_pmf(count, rate):
            return as_count(count)


cdef int64_t draw_large_binomial(bitgen_t* bits, double count, double probability) noexcept nogil:
    """Draw by transformed rejection with squeeze, for mean >= 10 and p <= 1/2 (Hoermann 1993, BTRS)."""
    cdef double spread = sqrt(count * probability * (1.0 - probability))
    cdef double b = 1.15 + 2.53 * spread
    cdef double a = -0.0873 + 0.0248 * b + 0.01 * probability
    cdef double middle = count * probability + 0.5
    cdef double center = 0.92 - 4.2 / b
    cdef double alpha = (2.83 + 5.1 / b) * spread
    cdef double log_mode = log_binomial_pmf(floor((count + 1.0) * probability), count, probability)
    cdef double u, v, distance, value
    while True:
        u = random_standard_uniform(bits) - 0.5
        v = random_standard_uniform(bits)
        distance = 0.5 - fabs(u)
        if distance <= 0.0:
            continue
        value = floor((2.0 * a / distance + b) * u + middle)
        if value < 0.0 or value > count:
            continue
        if distance >= 0.07 and v <= center:
            return as_count(value)
        v = log(v * alpha / (a / (distance * distance) + b))
        if v <= log_binomial_pmf(value, count, probability) - log_mode:
            return as_count(value)


cdef int64_t draw_rare_binomial(bitgen_t* bits, double count, double probability) noexcept nogil:
    """Draw the waiting times between successes; costs about count * probability exponentials.

    Each trial succeeds at an exponential time, and counts as a success if that is before -log(1 - p).
    """
    cdef double horizon = -log1p(-probability), elapsed = 0.0
    cdef int64_t successes = 0
    while True:
        elapsed += random_standard_exponential(bits) / (count - successes)
        if elapsed > horizon or successes >= count:
            return successes
        successes += 1


cdef int64_t draw_binomial(bitgen_t* bits, int64_t count, double probability) noexcept nogil:
    """Draw the number of successes in `count` trials; the probability is assumed to lie in [0, 1]."""
    cdef binomial_t workspace
    # The negated comparison also catches NaN, with which the loops below would never end.
    if count <= 0 or not probability > 0.0:
        return 0
    if probability >= 1.0:
        return count
    if probability > 0.5:
        return count - draw_binomial(bits, count, 1.0 - probability)
    if count <= NUMPY_BINOMIAL_LIMIT and count * probability <= NUMPY_INVERSION_LIMIT:
        memset(&workspace, 0, sizeof(binomial_t))
        return random_binomial(bits, probability, count, &workspace)
    if count * probability < 10.0:
        return draw_rare_binomial(bits, <double> count, probability)
    return draw_large_binomial(bits, <double> count, probability)


cdef int64_t draw_poisson(bitgen_t* bits, double rate) noexcept nogil:
    """Draw Poisson(rate), capped at the largest int64."""
    if not rate > 0.0:
        return 0
    if rate <= NUMPY_POISSON_LIMIT:
        return random_poisson(bits, rate)
    if rate >= MAX_COUNT:
        return as_count(rate)
    return draw_large_poisson(bits, rate)


cdef double draw_real_binomial(bitgen_t* bits, double count, double probability) noexcept nogil:
    """Draw a binomial of a count kept in a double; beyond int64 its total variation distance is below 1e-7."""
    cdef double mean
    if count < REAL_LIMIT:
        return <double> draw_binomial(bits, <int64_t> count, probability)
    mean = count * probability
    # A Poisson law is within p in total variation. Otherwise there are at most 4e24 trials, whose rounding to a double
    # changes the log pmf by about 4e24 2^-106 / 2 = 2e-8; with many more trials the pmf would lose its digits.
    if probability < RARE:
        return draw_real_poisson(bits, mean)
    if mean < 0.1 * REAL_LIMIT:
        return <double> draw_large_binomial(bits, count, probability)
    return floor(mean + sqrt(mean * (1.0 - probability)) * random_standard_normal(bits))


cdef double draw_real_poisson(bitgen_t* bits, double rate) noexcept nogil:
    """Draw a Poisson count as a double; beyond int64 it is normal to within 1e-9, and it is capped at MAX_REAL."""
    if rate < REAL_LIMIT:
        return <double> draw_poisson(bits, rate)
    if not rate < MAX_REAL:
        return MAX_REAL
    return floor(rate + sqrt(rate) * random_standard_normal(bits))


def fill_binomial(object bit_generator, const int64_t[::1] count, const double[::1] probability, int64_t[::1] out):
    """Write one binomial draw per entry."""
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t i
    with bit_generator.lock, nogil:
        for i in range(out.shape[0]):
            out[i] = draw_binomial(bits, count[i], probability[i])


def fill_real_binomial(object bit_generator, const double[::1] count, const double[::1] probability, double[::1] out):
    """Write one binomial draw per entry, for counts that may exceed int64."""
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t i
    with bit_generator.lock, nogil:
        for i in range(out.shape[0]):
            out[i] = draw_real_binomial(bits, count[i], probability[i])


def fill_poisson(object bit_generator, const double[::1] rate, int64_t[::1] out):
    """Write one Poisson draw per entry."""
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t i
    with bit_generator.lock, nogil:
        for i in range(out.shape[0]):
            out[i] = draw_poisson(bits, rate[i])
