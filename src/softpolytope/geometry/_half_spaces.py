"""Half-spaces of experts: thresholds as offsets, contributions and votes at rows, inequalities as text.

An expert votes yes where it alone lifts P(y = 1) above the threshold: D_k = {r_k q_k(x) > -log(1 - p0)}, theorem 5.
Each layer adds a linear function and applies log softplus, which is increasing and concave, so log q_k is concave:
every D_k is convex, and a tangent of log q_k at any point is an upper bound everywhere.
"""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.model import Design, Draws, Features, log_activations, log_softplus_derivative

# Terms smaller than this fraction of the largest, in standard deviations, are left out of the text.
MIN_TERM = 0.01

# Offsets.


def needed_rate(threshold: float) -> float:
    """Return the rate lambda above which P(y = 1) exceeds the threshold: -log(1 - p0)."""
    return float(-np.log1p(-validate_probability("threshold", threshold)))


def validate_probability(name: str, value: float) -> float:
    """Return a probability as a float; raise unless it is a number strictly between 0 and 1."""
    if not isinstance(value, Real) or not 0.0 < value < 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, both excluded; got {value!r}.")
    return float(value)


def log_expm1(value: ArrayLike) -> FloatArray:
    """log(e^u - 1) for u >= 0, the inverse of softplus: -inf at 0, inf at inf."""
    u = np.asarray(value, dtype=np.float64)
    with np.errstate(divide="ignore"):
        # expm1 overflows near 710; beyond 30 the second form is exact to rounding.
        small = np.log(np.expm1(np.minimum(u, 30.0)))
        return np.where(u > 30.0, u + np.log1p(-np.exp(-np.maximum(u, 30.0))), small)


def log_expm1_of_exp(log_value: ArrayLike) -> FloatArray:
    """log(e^u - 1) given log u, also where u underflows: it is log u to rounding below u = e^-37."""
    log_u = np.asarray(log_value, dtype=np.float64)
    return np.where(log_u < -37.0, log_u, log_expm1(np.exp(np.maximum(log_u, -37.0))))


def criterion_offsets(expert_weights: ArrayLike, threshold: float, n_layers: int) -> FloatArray:
    """Return the value that x'beta of every layer of every expert is compared with, (experts, layers): eq. 21.

    The criterion of a layer is x'beta > log h - log g: the predictor at which the expert alone would reach the
    threshold if the predictors of all its other layers were zero. With one layer this is theorem 2,
    x'beta > log((1 - p0)^(-1/r) - 1), and exact. With more, h is a tower of powers; where it exceeds every double the
    offset is +inf: that layer alone cannot reach the threshold.

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


# Contributions and votes at rows.


def linear_predictors(coefficients: FloatArray, X: Design) -> FloatArray:
    """x'beta of every expert and layer, (experts, layers, rows); X without the constant, dense or sparse."""
    n_experts, n_layers, n_columns = coefficients.shape
    if X.shape[1] != n_columns - 1:
        raise ValueError(f"the model has {n_columns - 1} features; got rows of {X.shape[1]}.")
    flat = coefficients.reshape(-1, n_columns)
    rows = X if sparse.issparse(X) else np.asarray(X)
    products = np.asarray(rows @ flat[:, 1:].T).T
    return np.ascontiguousarray(products + flat[:, :1]).reshape(n_experts, n_layers, X.shape[0])


def log_contributions(draw: Draws, X: Design) -> FloatArray:
    """log(r_k q_k(x)) of every expert, (experts, rows)."""
    return log_contributions_at(linear_predictors(draw.coefficients, X), draw.expert_weights)


def log_contributions_at(predictors: FloatArray, expert_weights: FloatArray) -> FloatArray:
    """log(r_k q_k(x)) of every expert, (experts, rows), from x'beta (experts, layers, rows)."""
    with np.errstate(divide="ignore"):
        return np.asarray(log_activations(predictors)[..., -1, :] + np.log(expert_weights)[:, None])


def layer_derivatives(predictors: FloatArray) -> FloatArray:
    """Derivatives of log q by x'beta of every layer, (experts, layers, rows): in (0, 1), increasing with the layer."""
    levels = log_activations(predictors)[..., :-1, :]
    each = log_softplus_derivative(predictors + levels)
    return np.asarray(np.cumprod(each[..., ::-1, :], axis=-2)[..., ::-1, :])


def n_yes(draw: Draws, X: Design, threshold: float = 0.5) -> IndexArray:
    """Count the experts of a draw that alone lift P(y = 1) above the threshold, (rows,).

    With one layer these are the violated inequalities of theorem 2, with more the satisfied ones of theorem 5. Where
    the count is positive, P(y = 1) is above the threshold.
    """
    votes = log_contributions(draw, X) > np.log(needed_rate(threshold))
    return np.asarray(votes.sum(axis=0))


def n_criteria_met(draw: Draws, X: Design, threshold: float = 0.5) -> IndexArray:
    """Count the criteria of eq. 21 that each expert finds met, (experts, rows); with layers only a rough guide."""
    offsets = criterion_offsets(draw.expert_weights, threshold, draw.coefficients.shape[1])
    is_met = linear_predictors(draw.coefficients, X) > offsets[:, :, None]
    return np.asarray(is_met.sum(axis=1))


# Text.


def inequality(normal: FloatArray, offset: float, features: Features, max_terms: int = 5) -> str:
    """Write normal . x > offset as text, scaled so that the feature of the largest effect comes first without a factor.

    A name in square brackets is a statement, whose feature is one where it holds and zero elsewhere: it needs no number
    if it decides alone.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.geometry import inequality
    >>> from softpolytope.model import Features
    >>> known = Features(("income", "age"), np.array([1.0, 10.0]), np.zeros(2), np.ones(2))
    >>> inequality(np.array([-2.0, -0.08]), -6.2, known)
    'income + 0.04 age < 3.1'
    >>> known = Features(("[city is Oslo]", "age"), np.array([0.5, 10.0]), np.zeros(2), np.ones(2))
    >>> inequality(np.array([2.0, 0.0]), 0.7, known)
    'city is Oslo'
    >>> inequality(np.array([2.0, 0.1]), 0.7, known)
    '[city is Oslo] + 0.05 age > 0.35'
    """
    sizes = np.abs(normal * features.scale)
    order = np.argsort(-sizes, kind="stable")
    lead = order[0]
    if sizes[lead] == 0.0:
        return "any x" if offset < 0.0 else "no x"
    shown = [column for column in order if sizes[column] >= MIN_TERM * sizes[lead]]
    bound = offset / normal[lead]
    if len(shown) == 1 and features.names[lead].startswith("[") and 0.0 <= bound < 1.0:
        return f"not {features.names[lead]}" if normal[lead] < 0.0 else features.names[lead][1:-1]
    parts = [features.names[lead]]
    for column in shown[1:max_terms]:
        ratio = normal[column] / normal[lead]
        factor = _format_number(abs(ratio), 2)
        parts.append(f"{'-' if ratio < 0.0 else '+'} {'' if factor == '1' else factor + ' '}{features.names[column]}")
    if len(shown) > max_terms:
        n_left = len(shown) - max_terms
        parts.append(f"+ {n_left} smaller term" + "s" * (n_left > 1))
    return f"{' '.join(parts)} {'<' if normal[lead] < 0.0 else '>'} {_format_number(bound, 3)}"


def _format_number(value: float, n_digits: int) -> str:
    """Format a number with a few digits, without an exponent unless it is very small or large."""
    rounded = float(f"{value:.{n_digits}g}") + 0.0
    if rounded == 0.0 or not 1e-4 <= abs(rounded) < 1e7:
        return f"{rounded:.{n_digits}g}"
    return np.format_float_positional(rounded, trim="-")
