"""A Hamiltonian move of coefficients and weights on the collapsed posterior: no latent variable is drawn.

Counts and Polya-Gamma weights pin the coefficients they are drawn with: a count of e^psi moves beta by e^{-psi/2}. This
move integrates them out. It is for the experts of weight above a threshold, which are nearly all that matter; a weight
is reflected at the threshold, so that the way back would choose the same experts. Every so often the threshold is
zero, and no expert is left out.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.gibbs.state import GibbsState
from softpolytope.model.collapsed import CollapsedPrior, ValueAndGradient, log_prior
from softpolytope.model.prior import Prior
from softpolytope.parallel.homes import Home

SMALLEST_WEIGHT = 0.01
CHANCE_OF_ALL = 0.1
TARGET_ACCEPTANCE = 0.8
# Beyond these the likelihood cannot be computed, and the prior makes them impossible.
LARGEST_LOG_WEIGHT = 500.0
LARGEST_COEFFICIENT = 1e140


@dataclass(slots=True)
class StepSize:
    """Dual averaging of the log step size (Nesterov; Hoffman and Gelman 2014), while the chain burns in."""

    log_step: float = np.log(0.1)
    log_average: float = np.log(0.1)
    error: float = 0.0
    n_updates: int = 0

    def learn(self, acceptance: float) -> None:
        """Move the step size towards the target acceptance."""
        self.n_updates += 1
        share = 1.0 / (self.n_updates + 10)
        self.error += share * (TARGET_ACCEPTANCE - acceptance - self.error)
        self.log_step = float(np.clip(0.0 - np.sqrt(self.n_updates) / 0.05 * self.error, -20.0, 2.0))
        weight = self.n_updates**-0.75
        self.log_average += weight * (self.log_step - self.log_average)

    def settle(self) -> None:
        """Fix the step size at its average."""
        if self.n_updates:
            self.log_step = self.log_average


@dataclass(frozen=True, slots=True)
class Trajectory:
    """How far a move goes: 1 to 2 n_steps - 1 leapfrog steps of about the size given."""

    log_step: float
    n_steps: int
    moves_weights: bool = True


def move_by_hamiltonian(state: GibbsState, home: Home, prior: Prior, trajectory: Trajectory, rng: Generator) -> float:
    """Move beta, and log r if it is not held, along a trajectory; return the acceptance probability.

    Precisions are integrated out, and must be drawn again before anything conditions on them.
    """
    threshold = -np.inf if rng.random() < CHANCE_OF_ALL else np.log(SMALLEST_WEIGHT)
    moved = state.log_weights > threshold
    if not moved.any():
        return 1.0
    home.map("hold", ~moved, state.log_weights)
    target = _Target(state, home, prior, moved, moves_weights=trajectory.moves_weights)
    step = np.exp(trajectory.log_step) * rng.uniform(0.8, 1.2)
    length = int(rng.integers(1, 2 * trajectory.n_steps))
    coefficients, log_weights = state.coefficients[moved], state.log_weights[moved]
    momenta = rng.standard_normal(coefficients.shape), rng.standard_normal(log_weights.shape)
    if not trajectory.moves_weights:
        momenta = momenta[0], np.zeros_like(log_weights)
    uniform = rng.random()

    slope = target(coefficients, log_weights)
    energy = slope.value - _kinetic(momenta)
    for _ in range(length):
        momenta = _pushed(momenta, slope, 0.5 * step)
        coefficients = coefficients + step * momenta[0]
        log_weights, momenta = _reflected(log_weights + step * momenta[1], momenta, threshold)
        if log_weights.max() > LARGEST_LOG_WEIGHT or np.abs(coefficients).max() > LARGEST_COEFFICIENT:
            return 0.0
        slope = target(coefficients, log_weights)
        momenta = _pushed(momenta, slope, 0.5 * step)
        # A trajectory that has left the ground is lost: its end would be rejected.
        if not energy - slope.value <= 1000.0:
            return 0.0
    gain = slope.value - _kinetic(momenta) - energy
    acceptance = float(np.exp(min(gain, 0.0)))
    if uniform < acceptance:
        state.coefficients[moved] = coefficients
        state.log_weights[moved] = log_weights
        home.map("update", np.flatnonzero(moved).astype(np.intc), coefficients)
    return acceptance


class _Target:
    """Collapsed log posterior of the experts moved, given the others."""

    def __init__(self, state: GibbsState, home: Home, prior: Prior, moved: BoolArray, *, moves_weights: bool) -> None:
        self._home = home
        self._moves_weights = moves_weights
        # log_prior divides the mass by the number of experts it is given.
        mass = state.mass * moved.sum() / state.n_experts
        self._prior = CollapsedPrior(mass, state.concentration, prior.precision_shape, state.precision_rates[moved])

    def __call__(self, coefficients: FloatArray, log_weights: FloatArray) -> ValueAndGradient:
        parts: list[ValueAndGradient] = self._home.map("gradient", coefficients, log_weights)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        total = total + log_prior(self._prior, coefficients, log_weights)
        return total if self._moves_weights else replace(total, log_weights=np.zeros_like(log_weights))


def _reflected(
    log_weights: FloatArray, momenta: tuple[FloatArray, FloatArray], threshold: float
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Turn back what has crossed the threshold; this keeps volume and can be reversed."""
    is_beyond = log_weights < threshold
    if not is_beyond.any():
        return log_weights, momenta
    turned = np.where(is_beyond, 2.0 * threshold - log_weights, log_weights)
    return turned, (momenta[0], np.where(is_beyond, -momenta[1], momenta[1]))


def _kinetic(momenta: tuple[FloatArray, FloatArray]) -> float:
    return 0.5 * float((momenta[0] ** 2).sum() + (momenta[1] ** 2).sum())


def _pushed(
    momenta: tuple[FloatArray, FloatArray], slope: ValueAndGradient, step: float
) -> tuple[FloatArray, FloatArray]:
    return momenta[0] + step * slope.coefficients, momenta[1] + step * slope.log_weights
