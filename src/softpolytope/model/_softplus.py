"""The softplus functions of definitions 1 to 4, their logarithms and the resulting probabilities.

Layers compose log q^(t+1) = log(log(1 + exp(psi))), psi = x'beta + log q^(t). One layer can take log q to -1e4 and the
next one back to 0, which would cost a plain double twelve of its digits; so every level is an unevaluated sum of two
doubles, a value and its rounding error.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logsumexp

from softpolytope._typing import FloatArray
from softpolytope.model._double_double import DoubleDouble, two_product, two_sum

# softplus(z) = 1 at z = log(e - 1): where log softplus changes sign; the rest is the rounding error of the double.
_UNIT_LOGIT = 0.5413248546129181
_UNIT_LOGIT_REST = -1.8138570925507326e-17
_UNIT_SIGMOID = 0.6321205588285577  # 1 - 1/e


def softplus(logit: ArrayLike) -> FloatArray:
    """Return log(1 + e^z), without overflow.

    Examples
    --------
    >>> from softpolytope.model import softplus
    >>> float(softplus(1000.0))
    1000.0
    """
    z = np.asarray(logit, dtype=np.float64)
    result: FloatArray = np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))
    return result


def log_softplus(logit: ArrayLike) -> FloatArray:
    """Return log(log(1 + e^z)), finite for every finite z and accurate to a few units in the last place.

    Examples
    --------
    >>> from softpolytope.model import log_softplus
    >>> float(log_softplus(-1e4))
    -10000.0
    """
    z = np.asarray(logit, dtype=np.float64)
    return _log_softplus(DoubleDouble(z, np.zeros_like(z))).to_double()[()]


def log_softplus_derivative(logit: FloatArray) -> FloatArray:
    """Return the derivative of log softplus, sigmoid(z) / softplus(z), which falls from 1 to 0."""
    # Below -37 it is 1 to rounding, and numerator and denominator would eventually underflow.
    z = np.maximum(logit, -37.0)
    result: FloatArray = expit(z) / softplus(z)
    return result


def _log_softplus(logit: DoubleDouble) -> DoubleDouble:
    """Return log softplus of a two-double logit, with an absolute error near the rounding of its value."""
    z = logit.value
    # Below -1: z + log(log1p(t) / t), t = e^z; the second part is small, so z keeps all its digits.
    t = np.exp(np.clip(z, -40.0, -1.0))
    below = two_sum(np.minimum(z, -1.0), np.log(np.log1p(t) / t))
    # Around the change of sign: softplus(z) - 1 = log1p(s expm1(z - z0)), with s, z0 the values there.
    gap = (np.clip(z, -1.0, 1.5) - _UNIT_LOGIT) - _UNIT_LOGIT_REST
    middle = np.log1p(np.log1p(_UNIT_SIGMOID * np.expm1(gap)))
    above = np.log(softplus(np.maximum(z, 1.5)))
    value = np.where(z < -1.0, below.value, np.where(z < 1.5, middle, above))
    rest = np.where(z < -1.0, below.rest, 0.0)
    return DoubleDouble(value, rest + log_softplus_derivative(z) * logit.rest)


def _levels(linear_predictor: FloatArray) -> tuple[list[DoubleDouble], DoubleDouble]:
    """Return log q at levels 0..T, and the logit of the last layer; layers are the axis before the last."""
    first = np.zeros(linear_predictor.shape[:-2] + linear_predictor.shape[-1:])
    levels = [DoubleDouble(first, first)]
    logit = levels[0]
    for layer in range(linear_predictor.shape[-2]):
        below = levels[-1]
        total = two_sum(linear_predictor[..., layer, :], below.value)
        logit = two_sum(total.value, total.rest + below.rest)
        levels.append(_log_softplus(logit))
    return levels, logit


def log_activations(linear_predictor: ArrayLike) -> FloatArray:
    """Return log q of every expert at every level, given x'beta of every expert and layer.

    Parameters
    ----------
    linear_predictor : array_like, shape (..., n_layers, n_samples)
        x'beta; leading axes, if any, are experts.

    Returns
    -------
    ndarray, shape (..., n_layers + 1, n_samples)
        Level 0 is log 1 = 0; level t + 1 is log(log(1 + q_t exp(x'beta_t))).

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.model import log_activations
    >>> log_activations(np.zeros((2, 1))).round(4).tolist()
    [[0.0], [-0.3665], [-0.6413]]
    """
    levels, _ = _levels(_validate_predictor(linear_predictor))
    return np.stack([level.to_double() for level in levels], axis=-2)


def stack_softplus(linear_predictor: ArrayLike) -> FloatArray:
    """Return the stack-softplus function of definition 3: log(1 + e^{x'beta_T} log(1 + ... log(1 + e^{x'beta_1}))).

    Takes x'beta as (..., n_layers, n_samples), lowest layer first, and returns (..., n_samples). With one layer
    it is the softplus function of definition 1.
    """
    activation, _ = _top_activation(_validate_predictor(linear_predictor))
    return activation.to_double()


def poisson_rate(linear_predictor: ArrayLike, expert_weights: ArrayLike) -> FloatArray:
    """Return lambda = sum_k r_k q_k, so that P(y = 0) = exp(-lambda).

    This is the sum-stack-softplus function of definition 4 and, with one layer, the sum-softplus function of
    definition 2.

    Parameters
    ----------
    linear_predictor : array_like, shape (n_experts, n_layers, n_samples)
        x'beta.
    expert_weights : array_like, shape (n_experts,)
        r_k, finite and >= 0.

    Returns
    -------
    ndarray, shape (n_samples,)
        The rates; one below the smallest double is 0, see `log_poisson_rate`.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.model import poisson_rate
    >>> poisson_rate(np.zeros((2, 1, 1)), [1.0, 3.0]).round(4).tolist()
    [2.7726]
    """
    rate, _ = _rate(*_validate(linear_predictor, expert_weights))
    return rate.to_double()


def log_poisson_rate(linear_predictor: ArrayLike, expert_weights: ArrayLike) -> FloatArray:
    """Return log lambda, finite where lambda is below the smallest double; -inf if all weights are 0.

    Shapes as for `poisson_rate`.
    """
    rate, log_rate = _rate(*_validate(linear_predictor, expert_weights))
    return _select_log_rate(rate, log_rate)


def positive_probability(linear_predictor: ArrayLike, expert_weights: ArrayLike) -> FloatArray:
    """Return P(y = 1) = 1 - exp(-lambda); shapes as for `poisson_rate`.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.model import positive_probability
    >>> positive_probability(np.zeros((1, 1, 1)), [1.0]).tolist()  # logistic regression at x'beta = 0
    [0.5]
    """
    rate, _ = _rate(*_validate(linear_predictor, expert_weights))
    result: FloatArray = -np.expm1(-rate.value) + np.exp(-rate.value) * rate.rest
    return result


def log_negative_probability(linear_predictor: ArrayLike, expert_weights: ArrayLike) -> FloatArray:
    """Return log P(y = 0) = -lambda; shapes as for `poisson_rate`."""
    return -poisson_rate(linear_predictor, expert_weights)


def log_positive_probability(linear_predictor: ArrayLike, expert_weights: ArrayLike) -> FloatArray:
    """Return log P(y = 1) = log(1 - exp(-lambda)), in both tails; shapes as for `poisson_rate`."""
    rate, log_rate = _rate(*_validate(linear_predictor, expert_weights))
    lam = rate.value
    # Small rates: log lambda + log((1 - e^-lambda) / lambda). Large ones: log1p(-e^-lambda), where the
    # rest of lambda counts, because it is multiplied by lambda's own size.
    small = np.clip(lam, 1e-20, 1.0)
    below = _select_log_rate(rate, log_rate) + np.log(-np.expm1(-small) / small)
    above = np.log1p(-np.exp(-np.maximum(lam, 0.5)) * (1.0 - rate.rest))
    return np.where(lam < 0.7, below, above)


def _top_activation(predictor: FloatArray) -> tuple[DoubleDouble, FloatArray]:
    """Return q and log q at the last level."""
    levels, logit = _levels(predictor)
    z = logit.value
    # softplus(z) = z + log1p(e^-z) above 0 and log1p(e^z) below; far below, only its logarithm is precise.
    above = two_sum(np.maximum(z, 0.0), np.log1p(np.exp(-np.maximum(z, 0.0))))
    near = np.log1p(np.exp(np.clip(z, -30.0, 0.0)))
    far = np.exp(levels[-1].value) * (1.0 + levels[-1].rest)
    value = np.where(z > 0.0, above.value, np.where(z > -30.0, near, far))
    rest = np.where(z > 0.0, above.rest, 0.0) + expit(z) * logit.rest
    return DoubleDouble(value, np.where(z > -30.0, rest, 0.0)), levels[-1].to_double()


def _rate(predictor: FloatArray, weights: FloatArray) -> tuple[DoubleDouble, FloatArray]:
    """Return lambda as two doubles, and its logarithm by log-sum-exp, for where lambda underflows."""
    activation, log_activation = _top_activation(predictor)
    total = np.zeros(predictor.shape[-1])
    rest = np.zeros(predictor.shape[-1])
    for weight, value, value_rest in zip(weights, *activation, strict=True):
        product = two_product(np.broadcast_to(weight, value.shape), value)
        partial = two_sum(total, product.value)
        total = partial.value
        rest = rest + (partial.rest + product.rest + weight * value_rest)
    with np.errstate(divide="ignore"):
        log_rate = logsumexp(np.log(weights)[:, None] + log_activation, axis=0)
    return two_sum(total, rest), log_rate


def _select_log_rate(rate: DoubleDouble, log_rate: FloatArray) -> FloatArray:
    """Return log lambda, from lambda where that is a normal number and from the log-sum-exp elsewhere."""
    is_normal = rate.value > 1e-290
    lam = np.where(is_normal, rate.value, 1.0)
    near_one = np.log1p((np.clip(lam, 0.5, 2.0) - 1.0) + rate.rest)
    precise = np.where((lam > 0.5) & (lam < 2.0), near_one, np.log(lam) + rate.rest / lam)
    return np.where(is_normal, precise, log_rate)


def _validate_predictor(linear_predictor: ArrayLike) -> FloatArray:
    """Return linear predictors as finite doubles with axes of layers and samples."""
    predictor = np.asarray(linear_predictor, dtype=np.float64)
    if predictor.ndim < 2:
        raise ValueError(f"linear_predictor must be (..., n_layers, n_samples); got shape {predictor.shape}.")
    if not np.isfinite(predictor).all():
        raise ValueError("linear_predictor must be finite: check design and coefficients.")
    return predictor


def _validate(linear_predictor: ArrayLike, expert_weights: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return linear predictors and weights as doubles of matching shapes."""
    predictor = _validate_predictor(linear_predictor)
    weights = np.asarray(expert_weights, dtype=np.float64)
    if predictor.ndim != 3 or weights.shape != predictor.shape[:1]:
        raise ValueError(
            "linear_predictor must be (n_experts, n_layers, n_samples) and expert_weights (n_experts,); "
            f"got shapes {predictor.shape} and {weights.shape}."
        )
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError(f"expert_weights must be finite and >= 0; got {weights!r}.")
    return predictor, weights
