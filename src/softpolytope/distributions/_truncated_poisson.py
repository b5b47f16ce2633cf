"""Zero-truncated Poisson law: draws, pmf and moments."""

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.special import gammaln

from softpolytope._typing import CountArray, FloatArray
from softpolytope.distributions._arguments import MAX_RATE, Moments, Size, draw, validate_count, validate_real
from softpolytope.distributions._kernels import truncated_poisson as _truncated_poisson

_RATE_RULE = "finite, >= 0 and below 2**62, so that the draw fits an int64"


def truncated_poisson(rate: ArrayLike, rng: Generator, size: Size = None) -> CountArray:
    """Draw N ~ Poisson(rate) given N >= 1.

    Parameters
    ----------
    rate : array_like of float
        Finite, >= 0 and below 2**62; rate 0 means the limit, which is always 1.
    rng : numpy.random.Generator
        Source of the random numbers.
    size : int or tuple of int, optional
        Shape of the result; by default, the shape of `rate`.

    Returns
    -------
    ndarray or int
        The draws.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.distributions import truncated_poisson
    >>> int(truncated_poisson(1e-300, np.random.default_rng(0)))
    1
    """
    rates = validate_real("rate", rate, _RATE_RULE, 0.0, MAX_RATE)
    return draw(_truncated_poisson.fill, (rates,), rng, size, np.int64)


def truncated_poisson_pmf(value: ArrayLike, rate: ArrayLike) -> FloatArray:
    """Return P(N = value | N >= 1) for N ~ Poisson(rate).

    Examples
    --------
    >>> from softpolytope.distributions import truncated_poisson_pmf
    >>> round(float(truncated_poisson_pmf(1, 1.0)), 6)
    0.581977
    """
    values = validate_count("value", value).astype(np.float64)
    rates = validate_real("rate", rate, _RATE_RULE, 0.0, MAX_RATE)
    safe = np.where(rates > 0.0, rates, 1.0)
    log_mass = np.log(-np.expm1(-safe))
    log_pmf = values * np.log(safe) - gammaln(values + 1.0) - safe - log_mass
    pmf = np.where(rates > 0.0, np.exp(log_pmf), values == 1.0)
    return np.where(values >= 1.0, pmf, 0.0)[()]


def truncated_poisson_moments(rate: ArrayLike) -> Moments:
    """Return mean, variance and third cumulant of Poisson(rate), given that it is positive.

    Examples
    --------
    >>> from softpolytope.distributions import truncated_poisson_moments
    >>> round(float(truncated_poisson_moments(1.0).mean), 6)
    1.581977
    """
    rates = validate_real("rate", rate, _RATE_RULE, 0.0, MAX_RATE)
    small = rates < 0.05
    # The mean is r + excess. In terms of the excess nothing cancels for large rates.
    with np.errstate(over="ignore"):
        excess = np.where(small, 1.0, rates / np.expm1(np.where(small, 1.0, rates)))
    mean = rates + excess
    variance = mean * (1.0 - excess)
    third = mean * (1.0 - 3.0 * excess + rates * excess + 2.0 * excess**2)
    # By the Bernoulli numbers, mean = 1 + r/2 + r^2/12 - r^4/720 + r^6/30240, and each further
    # cumulant is r times the derivative of the last; the closed forms above cancel for small rates.
    r = np.where(small, rates, 0.0)
    square = r * r
    mean = np.where(small, 1.0 + r / 2 + square / 12 - square**2 / 720 + square**3 / 30240, mean)
    variance = np.where(small, r / 2 + square / 6 - square**2 / 180 + square**3 / 5040, variance)
    third = np.where(small, r / 2 + square / 3 - square**2 / 45 + square**3 / 840, third)
    return Moments(mean[()], variance[()], third[()])
