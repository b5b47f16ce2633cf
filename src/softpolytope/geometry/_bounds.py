"""Where hyperplanes stand once a threshold is given (theorem 2, eqs 17 and 21 of the paper)."""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from softpolytope._typing import FloatArray


def needed_rate(threshold: float) -> float:
    """The rate lambda beyond which P(y = 1) passes the threshold: -log(1 - p0)."""
    return float(-np.log1p(-checked_probability("threshold", threshold)))


def checked_probability(name: str, value: float) -> float:
    """Return a probability as a float; raise if it is not a number between 0 and 1, or is one of these."""
    if not isinstance(value, Real) or not 0.0 < value < 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, both excluded; got {value!r}.")
    return float(value)


def log_expm1(value: ArrayLike) -> FloatArray:
    """log(e^u - 1) for u >= 0, the inverse of softplus: -inf at 0, inf at inf."""
    u = np.asarray(value, dtype=np.float64)
    with np.errstate(divide="ignore"):
        # expm1 overflows near 710; beyond 30 the second form has lost nothing.
        small = np.log(np.expm1(np.minimum(u, 30.0)))
        return np.where(u > 30.0, u + np.log1p(-np.exp(-np.maximum(u, 30.0))), small)


def log_expm1_of_exp(log_value: ArrayLike) -> FloatArray:
    """log(e^u - 1) given log u, also where u underflows: it is log u to rounding below u = e^-37."""
    log_u = np.asarray(log_value, dtype=np.float64)
    return np.where(log_u < -37.0, log_u, log_expm1(np.exp(np.maximum(log_u, -37.0))))


def criterion_offsets(expert_weights: ArrayLike, threshold: float, n_layers: int) -> FloatArray:
    """What x'beta of every layer of every expert is measured against, (experts, layers): eq. 21.

    The criterion of a layer is x'beta > log h - log g: the predictor at which the expert alone would reach the
    threshold if the predictors of all its other layers were zero. With one layer this is theorem 2,
    x'beta > log((1 - p0)^(-1/r) - 1), and exact. With more, h is a tower of powers; where it passes every double the
    offset is +inf: that layer cannot do it alone.

    Examples
    --------
    >>> from softpolytope.geometry import criterion_offsets
    >>> criterion_offsets([1.0, 0.1], threshold=0.5, n_layers=2).round(2).tolist()
    [[0.54, 0.37], [1023.0, 7.3]]
    """
    with np.errstate(divide="ignore", over="ignore"):
        share = needed_rate(threshold) / np.asarray(expert_weights, dtype=np.float64)
        log_outer = [log_expm1(share)]
        for _ in range(n_layers - 1):
            log_outer.append(log_expm1(np.exp(log_outer[-1])))
    inner = [1.0]
    for _ in range(n_layers - 1):
        inner.append(float(np.log1p(inner[-1])))
    return np.stack(log_outer[::-1], axis=-1) - np.log(inner)
