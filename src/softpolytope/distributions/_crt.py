"""Number of tables in a Chinese restaurant process: draws, pmf and moments."""

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from softpolytope._typing import CountArray, FloatArray
from softpolytope.distributions._arguments import Moments, Size, draw, validate_count, validate_real
from softpolytope.distributions._kernels import crt as _crt

# Customers whose terms are summed one by one; an integral stands for the terms of later customers.
_N_SUMMED = 4096


def crt(count: ArrayLike, concentration: ArrayLike, rng: Generator, size: Size = None) -> CountArray:
    """Draw the number of tables taken by `count` customers.

    The law is that of a sum of Bernoulli(concentration / (concentration + j)), j < count. The cost is bounded for all
    arguments. The draw is exact for counts up to 16,384, and for any count if the expected number of tables, or of
    customers who open no table, is below 2,000. Elsewhere the total variation distance from the exact law is below
    1e-9, not counting the error of the binomials, which are NumPy's up to 2^26 trials (docs/laws.md).

    Parameters
    ----------
    count : array_like of int
        Number of customers, from 0 to the largest int64.
    concentration : array_like of float
        Finite and >= 0; 0 seats everybody at one table.
    rng : numpy.random.Generator
        Source of the random numbers.
    size : int or tuple of int, optional
        Shape of the result; by default, the shape to which the arguments broadcast.

    Returns
    -------
    ndarray or int
        The draws.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.distributions import crt
    >>> int(crt(1, 0.7, np.random.default_rng(0)))
    1
    """
    return draw(_crt.fill, _validated(count, concentration), rng, size, np.int64)


def crt_pmf(count: int, concentration: float) -> FloatArray:
    """Return P(tables = 0..count), by convolving the Bernoulli laws: O(count^2) operations.

    Examples
    --------
    >>> from softpolytope.distributions import crt_pmf
    >>> crt_pmf(2, 1.0).tolist()
    [0.0, 0.5, 0.5]
    """
    counts, concentrations = _validated(count, concentration)
    customers, weight = int(counts), float(concentrations)
    pmf = np.zeros(customers + 1)
    pmf[0] = 1.0
    for seated in range(customers):
        # The first customer opens a table at any concentration, zero included.
        new = weight / (weight + seated) if seated else 1.0
        pmf[1 : seated + 2] = pmf[1 : seated + 2] * (1.0 - new) + pmf[: seated + 1] * new
        pmf[0] *= 1.0 - new
    return pmf


def crt_moments(count: ArrayLike, concentration: ArrayLike) -> Moments:
    """Return mean, variance and third cumulant of the number of tables.

    Examples
    --------
    >>> from softpolytope.distributions import crt_moments
    >>> float(crt_moments(3, 1.0).mean)  # 1 + 1/2 + 1/3
    1.8333333333333333
    """
    counts, concentrations = np.broadcast_arrays(*_validated(count, concentration))
    cumulants = np.empty((3, *counts.shape))
    for index in np.ndindex(counts.shape):
        cumulants[(slice(None), *index)] = _cumulants(int(counts[index]), float(concentrations[index]))
    return Moments(*(cumulants[order][()] for order in range(3)))


def _validated(count: ArrayLike, concentration: ArrayLike) -> tuple[CountArray, FloatArray]:
    return (
        validate_count("count", count),
        validate_real("concentration", concentration, "finite and >= 0", lower=0.0),
    )


def _cumulants(count: int, concentration: float) -> FloatArray:
    """Sum the Bernoulli cumulants; no term is ever subtracted from one of its own size."""
    if count == 0 or concentration == 0.0:
        return np.array([float(count > 0), 0.0, 0.0])
    head = np.arange(1, min(count, _N_SUMMED), dtype=np.float64)
    total: FloatArray = np.array([1.0, 0.0, 0.0]) + _bernoulli_cumulants(head, concentration).sum(axis=1)
    if count <= _N_SUMMED:
        return total
    # Midpoint Euler-Maclaurin with the first derivative term: those left out are of relative order 1 / 4096^2.
    edges = np.array([_N_SUMMED - 0.5, count - 0.5])
    steps = _bernoulli_cumulants(edges + 0.5, concentration) - _bernoulli_cumulants(edges - 0.5, concentration)
    total += _integral(edges, concentration) - (steps[:, 1] - steps[:, 0]) / 24.0
    return total


def _bernoulli_cumulants(seated: FloatArray, concentration: float) -> FloatArray:
    new = concentration / (concentration + seated)
    old = seated / (concentration + seated)
    return np.stack([new, new * old, new * old * (old - new)])


def _integral(bounds: FloatArray, concentration: float) -> FloatArray:
    """Integrate the Bernoulli cumulants over customers, by a Gauss rule on each octave."""
    start, stop = bounds
    nodes, weights = np.polynomial.legendre.leggauss(20)
    n_octaves = int(np.ceil(np.log2(stop / start)))
    edges = start * (stop / start) ** (np.arange(n_octaves + 1) / n_octaves)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * (edges[1:] - edges[:-1])
    values = _bernoulli_cumulants(middle[:, None] + half[:, None] * nodes, concentration)
    result: FloatArray = np.einsum("cop,o,p->c", values, half, weights)
    return result
