"""The number of tables in a Chinese restaurant: draws, pmf and moments."""

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from softpolytope._typing import CountArray, FloatArray
from softpolytope.distributions._arguments import (
    Moments,
    bit_generator_of,
    common_shape,
    count_argument,
    flat_counts,
    flat_reals,
    real_argument,
)
from softpolytope.distributions._kernels import crt as _crt

# Customers summed one by one before the sum turns into an integral.
_N_SUMMED = 4096


def crt(
    count: ArrayLike,
    concentration: ArrayLike,
    rng: Generator,
    size: int | tuple[int, ...] | None = None,
) -> CountArray:
    """Draw the number of tables taken by `count` customers.

    The law is that of a sum of Bernoulli(concentration / (concentration + j)), j < count. The cost is bounded,
    whatever the arguments. The draw is exact for counts up to 16,384, and at any count if the
    expected tables or the expected rest are below 2,000; elsewhere the total variation from the
    exact law is below 1e-9, but for the binomials, which are NumPy's up to 2^26 trials (docs/laws.md).

    Parameters
    ----------
    count : array_like of int
        Customers, from 0 to the largest int64.
    concentration : array_like of float
        Finite and >= 0; 0 seats everybody at one table.
    rng : numpy.random.Generator
        Where the randomness comes from.
    size : int or tuple of int, optional
        Shape of the result; by default that to which the arguments broadcast.

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
    counts = count_argument("count", count)
    concentrations = real_argument("concentration", concentration, "finite and >= 0", lower=0.0)
    bit_generator = bit_generator_of(rng)
    result_shape = common_shape(size, counts.shape, concentrations.shape)
    draws = np.empty(result_shape, dtype=np.int64)
    _crt.fill(
        bit_generator,
        flat_counts(counts, result_shape),
        flat_reals(concentrations, result_shape),
        draws.reshape(-1),
    )
    return draws[()]


def crt_pmf(count: int, concentration: float) -> FloatArray:
    """Return P(tables = 0..count), by convolving the Bernoulli laws: O(count^2) operations.

    Examples
    --------
    >>> from softpolytope.distributions import crt_pmf
    >>> crt_pmf(2, 1.0).tolist()
    [0.0, 0.5, 0.5]
    """
    customers = int(count_argument("count", count))
    weight = float(real_argument("concentration", concentration, "finite and >= 0", lower=0.0))
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
    counts, concentrations = np.broadcast_arrays(
        count_argument("count", count),
        real_argument("concentration", concentration, "finite and >= 0", lower=0.0),
    )
    cumulants = np.empty((3, *counts.shape))
    for index in np.ndindex(counts.shape):
        cumulants[(slice(None), *index)] = _cumulants(int(counts[index]), float(concentrations[index]))
    return Moments(*(cumulants[order][()] for order in range(3)))


def _cumulants(count: int, concentration: float) -> FloatArray:
    """Sum the Bernoulli cumulants; no term is ever subtracted from one of its own size."""
    if count == 0 or concentration == 0.0:
        return np.array([float(count > 0), 0.0, 0.0])
    head = np.arange(1, min(count, _N_SUMMED), dtype=np.float64)
    total: FloatArray = np.array([1.0, 0.0, 0.0]) + _bernoulli_cumulants(head, concentration).sum(axis=1)
    if count <= _N_SUMMED:
        return total
    # Midpoint Euler-Maclaurin: the error of leaving out the derivatives is of order 1 / 4096^2 of the
    # last terms, and the first of them is kept.
    edges = np.array([_N_SUMMED - 0.5, count - 0.5])
    steps = _bernoulli_cumulants(edges + 0.5, concentration) - _bernoulli_cumulants(edges - 0.5, concentration)
    total += _integral(edges, concentration) - (steps[:, 1] - steps[:, 0]) / 24.0
    return total


def _bernoulli_cumulants(seated: FloatArray, concentration: float) -> FloatArray:
    new = concentration / (concentration + seated)
    old = seated / (concentration + seated)
    return np.stack([new, new * old, new * old * (old - new)])


def _integral(bounds: FloatArray, concentration: float) -> FloatArray:
    """Integrate the Bernoulli cumulants over customers, by Gauss rules on octaves."""
    start, stop = bounds
    nodes, weights = np.polynomial.legendre.leggauss(20)
    n_octaves = int(np.ceil(np.log2(stop / start)))
    edges = start * (stop / start) ** (np.arange(n_octaves + 1) / n_octaves)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * (edges[1:] - edges[:-1])
    places = middle[:, None] + half[:, None] * nodes
    values = _bernoulli_cumulants(places, concentration)
    result: FloatArray = np.einsum("cop,o,p->c", values, half, weights)
    return result
