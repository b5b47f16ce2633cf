"""Sum of logarithmic variates: draws, pmf and moments."""

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from softpolytope._typing import CountArray, FloatArray
from softpolytope.distributions._arguments import MAX_COUNT, Moments, Size, draw, validate_count, validate_real
from softpolytope.distributions._kernels import sum_log as _sum_log


def sum_log(count: ArrayLike, probability: ArrayLike, rng: Generator, size: Size = None) -> CountArray:
    """Draw the sum of `count` logarithmic variates, P(v) proportional to probability^v / v, v >= 1.

    The cost is bounded for all arguments. The draw is exact for counts up to 64; for longer sums the
    characteristic function of each summand is within 1e-12 of the exact one.

    Parameters
    ----------
    count : array_like of int
        Number of summands, from 0 to the largest int64.
    probability : array_like of float
        In [0, 1); 0 gives summands that are always 1.
    rng : numpy.random.Generator
        Source of the random numbers.
    size : int or tuple of int, optional
        Shape of the result; by default, the shape to which the arguments broadcast.

    Returns
    -------
    ndarray or int
        The draws.

    Raises
    ------
    OverflowError
        If a sum exceeds the largest int64.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.distributions import sum_log
    >>> int(sum_log(7, 0.0, np.random.default_rng(0)))
    7
    """
    draws = draw(_sum_log.fill, _validated(count, probability), rng, size, np.int64)
    if np.equal(draws, MAX_COUNT).any():
        raise OverflowError(
            "A draw of sum_log exceeds the largest int64. Use a smaller count, or a probability further from 1."
        )
    return draws


def sum_log_pmf(count: int, probability: float, largest: int) -> FloatArray:
    """Return P(sum = 0..largest), by the recursion over the sum: O(count * largest) operations.

    The weights are count! |s(v, count)| / v! p^v / (-log(1 - p))^count, s a Stirling number of the first kind.

    Examples
    --------
    >>> from softpolytope.distributions import sum_log_pmf
    >>> sum_log_pmf(1, 0.5, 3).round(4).tolist()
    [0.0, 0.7213, 0.1803, 0.0601]
    """
    top = int(validate_count("largest", largest))
    counts, exponents = _validated(count, probability)
    summands, exponent = int(counts), float(exponents)
    pmf = np.zeros(top + 1)
    if exponent == 0.0 or summands == 0:
        if summands <= top:
            pmf[summands] = 1.0
        return pmf
    p = float(np.asarray(probability, dtype=np.float64))
    # row[n] = P(sum of n = v), up to the factor exponent^n; the derivative of the generating function gives
    # v P_n(v) = (v - 1) p P_n(v - 1) + n p P_{n-1}(v - 1) / exponent.
    row = np.zeros(summands + 1)
    row[0] = 1.0
    orders = np.arange(1, summands + 1)
    for value in range(1, top + 1):
        following = np.zeros_like(row)
        following[1:] = p * ((value - 1) * row[1:] + orders * row[:-1] / exponent) / value
        row = following
        pmf[value] = row[summands]
    return pmf


def sum_log_moments(count: ArrayLike, probability: ArrayLike) -> Moments:
    """Return mean, variance and third cumulant of the sum.

    Examples
    --------
    >>> from softpolytope.distributions import sum_log_moments
    >>> round(float(sum_log_moments(2, 0.5).mean), 6)
    2.88539
    """
    counts, exponent = _validated(count, probability)
    # A summand is 1 + Poisson(E v), E exponential and v = e^{exponent U} - 1, so the factorial moments
    # of its excess over 1 are n! E[v^n].
    first, second, third = _odds_moments(exponent)
    raw = (first, 2.0 * second + first, 6.0 * third + 6.0 * second + first)
    variance = raw[1] - raw[0] ** 2
    third_cumulant = raw[2] - 3.0 * raw[1] * raw[0] + 2.0 * raw[0] ** 3
    return Moments(counts * (1.0 + raw[0]), counts * variance, counts * third_cumulant)


def _validated(count: ArrayLike, probability: ArrayLike) -> tuple[CountArray, FloatArray]:
    """Return counts and exponents -log(1 - probability), which the kernel takes."""
    counts = validate_count("count", count)
    return counts, -np.log1p(-validate_real("probability", probability, "a probability in [0, 1)", 0.0, 1.0))


def _odds_moments(exponent: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return E[(e^{exponent U} - 1)^n] for n = 1, 2, 3 and U uniform on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    # The integrand is entire and positive: 64 nodes are exact to rounding up to exponent 37, the
    # largest a probability below 1 can give, and nothing cancels near 0.
    odds = np.expm1(exponent[..., None] * 0.5 * (nodes + 1.0))
    first, second, third = ((odds**power) @ (0.5 * weights) for power in (1, 2, 3))
    return first, second, third
