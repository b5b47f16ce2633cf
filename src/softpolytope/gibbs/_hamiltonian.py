"""A Hamiltonian move of coefficients and weights on the collapsed posterior, without drawing latent variables.

Counts and Polya-Gamma weights restrict the coefficients that are drawn given them: a count of e^psi allows beta to move
by about e^{-psi/2}. This move integrates them out. It moves the experts with weights above a threshold, nearly all that
matter; weights are reflected at the threshold, so that the reverse move would choose the same experts. Where no weight
is above it, as with few positive rows, all experts move and are reflected from below. A random tenth of the moves has
no threshold and moves all experts.

While a chain burns in, it learns the step size and a diagonal metric; both are fixed afterwards, so that the retained
draws come from one exact kernel. Experts change places, so the metric has one scale for each layer and column, shared
by all experts, and one for the log weights: the root mean square of the gradient, which at stationarity is that of the
curvature.
"""

from dataclasses import dataclass, field

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
TARGET_ACCEPTANCE = 0.7
MAX_LOSS = 1000.0  # of log density along a trajectory
SHRINKAGE = 1e-3  # of the squares of the metric
MIN_SQUARE = 1e-12


def _nothing() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, slots=True)
class Move:
    """Outcome of a move."""

    acceptance: float  # probability
    squares: FloatArray | None = None  # (layers * columns + 1,)  of the gradient at the start, averaged over experts


@dataclass(slots=True)
class Tuning:
    """Step size and metric of the moves, learned while the chain burns in.

    The step size is learned by dual averaging of its logarithm (Nesterov; Hoffman and Gelman 2014).
    """

    log_step: float = np.log(0.1)
    log_average: float = np.log(0.1)
    error: float = 0.0
    n_updates: int = 0
    squares: FloatArray = field(default_factory=_nothing)  # (layers * columns + 1,)  running mean; empty before any
    n_squares: int = 0

    def scale(self, n_experts: int, size: int) -> FloatArray:
        """Return the scales of the position of some experts, each of `size` coefficients."""
        if not self.n_squares:
            return np.ones(n_experts * (size + 1))
        scales = 1.0 / np.sqrt(self.squares)
        return np.concatenate([np.tile(scales[:-1], n_experts), np.full(n_experts, scales[-1])])

    def learn(self, move: Move, *, is_last: bool) -> None:
        """Learn from a move; after the last sweep of burn-in, fix the step size at its average."""
        if move.squares is not None and np.isfinite(move.squares).all():
            self._learn_metric(move.squares)
        self.n_updates += 1
        share = 1.0 / (self.n_updates + 10)
        self.error += share * (TARGET_ACCEPTANCE - move.acceptance - self.error)
        self.log_step = float(np.clip(0.0 - np.sqrt(self.n_updates) / 0.05 * self.error, -20.0, 2.0))
        weight = self.n_updates**-0.75
        self.log_average += weight * (self.log_step - self.log_average)
        if is_last:
            self.log_step = self.log_average

    def _learn_metric(self, squares: FloatArray) -> None:
        """Add to the running mean, in which later squares weigh more: the first are of the start."""
        # Shrunk towards their mean, so that a column of zeros has a scale.
        shrunk = (1.0 - SHRINKAGE) * squares + SHRINKAGE * squares.mean() + MIN_SQUARE
        if not self.n_squares:
            self.squares = np.zeros(len(squares))
        self.n_squares += 1
        self.squares = self.squares + 2.0 / (self.n_squares + 1) * (shrunk - self.squares)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Length of a move: 1 to 2 n_steps - 1 leapfrog steps of about the tuned size."""

    tuning: Tuning
    n_steps: int
    moves_weights: bool = True


def move_by_hamiltonian(
    state: GibbsState, blocks: Blocks[LatentBlock], prior: Prior, trajectory: Trajectory, rng: Generator
) -> Move:
    """Move beta, and log r unless it is fixed, along a trajectory.

    Precisions are integrated out, and must be drawn again before anything conditions on them.
    """
    has_threshold = rng.random() >= PROBABILITY_OF_ALL
    moved, lower, upper = _select_experts(state.log_weights, has_threshold=has_threshold)
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
    step = float(np.exp(trajectory.tuning.log_step) * rng.uniform(0.8, 1.2))
    length = int(rng.integers(1, 2 * trajectory.n_steps))
    momentum = rng.standard_normal(len(position))
    if not trajectory.moves_weights:
        momentum[-n_moved:] = 0.0
    uniform = rng.random()
    scale = trajectory.tuning.scale(n_moved, state.coefficients[0].size)

    value, gradient = target.value_and_gradient(position)
    # The metric is that of experts with weights: others move as the prior does.
    squares = _mean_squares(gradient, n_moved) if has_threshold else None
    energy = value - 0.5 * momentum.dot(momentum)
    for number in range(length):
        kick = 0.5 * step if number == 0 else step
        _leapfrog.kick_and_drift(position, momentum, gradient, scale, kick, step, n_moved, lower, upper)
        value, gradient = target.value_and_gradient(position)
        # Divergent trajectory: certain to be rejected, so stop early.
        if not energy - value <= MAX_LOSS:
            return Move(0.0, squares)
    momentum += 0.5 * step * scale * gradient
    gain = value - 0.5 * momentum.dot(momentum) - energy
    if not gain >= -MAX_LOSS:
        return Move(0.0, squares)
    acceptance = float(np.exp(min(gain, 0.0)))
    if uniform < acceptance:
        coefficients, state.log_weights[moved] = target.parts(position)
        state.coefficients[moved] = coefficients
        blocks.broadcast(LatentBlock.update, np.flatnonzero(moved).astype(np.intc), coefficients)
    return Move(acceptance, squares)


def _mean_squares(gradient: FloatArray, n_experts: int) -> FloatArray:
    """Return the mean over experts of the squares by coefficients, (layers * columns), and by log weights."""
    squares = gradient**2
    coefficients = squares[:-n_experts].reshape(n_experts, -1).mean(axis=0)
    return np.append(coefficients, squares[-n_experts:].mean())


def _select_experts(log_weights: FloatArray, *, has_threshold: bool) -> tuple[BoolArray, float, float]:
    """Return the experts that move, and the bounds that keep their log weights from changing this choice."""
    everyone = np.ones(len(log_weights), dtype=bool)
    if not has_threshold:
        return everyone, -np.inf, np.inf
    threshold = float(np.log(MIN_WEIGHT))
    is_above = log_weights > threshold
    return (is_above, threshold, np.inf) if is_above.any() else (everyone, -np.inf, threshold)
