"""Logarithm of a gamma variate: draws that never underflow, and moments."""

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.special import digamma, polygamma

from softpolytope._typing import FloatArray
from softpolytope.distributions._arguments import Moments, Size, draw, validate_real
from softpolytope.distributions._kernels import gamma as _gamma


def log_standard_gamma(shape: ArrayLike, rng: Generator, size: Size = None) -> FloatArray:
    """Draw log G for G ~ Gamma(shape, rate=1).

    Half of all gamma variates of shape 1e-3 are below the smallest double; their logarithms are ordinary numbers.

    Parameters
    ----------
    shape : array_like of float
        Finite and >= 0; shape 0 gives -inf.
    rng : numpy.random.Generator
        Source of the random numbers.
    size : int or tuple of int, optional
        Shape of the result; by default, the shape of `shape`.

    Returns
    -------
    ndarray or float
        The draws.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.distributions import log_standard_gamma
    >>> bool(np.isfinite(log_standard_gamma(1e-300, np.random.default_rng(0))))
    True
    """
    shapes = validate_real("shape", shape, "finite and >= 0", lower=0.0)
    return draw(_gamma.fill, (shapes,), rng, size, np.float64)


def log_standard_gamma_moments(shape: ArrayLike) -> Moments:
    """Return mean, variance and third cumulant of log G, the polygamma functions of the shape.

    Examples
    --------
    >>> from softpolytope.distributions import log_standard_gamma_moments
    >>> round(float(log_standard_gamma_moments(1.0).mean), 6)
    -0.577216
    """
    shapes = validate_real("shape", shape, "finite and > 0", lower=np.nextafter(0.0, 1.0))
    return Moments(digamma(shapes), polygamma(1, shapes)[()], polygamma(2, shapes)[()])
