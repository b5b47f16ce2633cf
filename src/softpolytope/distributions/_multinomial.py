"""Split of counts over experts, given the logarithms of their rates."""

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.special import softmax

from softpolytope._typing import CountArray, FloatArray
from softpolytope.distributions._arguments import Moments, flatten, validate_count, validate_rng
from softpolytope.distributions._kernels import multinomial as _multinomial

_RATES_RULE = "real or -inf, with at least one expert above -inf"


def split_counts(count: ArrayLike, log_rates: ArrayLike, rng: Generator) -> CountArray:
    """Split each count over experts: multinomial, in proportion to exp(log_rates).

    Only differences of log rates matter, so the split is exact even if all rates are below the smallest double.

    Parameters
    ----------
    count : array_like of int
        Counts to split; broadcast against the leading axes of `log_rates`.
    log_rates : array_like of float, shape (..., n_experts)
        Logarithms of the rates; -inf gives an expert nothing.
    rng : numpy.random.Generator
        Source of the random numbers.

    Returns
    -------
    ndarray of int, shape (..., n_experts)
        Counts of the experts; their sum over the last axis is `count`.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.distributions import split_counts
    >>> split_counts(10, [-2000.0, -1000.0], np.random.default_rng(0)).tolist()
    [0, 10]
    """
    counts = validate_count("count", count)
    rates = _validate_log_rates(log_rates)
    bit_generator = validate_rng(rng)
    leading, n_experts = np.broadcast_shapes(counts.shape, rates.shape[:-1]), rates.shape[-1]
    result = np.empty((*leading, n_experts), dtype=np.int64)
    rows = flatten(rates, result.shape).reshape(-1, n_experts)
    _multinomial.fill(bit_generator, flatten(counts, leading), rows, result.reshape(-1, n_experts))
    return result


def split_counts_moments(count: ArrayLike, log_rates: ArrayLike) -> Moments:
    """Return mean, variance and third cumulant of each expert's count.

    Examples
    --------
    >>> from softpolytope.distributions import split_counts_moments
    >>> split_counts_moments(8, [-900.0, -900.0]).mean.tolist()
    [4.0, 4.0]
    """
    counts = validate_count("count", count)[..., None].astype(np.float64)
    share: FloatArray = softmax(_validate_log_rates(log_rates), axis=-1)
    variance = counts * share * (1.0 - share)
    return Moments(counts * share, variance, variance * (1.0 - 2.0 * share))


def _validate_log_rates(log_rates: ArrayLike) -> FloatArray:
    rates = np.asarray(log_rates, dtype=np.float64)
    if rates.ndim == 0 or rates.shape[-1] == 0:
        raise ValueError(f"log_rates must have an axis of experts; got shape {rates.shape}.")
    if np.isnan(rates).any() or np.isposinf(rates).any():
        raise ValueError(f"log_rates must be {_RATES_RULE}; got NaN or +inf.")
    if rates.size and np.isneginf(rates.max(axis=-1)).any():
        row = tuple(int(i) for i in np.argwhere(np.isneginf(rates.max(axis=-1)))[0])
        raise ValueError(f"log_rates must be {_RATES_RULE}; row {row} is all -inf.")
    return rates
