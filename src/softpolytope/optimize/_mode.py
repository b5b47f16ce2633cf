"""Modes of the posterior: the log posterior that L-BFGS maximizes, its modes, and the removal of inactive experts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.optimize import minimize

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import InMemoryDataset, RowBlock
from softpolytope.model import FlatLogPosterior, FlatPrior, Pool, Prior
from softpolytope.parallel import Blocks

# Loss of training log likelihood, in nats, that removing all inactive experts together may cost.
MAX_LOSS = 1e-3
# Loss where the likelihood cannot be computed: finite, but so high that no line search accepts the point.
UNREACHABLE_LOSS = 1e300
# Pairs of steps and gradients that L-BFGS remembers. This is SciPy's default; other values were not tried.
MEMORY = 10

Likelihood = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """Limits of an optimization: a number of steps, and the relative gain below which a step is the last."""

    n_steps: int
    tolerance: float


@dataclass(frozen=True, slots=True)
class Mode:
    """A point of high posterior density."""

    coefficients: FloatArray  # (experts, layers, columns)
    log_weights: FloatArray  # (experts,)

    def position(self) -> FloatArray:
        """Return coefficients and log weights as one flat array."""
        return np.concatenate([self.coefficients.reshape(-1), self.log_weights])

    def moved(self, position: FloatArray) -> "Mode":
        """Return a mode of the same shape at another flat array."""
        n_coefficients = self.coefficients.size
        return Mode(position[:n_coefficients].reshape(self.coefficients.shape), position[n_coefficients:])

    def without(self, is_removed: BoolArray) -> "Mode":
        """Return the mode without some of its experts."""
        return Mode(np.ascontiguousarray(self.coefficients[~is_removed]), self.log_weights[~is_removed])


@dataclass(frozen=True, slots=True)
class ModeSettings:
    """The model whose modes are searched for, and the number of restarts."""

    max_experts: int
    n_layers: int
    prior: Prior
    n_restarts: int = 5
    fit_weights: bool = True
    bootstrap: bool = False  # whether every restart is a member of a bootstrap, with its own random row weights
    keeps_inactive: bool = False  # whether experts that the rows do not need stay, for rows still to come


@dataclass(frozen=True, slots=True)
class FoundMode:
    """A mode without inactive experts, its log likelihood, and the mode with all experts, to continue from."""

    mode: Mode
    log_likelihood: float
    unpruned: Mode


@dataclass(frozen=True, slots=True)
class ModesResult:
    """Modes by labeling and restart."""

    modes: list[list[FoundMode]]
    precision_rates: FloatArray  # (labelings, restarts)
    held_out_loss: dict[float, float]  # mean log loss of held-out rows by precision rate; empty if the rate was given
    is_complete: bool  # False if the search was stopped early
    is_interrupted: bool = False  # whether Ctrl-C was pressed; the caller of the search raises KeyboardInterrupt
    representatives: tuple[FoundMode, ...] = ()  # of a bootstrap, by labeling: a mode in the place of all members
    pool: Pool = "linear"  # of the probabilities of all modes
    agreement: float | None = None  # share of rows for which the representatives decide like all members

    @property
    def best_rate(self) -> float:
        """Precision rate that was best for all held-out rows; only of a search that compared rates."""
        return min(self.held_out_loss, key=self.held_out_loss.__getitem__)

    def is_of_best_rate(self) -> BoolArray:
        """Return whether each restart has the rate that was best for all held-out rows; all True if none has it."""
        rates = self.precision_rates[0]
        if not self.held_out_loss:
            return np.ones(len(rates), dtype=bool)
        is_best = np.asarray(rates == self.best_rate)
        return is_best if is_best.any() else ~is_best


@dataclass(frozen=True, slots=True)
class LogPosterior:
    """The collapsed log posterior, with mass and concentration fixed at their prior means."""

    prior: Prior
    max_experts: int
    fit_weights: bool
    column_unit: FloatArray  # (columns,)  unit of the coefficients of each column

    def random_start(self, n_layers: int, rng: Generator) -> Mode:
        """Draw coefficients that give linear predictors a variance of about one.

        Weights are equal and sum to one; weights that are not fitted are one each.
        """
        shape = (self.max_experts, n_layers, len(self.column_unit))
        coefficients = rng.standard_normal(shape) / np.sqrt(len(self.column_unit)) * self.column_unit
        weight = -np.log(self.max_experts) if self.fit_weights else 0.0
        return Mode(coefficients, np.full(self.max_experts, weight))

    def target(self, mode: Mode, likelihood: Likelihood, precision_rate: float) -> FlatLogPosterior:
        """Return the log posterior as a function of a mode's flat array.

        `likelihood` returns log likelihood and gradient of all rows, as `RowBlock.gradient` does for a block. The prior
        is that of `max_experts` experts even where inactive ones were removed.
        """
        shape = mode.coefficients.shape
        prior = FlatPrior(
            np.full(shape[:2], precision_rate),
            self.prior.precision_shape,
            self.prior.mass_shape / self.prior.mass_rate / self.max_experts,
            self.prior.concentration_shape / self.prior.concentration_rate,
        )
        return FlatLogPosterior(likelihood, shape, prior, moves_weights=self.fit_weights)

    def maximize(
        self,
        mode: Mode,
        blocks: Blocks[RowBlock],
        precision_rate: float,
        rule: StoppingRule,
        is_stopped: Callable[[], bool] = bool,
    ) -> Mode:
        """Return the mode that L-BFGS reaches from another mode or a start, at least as high as that.

        Once `is_stopped` returns True, the current mode is returned.
        """
        target = self.target(
            mode,
            lambda coefficients, log_weights: blocks.sum(RowBlock.gradient, coefficients, log_weights),
            precision_rate,
        )
        unit = self.position_unit(mode)  # the path of L-BFGS depends on it

        def loss(scaled: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = target.value_and_gradient(scaled * unit)
            if not (np.isfinite(value) and np.isfinite(gradient).all()):
                return UNREACHABLE_LOSS, np.zeros_like(scaled)
            return -value, -gradient * unit

        def stop(xk: FloatArray) -> None:  # noqa: ARG001 -- the name that SciPy looks for
            if is_stopped():
                raise StopIteration

        result = minimize(
            loss,
            mode.position() / unit,
            jac=True,
            method="L-BFGS-B",
            callback=stop,
            options={
                "maxiter": rule.n_steps,
                "maxfun": 2 * rule.n_steps + 20,
                "maxcor": MEMORY,
                "ftol": rule.tolerance,
                "gtol": 1e-7,
            },
        )
        return mode.moved(np.ascontiguousarray(result.x * unit))

    def position_unit(self, mode: Mode) -> FloatArray:
        """Return the unit of each coordinate of a mode's flat array."""
        shape = mode.coefficients.shape
        return np.concatenate([np.broadcast_to(self.column_unit, shape).reshape(-1), np.ones(shape[0])])


def column_unit(size: FloatArray) -> FloatArray:
    """Return the unit of the coefficients of columns of a given root mean square: its inverse, as a power of two.

    A power of two is exact, and hides the order in which the squares were summed.
    """
    return np.exp2(-np.round(np.log2(np.where(size > 0.0, size, 1.0))))


def poisson_rates(mode: Mode, rows: InMemoryDataset) -> FloatArray:
    """Return the Poisson rate lambda of every row."""
    everything = np.array([0, len(mode.log_weights)], dtype=np.intp)
    blocks = [RowBlock(block).rates(mode.coefficients, mode.log_weights, everything)[0] for block in rows.split()]
    return np.concatenate(blocks)


def pruned(mode: Mode, blocks: Blocks[RowBlock]) -> tuple[Mode, float]:
    """Remove the experts that the rows do not need; return the mode and its log likelihood.

    Experts are removed in the order of what they add to the rates, as long as this costs at most `MAX_LOSS` in all. One
    expert always stays.
    """
    added = blocks.sum(RowBlock.expert_sums, mode.coefficients, mode.log_weights)
    order = np.argsort(added, kind="stable")
    # Log likelihoods without the first 0, 1, 2, ... experts of the order.
    values = blocks.sum(RowBlock.nested_log_likelihoods, mode.coefficients, mode.log_weights, order)
    if not np.isfinite(values[0]):
        raise OverflowError(
            "The log likelihood of a mode is not finite, because the linear predictors of the rows overflow. "
            "Rescale the columns of X."
        )
    is_cheap = values[0] - values[:-1] <= MAX_LOSS
    n_removed = int(np.flatnonzero(is_cheap)[-1])
    is_removed = np.zeros(len(order), dtype=bool)
    is_removed[order[:n_removed]] = True
    return mode.without(is_removed), float(values[n_removed])
