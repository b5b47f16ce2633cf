"""The posterior with every latent variable integrated out, and its gradient.

In (coefficients, log expert weights), and up to a constant, the log posterior is

    sum_{y=1} w log(1 - e^-lambda) - sum_{y=0} w lambda
    - (a + 1/2) sum log(1 + beta^2 / (2 b)) + sum_k (mass / K log r_k - concentration r_k),

with a, b the shape and rate of the coefficients' precisions, which are integrated out too. The last
sum includes the Jacobian of log r; without it there is no maximum, because r = 0 has infinite density.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.model._kernels import prior as _prior
from softpolytope.model._softplus import log_softplus, log_softplus_derivative

Design: TypeAlias = FloatArray | sparse.csr_array


@dataclass(frozen=True, slots=True)
class Observations:
    """Rows of the likelihood; column 0 of the design is the intercept."""

    design: Design  # (samples, columns), dense or CSR
    labels: BoolArray  # (samples,)
    row_weights: FloatArray  # (samples,), powers of the likelihood


@dataclass(frozen=True, slots=True)
class CollapsedPrior:
    """Parameters that the collapsed prior conditions on."""

    mass: float
    concentration: float
    precision_shape: float
    precision_rate: float | FloatArray  # a number, or (experts, layers)


@dataclass(frozen=True, slots=True)
class ValueAndGradient:
    """Value of a function of the parameters, and its gradient."""

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
    """Return the log likelihood of coefficients (experts, layers, columns) and log weights (experts,)."""
    design = observations.design
    n_experts, n_layers, _ = coefficients.shape
    n_samples = design.shape[0]
    logits = np.empty((n_layers, n_experts, n_samples))
    log_activation = np.zeros((n_experts, n_samples))
    for layer in range(n_layers):
        logits[layer] = (design @ coefficients[:, layer].T).T + log_activation
        log_activation = log_softplus(logits[layer])

    value, top_derivative = _value_and_top_derivative(observations, log_weights[:, None] + log_activation)
    gradient = np.empty_like(coefficients)
    # The derivative by log q is propagated down the layers: dpsi/dlog q_t is 1.
    derivative = top_derivative
    for layer in reversed(range(n_layers)):
        derivative = derivative * log_softplus_derivative(logits[layer])
        gradient[:, layer] = (design.T @ derivative.T).T
    return ValueAndGradient(value, gradient, top_derivative.sum(axis=1))


def _value_and_top_derivative(observations: Observations, log_terms: FloatArray) -> tuple[float, FloatArray]:
    """Return the log likelihood and its derivative by each log(r_k q_k), given those logarithms."""
    largest = log_terms.max(axis=0)
    shares = np.exp(log_terms - largest)
    total = shares.sum(axis=0)
    shares /= total
    log_rate = largest + np.log(total)
    rate = np.exp(log_rate)
    is_positive = observations.labels
    # The derivative by log lambda is -lambda for a negative row, lambda / (e^lambda - 1) for a positive
    # one; the latter tends to 1 as lambda vanishes, so the gradient of an unlikely row does not vanish.
    safe = np.clip(rate, 1e-20, 700.0)
    derivative = np.where(is_positive, safe / np.expm1(safe), -rate)
    log_positive = np.where(
        rate < 1.0, log_rate + np.log(-np.expm1(-safe) / safe), np.log1p(-np.exp(-np.maximum(rate, 1.0)))
    )
    values = np.where(is_positive, log_positive, -rate)
    return float(observations.row_weights @ values), shares * (derivative * observations.row_weights)


def log_prior(prior: CollapsedPrior, coefficients: FloatArray, log_weights: FloatArray) -> ValueAndGradient:
    """Return the log density of coefficients and log weights, precisions integrated out, up to a constant."""
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
    """Return the collapsed log posterior and its gradient, up to a constant.

    A plain implementation, for reference; `FlatLogPosterior` is the fast one.

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


@dataclass(frozen=True, slots=True)
class FlatPrior:
    """Parameters of the collapsed prior as the compiled code takes them."""

    precision_rates: FloatArray  # (experts, layers)
    precision_shape: float
    weight_shape: float  # mass / K
    concentration: float


@dataclass(frozen=True, slots=True)
class FlatLogPosterior:
    """Log posterior as a function of one flat array of coefficients and log weights.

    `likelihood` returns the log likelihood and its gradient in one array: `RowBlock.gradient` summed over blocks.
    """

    likelihood: Callable[[FloatArray, FloatArray], FloatArray]
    shape: tuple[int, int, int]  # of the coefficients
    prior: FlatPrior
    moves_weights: bool = True  # whether the weights vary

    def parts(self, position: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return coefficients (experts, layers, columns) and log weights (experts,) as views."""
        n_coefficients = math.prod(self.shape)
        return position[:n_coefficients].reshape(self.shape), position[n_coefficients:]

    def value_and_gradient(self, position: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient; the gradient by weights that are fixed is zero."""
        coefficients, log_weights = self.parts(position)
        total = self.likelihood(coefficients, log_weights)
        gradient = total[1:]
        own, own_weights = self.parts(gradient)
        prior = self.prior
        numbers = (prior.precision_rates, prior.precision_shape, prior.weight_shape, prior.concentration)
        value = float(total[0]) + _prior.add_prior(coefficients, log_weights, *numbers, own, own_weights)
        if not self.moves_weights:
            own_weights[:] = 0.0
        return value, gradient
