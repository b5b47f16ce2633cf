"""The posterior with every latent variable integrated out, and its gradient.

In (coefficients, log expert weights), and up to a constant, the log posterior is

    sum_{y=1} w log(1 - e^-lambda) - sum_{y=0} w lambda
    - (a + 1/2) sum log(1 + beta^2 / (2 b)) + sum_k (mass / K log r_k - concentration r_k),

with a, b the shape and rate of the coefficients' precisions, which are integrated out too. The last
sum includes the Jacobian of log r; without it there is no maximum, because r = 0 has infinite density.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.model._softplus import log_softplus, log_softplus_derivative

Design: TypeAlias = FloatArray | sparse.csr_array


@dataclass(frozen=True, slots=True)
class Observations:
    """What the likelihood is of; column 0 of the design is the intercept."""

    design: Design  # (samples, columns), dense or CSR
    labels: BoolArray  # (samples,)
    row_weights: FloatArray  # (samples,), powers of the likelihood


@dataclass(frozen=True, slots=True)
class CollapsedPrior:
    """What the collapsed prior conditions on."""

    mass: float
    concentration: float
    precision_shape: float
    precision_rate: float | FloatArray  # a number, or (experts, layers)


@dataclass(frozen=True, slots=True)
class ValueAndGradient:
    """A function of the parameters and its gradient."""

    value: float
    coefficients: FloatArray  # (experts, layers, columns)
    log_weights: FloatArray  # (experts,)

    def __add__(self, other: "ValueAndGradient") -> "ValueAndGradient":
        return ValueAndGradient(
            self.value + other.value,
            self.coefficients + other.coefficients,
            self.log_weights + other.log_weights,
        )


def log_likelihood(observations: Observations, coefficients: FloatArray, log_weights: FloatArray) -> ValueAndGradient:
    """Log likelihood of coefficients (experts, layers, columns) and log weights (experts,)."""
    design = observations.design
    n_experts, n_layers, _ = coefficients.shape
    n_samples = design.shape[0]
    logits = np.empty((n_layers, n_experts, n_samples))
    log_activation = np.zeros((n_experts, n_samples))
    for layer in range(n_layers):
        logits[layer] = (design @ coefficients[:, layer].T).T + log_activation
        log_activation = log_softplus(logits[layer])

    value, log_slope = _value_and_top_slope(observations, log_weights[:, None] + log_activation)
    gradient = np.empty_like(coefficients)
    # d value / d log q goes down: dlog q_{t+1}/dpsi is the slope, and dpsi/dlog q_t is 1.
    slope = log_slope
    for layer in reversed(range(n_layers)):
        slope = slope * log_softplus_derivative(logits[layer])
        gradient[:, layer] = (design.T @ slope.T).T
    return ValueAndGradient(value, gradient, log_slope.sum(axis=1))


def _value_and_top_slope(observations: Observations, log_terms: FloatArray) -> tuple[float, FloatArray]:
    """Log likelihood, and its derivative by each log(r_k q_k), from those logarithms."""
    largest = log_terms.max(axis=0)
    shares = np.exp(log_terms - largest)
    total = shares.sum(axis=0)
    shares /= total
    log_rate = largest + np.log(total)
    rate = np.exp(log_rate)
    is_positive = observations.labels
    # The derivative by log lambda is -lambda for a negative row, lambda / (e^lambda - 1) for a positive
    # one; the latter tends to 1 as lambda vanishes, so the log of an unlikely row keeps its full pull.
    safe = np.clip(rate, 1e-20, 700.0)
    pull = np.where(is_positive, safe / np.expm1(safe), -rate)
    log_positive = np.where(
        rate < 1.0, log_rate + np.log(-np.expm1(-safe) / safe), np.log1p(-np.exp(-np.maximum(rate, 1.0)))
    )
    values = np.where(is_positive, log_positive, -rate)
    return float(observations.row_weights @ values), shares * (pull * observations.row_weights)


def log_prior(prior: CollapsedPrior, coefficients: FloatArray, log_weights: FloatArray) -> ValueAndGradient:
    """Log density of coefficients and log weights, precisions integrated out, up to a constant."""
    rate = np.asarray(prior.precision_rate)[..., None] if np.ndim(prior.precision_rate) else prior.precision_rate
    power = prior.precision_shape + 0.5
    # log(1 + beta^2 / (2 b)) = 2 log hypot(1, beta / sqrt(2 b)), which cannot overflow.
    scaled = coefficients / np.sqrt(2.0 * rate)
    size = np.hypot(1.0, scaled)
    value = -2.0 * power * np.log(size).sum()
    gradient = -2.0 * power * (scaled / size) / size / np.sqrt(2.0 * rate)
    weights = np.exp(log_weights)
    shape = prior.mass / len(log_weights)
    value += (shape * log_weights - prior.concentration * weights).sum()
    return ValueAndGradient(float(value), gradient, shape - prior.concentration * weights)


def log_posterior(
    observations: Observations,
    prior: CollapsedPrior,
    coefficients: FloatArray,
    log_weights: FloatArray,
) -> ValueAndGradient:
    """Collapsed log posterior and its gradient, up to a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.model import CollapsedPrior, Observations, log_posterior
    >>> rows = Observations(np.array([[1.0, -1.0], [1.0, 2.0]]), np.array([False, True]), np.ones(2))
    >>> prior = CollapsedPrior(mass=1.0, concentration=1.0, precision_shape=1.0, precision_rate=1.0)
    >>> log_posterior(rows, prior, np.zeros((1, 1, 2)), np.zeros(1)).log_weights.round(4).tolist()
    [0.0]
    """
    return log_likelihood(observations, coefficients, log_weights) + log_prior(prior, coefficients, log_weights)
