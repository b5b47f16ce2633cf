"""Total counts of a block of rows, and their split over experts and levels, in both scans (equations 37 and 38).

A row of weight w stands for w equal rows. A negative row multiplies the experts' weights by w. A positive row draws
floor(w) positive counts, and for the remaining fraction f uses (1 - e^-l)^f = E[1 - e^{-J l}], J ~ Sibuya(f): J copies
of the row, at least one of which has a count. The number of the first copy with a count is 1 + NB(1 - f, e^-l),
independently of J. Given that J is at least that number, J is that number plus a geometric variate whose success
probability has a beta law.
"""

from libc.math cimport INFINITY, exp, expm1, floor, log1p
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport (
    random_beta,
    random_standard_exponential,
    random_standard_gamma,
)

from softpolytope.distributions._kernels.bits cimport bits_of
from softpolytope.distributions._kernels.counts cimport draw_real_binomial, draw_real_poisson
from softpolytope.distributions._kernels.multinomial cimport split_count
from softpolytope.distributions._kernels.sum_log cimport draw_real_sum_log
from softpolytope.distributions._kernels.truncated_poisson cimport draw_truncated_poisson

cdef enum:
    # With rates up to 50, any of 1e100 copies exceeds this value with probability below 1e-20.
    MAX_VALUE = 300

# Larger rates are never zero in practice, and their counts may exceed what an int64 holds.
cdef double MAX_TRUNCATED = 1e15
# A probability so small that no run will ever see the event.
cdef double UNSEEN = 1e-20


cdef double draw_positive_count(bitgen_t* bits, double rate) noexcept nogil:
    """Draw Poisson(rate) given that it is positive, as a double of any size."""
    if rate < MAX_TRUNCATED:
        return <double> draw_truncated_poisson(bits, rate)
    return draw_real_poisson(bits, rate)


cdef int fill_odds_above(double rate, double copies, double* odds) noexcept nogil:
    """Fill odds[v] = P(v < N <= last) / P(N = v), N ~ Poisson(rate), for v < last, and return last.

    The probability that any of the copies of a positive N exceeds `last` is below UNSEEN.
    """
    # Bounds the expected number of copies at `last`.
    cdef double expected = copies * (rate / expm1(rate)) if rate > 1.0 else copies
    cdef int value, last = 1
    # Beyond twice the rate the pmf at least halves at each step: a value has more mass than all larger ones.
    while last < MAX_VALUE and not (expected < UNSEEN and last >= 2.0 * rate):
        last += 1
        expected *= rate / last
    odds[last] = 0.0
    # All terms are positive, so the smallest tail keeps its full relative precision.
    for value in range(last - 1, 0, -1):
        odds[value] = rate / (value + 1.0) * (1.0 + odds[value + 1])
    return last


cdef double draw_positive_counts(bitgen_t* bits, double rate, double copies) noexcept nogil:
    """Draw the sum of `copies` positive Poisson counts, at a cost bounded by MAX_VALUE binomials.

    More than 30 copies are distributed over the values 1, 2, ...: the number at a value is binomial, given the number
    not below it. Values that any copy exceeds with probability below 1e-20 are cut off. Besides that, the only errors
    are the rounding of the binomials' probabilities and, beyond int64, the errors of `draw_real_binomial`.
    """
    cdef double total = 0.0, left = copies, given
    cdef double[MAX_VALUE + 1] odds
    cdef int value, last
    if rate > 50.0:  # a zero has probability below 2e-22
        return draw_real_poisson(bits, copies * rate)
    if copies <= 30.0:
        while left > 0.0:
            total += draw_positive_count(bits, rate)
            left -= 1.0
        return total
    last = fill_odds_above(rate, copies, odds)
    for value in range(1, last):
        # The smaller of the two parts is drawn: a probability near 1 would have lost its digits to rounding.
        if odds[value] <= 1.0:
            given = draw_real_binomial(bits, left, odds[value] / (1.0 + odds[value]))
            total += (left - given) * value
            left = given
        else:
            given = draw_real_binomial(bits, left, 1.0 / (1.0 + odds[value]))
            total += given * value
            left -= given
        if left <= 0.0:
            return total
    return total + left * last


cdef double draw_fraction(bitgen_t* bits, double rate, double fraction, double* copies) noexcept nogil:
    """Draw the count of a positive row of weight 0 < fraction < 1, and write the number of its copies."""
    cdef double first, chance, last
    # The number of the first copy with a count. A negative binomial is a Poisson with a gamma rate.
    first = 1.0 + draw_real_poisson(bits, random_standard_gamma(bits, 1.0 - fraction) / expm1(rate))
    # The number of copies, which is geometric from there on (see the module docstring).
    chance = random_beta(bits, fraction, first - fraction)
    last = first + floor(random_standard_exponential(bits) / -log1p(-chance)) if chance > 0.0 else 1e100
    if last > 1e100:
        last = 1e100
    copies[0] = last
    # The first copy with a count is positive by definition, and the later ones are plain Poisson.
    return draw_positive_count(bits, rate) + draw_real_poisson(bits, (last - first) * rate)


cdef double largest_of(const double* values, Py_ssize_t n_values) noexcept nogil:
    cdef double largest = -INFINITY
    cdef Py_ssize_t i
    for i in range(n_values):
        if values[i] > largest:
            largest = values[i]
    return largest


def collapsed(
    object bit_generator, const unsigned char[::1] labels, const double[::1] row_weights,
    const double[::1] log_weights, const double[:, :, ::1] log_activations, const double[:, :, ::1] activations,
    double[:, :, ::1] counts, double[::1] copies, double[::1] scratch,
):
    """Draw the counts of all levels given the parameters, with every latent rate integrated out.

    The total is Poisson(lambda) given that it is positive, its split over the experts at the top level is multinomial
    in r_k q_ik, and each level below is m^(t) | m^(t+1) ~ SumLog(m^(t+1), 1 - e^-q^(t+1)).

    `log_activations` and `counts` are (levels, rows, experts), `activations` is q of all levels except the first, and
    `copies` the number of copies each row stands for in this sweep; `scratch` has room for 3 * experts doubles.
    """
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t row, expert, level, top = counts.shape[0] - 1, n_experts = counts.shape[2]
    cdef double* shares = &scratch[0]
    cdef double* weights = shares + n_experts
    cdef double* tails = weights + n_experts
    cdef double rate, largest, whole, extra, count
    for expert in range(n_experts):
        weights[expert] = exp(log_weights[expert])
    with bit_generator.lock, nogil:
        for row in range(counts.shape[1]):
            copies[row] = row_weights[row]
            if not labels[row]:
                for level in range(top + 1):
                    for expert in range(n_experts):
                        counts[level, row, expert] = 0.0
                continue
            rate = 0.0
            for expert in range(n_experts):
                shares[expert] = weights[expert] * activations[activations.shape[0] - 1, row, expert]
                rate += shares[expert]
            if rate < 1e-280:
                # The rates have underflowed, but their split still follows their logarithms.
                largest = -INFINITY
                for expert in range(n_experts):
                    extra = log_weights[expert] + log_activations[top, row, expert]
                    largest = extra if extra > largest else largest
                for expert in range(n_experts):
                    shares[expert] = exp(log_weights[expert] + log_activations[top, row, expert] - largest)
            whole = floor(row_weights[row])
            count = draw_positive_counts(bits, rate, whole) if whole > 0.0 else 0.0
            if row_weights[row] > whole:
                count += draw_fraction(bits, rate, row_weights[row] - whole, &extra)
                copies[row] = whole + extra
            split_count[double](bits, count, shares, n_experts, tails, &counts[top, row, 0])
            for level in range(top - 1, -1, -1):
                for expert in range(n_experts):
                    counts[level, row, expert] = draw_real_sum_log(
                        bits, counts[level + 1, row, expert], activations[level, row, expert]
                    ) if counts[level + 1, row, expert] > 0.0 else 0.0


def given_rates(
    object bit_generator, const unsigned char[::1] labels, const double[:, ::1] log_rates,
    const double[:, ::1] fallback, double[:, ::1] counts, double[::1] scratch,
):
    """Draw the bottom counts given the logs of the bottom latent rates (the paper's scan); arrays are (rows, experts).

    A positive row has an expert with counts at every level, whose log rate is finite. Only in the first sweep, which
    starts from counts of zero, may all rates of a row have underflowed; a single count is then split by the log rates
    `fallback`. `scratch` has room for 2 * experts doubles.
    """
    cdef bitgen_t* bits = bits_of(bit_generator)
    cdef Py_ssize_t row, expert, n_experts = counts.shape[1]
    cdef double* shares = &scratch[0]
    cdef double* tails = shares + n_experts
    cdef const double* logs
    cdef double largest, total, rate
    with bit_generator.lock, nogil:
        for row in range(counts.shape[0]):
            if not labels[row]:
                for expert in range(n_experts):
                    counts[row, expert] = 0.0
                continue
            logs = &log_rates[row, 0]
            # Shares relative to the largest rate, because all rates may be below the smallest double.
            largest = largest_of(logs, n_experts)
            if largest == -INFINITY:
                logs = &fallback[row, 0]
                largest = largest_of(logs, n_experts)
            total = 0.0
            for expert in range(n_experts):
                shares[expert] = exp(logs[expert] - largest)
                total += shares[expert]
            rate = total * exp(largest)
            split_count[double](bits, draw_positive_count(bits, rate), shares, n_experts, tails, &counts[row, 0])
