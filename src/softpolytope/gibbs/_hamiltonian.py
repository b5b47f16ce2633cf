"""A Hamiltonian move of coefficients and weights on the collapsed posterior, without drawing latent variables.

Counts and Polya-Gamma weights restrict the coefficients that are drawn given them: a count of e^psi allows beta to move
by about e^{-psi/2}. This move integrates them out. It moves the experts with weights above a threshold, nearly all that
matter; weights are reflected at the threshold, so that the reverse move would choose the same experts. Where no weight
is above it, as with few positive rows, all experts move and are reflected from below. A random tenth of the moves has
no threshold and moves all experts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import RowBlock
from softpolytope.gibbs._kernels import leapfrog as _leapfrog
from softpolytope.gibbs._latent_block import LatentBlock
from softpolytope.gibbs._state import GibbsState
from softpolytope.model import FlatLogPosterior, FlatPrior, Prior
from softpolytope.parallel import Blocks

MIN_WEIGHT = 0.01
PROBABILITY_OF_ALL = 0.1
TARGET_ACCEPTANCE = 0.8
MAX_LOSS = 1000.0  # of log density along a trajectory


@dataclass(slots=True)
class StepSize:
    """Dual averaging of the log step size (Nesterov; Hoffman and Gelman 2014), while the chain burns in."""

    log_step: float = np.log(0.1)
    log_average: float = np.log(0.1)
    error: float = 0.0
    n_updates: int = 0

    def learn(self, acceptance: float, *, is_last: bool) -> None:
        """Move the step size towards the target acceptance; after the last sweep of burn-in, fix it at its average."""
        self.n_updates += 1
        share = 1.0 / (self.n_updates + 10)
        self.error += share * (TARGET_ACCEPTANCE - acceptance - self.error)
        self.log_step = float(np.clip(0.0 - np.sqrt(self.n_updates) / 0.05 * self.error, -20.0, 2.0))
        weight = self.n_updates**-0.75
        self.log_average += weight * (self.log_step - self.log_average)
        if is_last:
            self.log_step = self.log_average


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Length of a move: 1 to 2 n_steps - 1 leapfrog steps of about the given size."""

    log_step: float
    n_steps: int
    moves_weights: bool = True


def move_by_hamiltonian(
    state: GibbsState, blocks: Blocks[LatentBlock], prior: Prior, trajectory: Trajectory, rng: Generator
) -> float:
    """Move beta, and log r unless it is fixed, along a trajectory; return the acceptance probability.

    Precisions are integrated out, and must be drawn again before anything conditions on them.
    """
    moved, lower, upper = _select_experts(state.log_weights, has_threshold=rng.random() >= PROBABILITY_OF_ALL)
    blocks.broadcast(LatentBlock.hold, ~moved, state.log_weights)
    n_moved = int(moved.sum())
    target = FlatLogPosterior(
        lambda coefficients, log_weights: blocks.sum(RowBlock.gradient, coefficients, log_weights),
        (n_moved, *state.coefficients.shape[1:]),
        FlatPrior(
            state.precision_rates[moved], prior.precision_shape, state.mass / state.n_experts, state.concentration
        ),
        moves_weights=trajectory.moves_weights,
    )
    position = np.concatenate([state.coefficients[moved].reshape(-1), state.log_weights[moved]])
    step = float(np.exp(trajectory.log_step) * rng.uniform(0.8, 1.2))
    length = int(rng.integers(1, 2 * trajectory.n_steps))
    momentum = rng.standard_normal(len(position))
    if not trajectory.moves_weights:
        momentum[-n_moved:] = 0.0
    uniform = rng.random()

    value, gradient = target.value_and_gradient(position)
    energy = value - 0.5 * momentum.dot(momentum)
    for number in range(length):
        kick = 0.5 * step if number == 0 else step
        _leapfrog.kick_and_drift(position, momentum, gradient, kick, step, n_moved, lower, upper)
        value, gradient = target.value_and_gradient(position)
        # Divergent trajectory: certain to be rejected, so stop early.
        if not energy - value <= MAX_LOSS:
            return 0.0
    momentum += 0.5 * step * gradient
    gain = value - 0.5 * momentum.dot(momentum) - energy
    if not gain >= -MAX_LOSS:
        return 0.0
    acceptance = float(np.exp(min(gain, 0.0)))
    if uniform < acceptance:
        coefficients, state.log_weights[moved] = target.parts(position)
        state.coefficients[moved] = coefficients
        blocks.broadcast(LatentBlock.update, np.flatnonzero(moved).astype(np.intc), coefficients)
    return acceptance


def _select_experts(log_weights: FloatArray, *, has_threshold: bool) -> tuple[BoolArray, float, float]:
    """Return the experts that move, and the bounds that keep their log weights from changing this choice."""
    everyone = np.ones(len(log_weights), dtype=bool)
    if not has_threshold:
        return everyone, -np.inf, np.inf
    threshold = float(np.log(MIN_WEIGHT))
    is_above = log_weights > threshold
    return (is_above, threshold, np.inf) if is_above.any() else (everyone, -np.inf, threshold)
