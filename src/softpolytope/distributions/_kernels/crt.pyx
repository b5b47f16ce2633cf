"""Number of tables in a Chinese restaurant process: a sum of Bernoulli(c / (c + j)) over customers j < count.

Three exact samplers share the work: a loop over customers, a walk from one new table to the next, and a walk over the
customers who sit down at an occupied table ("returns"). Their costs grow with the count, the tables and the returns.
Where all three numbers are large, customers are binned so finely that c / (c + j) varies little within a bin. A bin
becomes two binomials that match the first two power sums of its probabilities exactly, and the third up to the rounding
of their sizes. The total variation distance from the exact law is then below 1e-9 (tested against the convolution of
all Bernoullis).
"""

from libc.math cimport ceil, exp, expm1, floor, log, log1p, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_exponential, random_standard_uniform

from softpolytope.distributions._kernels.bits cimport bits_of
from softpolytope.distributions._kernels.counts cimport draw_binomial, draw_real_poisson

cdef enum:
    MAX_LOOP = 1 << 14  # customers that are visited one by one
    MAX_STEPS = 2000  # expected steps of a walk

# Ratio of c + j between the ends of a bin.
cdef double BIN_RATIO = 1.09
# Customers that an int64 counts safely.
cdef double MAX_SEATED = 4e18


cdef int64_t loop_over_customers(bitgen_t* bits, int64_t count, double concentration) noexcept nogil:
    cdef int64_t tables = 1, seated
    for seated in range(1, count):
        tables += random_standard_uniform(bits) * (concentration + seated) < concentration
    return tables


cdef int64_t walk_over_tables(bitgen_t* bits, int64_t count, double concentration) noexcept nogil:
    """Count the new tables: jump to the next candidate under a larger, invertible hazard, and accept by the ratio.

    The hazard 1 - ((j + s) / (j + s + 1))^c is never below c / (c + j) with s = 0 for c >= 1 (the
    inequality of Bernoulli) and s = (c - 1) / 2 for c < 1 (c artanh(z) >= artanh(c z)).
    """
    cdef double shift = 0.0 if concentration >= 1.0 else 0.5 * (concentration - 1.0)
    cdef double place = 1.0, hazard
    cdef int64_t tables = 1
    while True:
        place = floor((place + shift) * exp(random_standard_exponential(bits) / concentration) - shift)
        if not place < count:
            return tables
        hazard = -expm1(-concentration * log1p(1.0 / (place + shift)))
        if random_standard_uniform(bits) * hazard * (concentration + place) < concentration:
            tables += 1
        place += 1.0


cdef int64_t walk_over_returns(bitgen_t* bits, int64_t count, double concentration) noexcept nogil:
    """Subtract the customers who open no table, found under the larger hazard 1 - exp(-j / c)."""
    cdef double place = 1.0, target, hazard
    cdef int64_t tables = count
    while True:
        # The probability of no candidate in [place, b) is exp(-(b (b - 1) - place (place - 1)) / (2 c)).
        target = place * (place - 1.0) + 2.0 * concentration * random_standard_exponential(bits)
        place = floor(0.5 + sqrt(0.25 + target))
        if not place < count:
            return tables
        hazard = -expm1(-place / concentration)
        if random_standard_uniform(bits) * hazard * (concentration + place) < place:
            tables -= 1
        place += 1.0


cdef double digamma_gap(double start, double stop) noexcept nogil:
    """Return digamma(stop) - digamma(start) by the asymptotic series, for start >= 8."""
    cdef double a = 1.0 / start, b = 1.0 / stop, a2 = a * a, b2 = b * b
    return (
        log1p((stop - start) / start) + 0.5 * (a - b)
        + (a2 * (1.0 / 12.0 - a2 * (1.0 / 120.0 - a2 * (1.0 / 252.0 - a2 / 240.0))))
        - (b2 * (1.0 / 12.0 - b2 * (1.0 / 120.0 - b2 * (1.0 / 252.0 - b2 / 240.0))))
    )


cdef double trigamma(double x) noexcept nogil:
    """Return trigamma(x) by its asymptotic series, for x >= 8."""
    cdef double a = 1.0 / x, a2 = a * a
    return a + 0.5 * a2 + a * a2 * (1.0 / 6.0 - a2 * (1.0 / 30.0 - a2 * (1.0 / 42.0 - a2 / 30.0)))


cdef struct Bin:
    # Customers in two groups, and the probability with which those of each sit down at an occupied table.
    double stop
    int64_t high
    int64_t low
    double high_returning
    double low_returning


cdef Bin next_bin(double start, double count, double concentration) noexcept nogil:
    """Return the bin of customers that begins with customer `start`."""
    cdef Bin bin
    cdef double size, base = concentration + start, x, deficit, spread, skewness, share, returning
    bin.stop = ceil(start + base * (BIN_RATIO - 1.0))
    if bin.stop > count:
        bin.stop = count
    size = bin.stop - start
    x = size / base
    # With y = (c + j) / base: deficit = 1 - mean(1 / y), spread = variance(1 / y) over the bin. Short
    # bins use the series, where the closed forms would cancel.
    if x < 1e-4:
        deficit = 0.5 * (size - 1.0) / base - (size - 1.0) * (2.0 * size - 1.0) / (6.0 * base * base)
        deficit += x * x * x * (0.25 - 0.2 * x)
        spread = (size * size - 1.0) / (12.0 * base * base) * (1.0 - 2.0 * x)
    else:
        deficit = 1.0 - base * digamma_gap(base, base + size) / size
        spread = base * base * (trigamma(base) - trigamma(base + size)) / size
        spread -= (1.0 - deficit) * (1.0 - deficit)
    returning = (start + concentration * deficit) / base
    # 1 / y has skewness close to this; a two-point law of that skewness has `share` at its upper point.
    skewness = 0.4 * sqrt(3.0) * x / (1.0 + 0.5 * x)
    share = 0.5 - 0.5 * skewness / sqrt(4.0 + skewness * skewness)
    bin.high = <int64_t> floor(size * share + 0.5)
    bin.low = <int64_t> size - bin.high
    bin.high_returning = bin.low_returning = returning
    if bin.high > 0 and bin.low > 0 and spread > 0.0:
        spread = concentration / base * sqrt(spread)
        bin.high_returning -= spread * sqrt(<double> bin.low / bin.high)
        bin.low_returning += spread * sqrt(<double> bin.high / bin.low)
    return bin


cdef int64_t draw_in_bins(bitgen_t* bits, int64_t count, double concentration) noexcept nogil:
    cdef double start = 0.0
    cdef int64_t tables = count
    cdef Bin bin
    while start < count:
        bin = next_bin(start, <double> count, concentration)
        tables -= draw_binomial(bits, bin.high, bin.high_returning)
        tables -= draw_binomial(bits, bin.low, bin.low_returning)
        start = bin.stop
    return tables


cdef int64_t draw_crt(bitgen_t* bits, int64_t count, double concentration) noexcept nogil:
    """Draw the number of tables of `count` customers; concentration >= 0, and 0 seats all of them at one table."""
    cdef double tables, returns
    if count <= 1 or concentration <= 0.0:
        return count > 0
    if count <= 24:
        return loop_over_customers(bits, count, concentration)
    # Upper bounds of the expected numbers; a step of a walk costs about eight steps of the loop. A difference of
    # logarithms would vanish for a very large concentration, and the ratio would overflow for a very small one.
    if count < concentration:
        tables = 1.0 + concentration * log1p(count / concentration)
    else:
        tables = 1.0 + concentration * (log(concentration + count) - log(concentration))
    returns = 0.5 * count * (count / concentration)
    if 8.0 * tables < count and tables < MAX_STEPS:
        return walk_over_tables(bits, count, concentration)
    if 8.0 * returns < count and returns < MAX_STEPS:
        return walk_over_returns(bits, count, concentration)
    if count <= MAX_LOOP:
        return loop_over_customers(bits, count, concentration)
    return draw_in_bins(bits, count, concentration)


cdef double draw_real_crt(bitgen_t* bits, double count, double concentration) noexcept nogil:
    """Draw as `draw_crt`, with counts kept in doubles; customers beyond MAX_SEATED open tables at Poisson rates."""
    cdef double tables
    if count <= MAX_SEATED:
        return <double> draw_crt(bits, <int64_t> count, concentration)
    tables = <double> draw_crt(bits, <int64_t> MAX_SEATED, concentration)
    tables += draw_real_poisson(
        bits, concentration * log1p((count - MAX_SEATED) / (concentration + MAX_SEATED))
    )
    return tables if tables < count else count


def fill(object bit_generator, const int64_t[::1] count, const double[::1] concentration, int64_t[::1] out):
    """Write one draw per entry."""
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t i
    with bit_generator.lock, nogil:
        for i in range(out.shape[0]):
            out[i] = draw_crt(bits, count[i], concentration[i])


def bins(int64_t count, double concentration):
    """Return (customers, probability of sitting down at an occupied table) of every binomial; for tests."""
    cdef double start = 0.0
    cdef Bin bin
    groups = []
    while start < count:
        bin = next_bin(start, <double> count, concentration)
        groups += [(bin.high, bin.high_returning), (bin.low, bin.low_returning)]
        start = bin.stop
    return groups
