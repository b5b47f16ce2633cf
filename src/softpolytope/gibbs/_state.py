"""State of a chain between two sweeps, and the states in which chains start."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.random import Generator

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.distributions import log_standard_gamma
from softpolytope.model import Prior

# The paper's prior is so wide that nearly all its draws of a precision underflow. This floor keeps coefficients below
# about 1e100.
MIN_PRECISION = 1e-200
# Log weight of the experts that are added to a start with too few.
SMALL_LOG_WEIGHT = -10.0

_ARRAYS = ("coefficients", "precisions", "precision_rates", "log_weights")


class InvalidStateError(RuntimeError):
    """A state breaks one of its invariants."""


@dataclass(slots=True)
class GibbsState:
    """Parameters of a chain: its whole state in the collapsed scan. The paper's scan also has counts in the blocks."""

    coefficients: FloatArray  # (experts, layers, columns)  beta
    precisions: FloatArray  # (experts, layers, columns)  alpha
    precision_rates: FloatArray  # (experts, layers)  b
    log_weights: FloatArray  # (experts,)  log r
    mass: float  # gamma_0
    concentration: float  # c_0

    @property
    def n_experts(self) -> int:
        """Number of experts."""
        return len(self.coefficients)

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return int(self.coefficients.shape[1])

    def copy(self) -> Self:
        """Return a state that shares no array with this one."""
        return replace(self, **{name: getattr(self, name).copy() for name in _ARRAYS})

    def keep_experts(self, is_kept: BoolArray) -> None:
        """Delete all other experts."""
        for name in _ARRAYS:
            setattr(self, name, np.ascontiguousarray(getattr(self, name)[is_kept]))


def initial_state(n_experts: int, n_layers: int, n_columns: int, prior: Prior) -> GibbsState:
    """Return the paper's start: beta = 0, alpha = 10, r = 1 / K, gamma_0 = c_0 = 1."""
    shape = (n_experts, n_layers, n_columns)
    return GibbsState(
        coefficients=np.zeros(shape),
        precisions=np.full(shape, 10.0),
        precision_rates=np.full(shape[:2], 1.0 if prior.precision_rate == "learned" else prior.precision_rate),
        log_weights=np.full(n_experts, -np.log(n_experts)),
        mass=1.0,
        concentration=1.0,
    )


def state_at(
    coefficients: FloatArray, log_weights: FloatArray, n_experts: int, prior: Prior, rng: Generator
) -> GibbsState:
    """Return a state with these experts, filled up to `n_experts` with experts of small weight from the prior."""
    n_given, n_layers, n_columns = coefficients.shape
    others, _, rates = draw_prior_coefficients(n_experts - n_given, n_layers, n_columns, prior, rng)
    state = initial_state(n_experts, n_layers, n_columns, prior)
    state.coefficients = np.concatenate([coefficients, others])
    state.precision_rates[n_given:] = rates
    state.log_weights = np.concatenate([log_weights, np.full(n_experts - n_given, SMALL_LOG_WEIGHT)])
    # The means of their conditionals.
    state.precisions = (prior.precision_shape + 0.5) / (state.precision_rates[..., None] + 0.5 * state.coefficients**2)
    return state


def draw_prior_coefficients(
    n_experts: int, n_layers: int, n_columns: int, prior: Prior, rng: Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draw coefficients, precisions and precision rates of experts from the prior."""
    shape = (n_experts, n_layers, n_columns)
    if prior.precision_rate == "learned":
        rates = rng.standard_exponential(shape[:2])
    else:
        rates = np.full(shape[:2], float(prior.precision_rate))
    precisions = np.maximum(rng.standard_gamma(prior.precision_shape, shape) / rates[..., None], MIN_PRECISION)
    return rng.standard_normal(shape) / np.sqrt(precisions), precisions, rates


def prior_state(n_experts: int, n_layers: int, n_columns: int, prior: Prior, rng: Generator) -> GibbsState:
    """Draw all parameters from the prior."""
    mass = float(rng.standard_gamma(prior.mass_shape) / prior.mass_rate)
    concentration = float(rng.standard_gamma(prior.concentration_shape) / prior.concentration_rate)
    coefficients, precisions, rates = draw_prior_coefficients(n_experts, n_layers, n_columns, prior, rng)
    return GibbsState(
        coefficients=coefficients,
        precisions=precisions,
        precision_rates=rates,
        log_weights=log_standard_gamma(mass / n_experts, rng, size=n_experts) - np.log(concentration),
        mass=mass,
        concentration=concentration,
    )


def check_state(state: GibbsState) -> None:
    """Raise InvalidStateError if a parameter is outside its range."""
    for name in ("coefficients", "precisions", "precision_rates", "mass", "concentration"):
        value = np.asarray(getattr(state, name))
        if not np.isfinite(value).all():
            raise InvalidStateError(f"{name} must be finite")
        if name != "coefficients" and (value < 0.0).any():
            raise InvalidStateError(f"{name} must not be negative")
    if np.isnan(state.log_weights).any() or np.isposinf(state.log_weights).any():
        raise InvalidStateError("log_weights must be real or -inf")
