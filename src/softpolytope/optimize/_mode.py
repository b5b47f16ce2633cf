"""What is climbed and what is reached: modes, and what is left of one when idle experts are gone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import RowBlock, TrainingData
from softpolytope.model import FlatLogPosterior, FlatPrior, Prior
from softpolytope.optimize._lbfgs import StoppingRule, climb
from softpolytope.parallel import Blocks

# Nats of training log likelihood that leaving experts out may cost, in all.
MAX_LOSS = 1e-3

Likelihood = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Mode:
    """A point of high posterior density."""

    coefficients: FloatArray  # (experts, layers, columns)
    log_weights: FloatArray  # (experts,)

    def position(self) -> FloatArray:
        """As one flat array."""
        return np.concatenate([self.coefficients.reshape(-1), self.log_weights])

    def moved(self, position: FloatArray) -> "Mode":
        """The mode at another flat array."""
        n_coefficients = self.coefficients.size
        return Mode(position[:n_coefficients].reshape(self.coefficients.shape), position[n_coefficients:])

    def without(self, is_left_out: BoolArray) -> "Mode":
        """The other experts."""
        return Mode(np.ascontiguousarray(self.coefficients[~is_left_out]), self.log_weights[~is_left_out])


@dataclass(frozen=True, slots=True)
class LogPosterior:
    """What is climbed: the collapsed posterior, mass and concentration held at their prior means."""

    prior: Prior
    max_experts: int
    fit_weights: bool
    unit: FloatArray  # (columns,), what coefficients are measured in

    def random_start(self, n_layers: int, rng: Generator) -> Mode:
        """Linear predictors of about unit variance, equal weights of sum one (or one each, where they are held)."""
        shape = (self.max_experts, n_layers, len(self.unit))
        coefficients = rng.standard_normal(shape) / np.sqrt(len(self.unit)) * self.unit
        weight = -np.log(self.max_experts) if self.fit_weights else 0.0
        return Mode(coefficients, np.full(self.max_experts, weight))

    def target(self, mode: Mode, likelihood: Likelihood, precision_rate: float) -> FlatLogPosterior:
        """The log posterior, as a function of what a mode has; experts that were left out keep no weight.

        `likelihood` is `RowBlock.gradient` of all rows.
        """
        shape = mode.coefficients.shape
        prior = FlatPrior(
            np.full(shape[:2], precision_rate),
            self.prior.precision_shape,
            self.prior.mass_shape / self.prior.mass_rate / self.max_experts,
            self.prior.concentration_shape / self.prior.concentration_rate,
        )
        return FlatLogPosterior(likelihood, shape, prior, moves_weights=self.fit_weights)

    def climbed(
        self,
        mode: Mode,
        blocks: Blocks[RowBlock],
        precision_rate: float,
        effort: StoppingRule,
        is_stopped: Callable[[], bool] = bool,
    ) -> Mode:
        """Climb from a mode, or a start."""
        target = self.target(
            mode,
            lambda coefficients, log_weights: blocks.sum(RowBlock.gradient, coefficients, log_weights),
            precision_rate,
        )
        return mode.moved(climb(target, mode.position(), effort, self.units(mode), is_stopped))

    def units(self, mode: Mode) -> FloatArray:
        """What each coordinate of a mode's flat array is measured in."""
        shape = mode.coefficients.shape
        return np.concatenate([np.broadcast_to(self.unit, shape).reshape(-1), np.ones(shape[0])])


def column_units(data: TrainingData) -> FloatArray:
    """What a coefficient of each column is measured in: one over the column's root mean square, to a power of two.

    A power of two costs no digit, and does not show in which order the squares were added.
    """
    design: Any = data.design
    squares = design.multiply(design) if sparse.issparse(data.design) else design**2
    return _unit(np.sqrt(data.row_weights @ squares / data.row_weights.sum()) * data.column_scale)


def column_unit(mean_square: FloatArray) -> FloatArray:
    """The same of columns whose mean square is known."""
    return _unit(np.sqrt(mean_square))


def _unit(size: FloatArray) -> FloatArray:
    return np.exp2(-np.round(np.log2(np.where(size > 0.0, size, 1.0))))


def held_out_rates(mode: Mode, rows: TrainingData) -> FloatArray:
    """lambda of rows."""
    everything = np.array([0, len(mode.log_weights)], dtype=np.intp)
    blocks = [RowBlock(block).rates(mode.coefficients, mode.log_weights, everything)[0] for block in rows.blocks()]
    return np.concatenate(blocks)


def pruned(mode: Mode, blocks: Blocks[RowBlock]) -> tuple[Mode, float]:
    """Leave out the experts that the rows do not need; return the mode and its log likelihood.

    As many are left out, those that add least to the rates first, as cost less than `MAX_LOSS` together; one
    always stays.
    """
    order, values = _log_likelihoods_without(mode, blocks)
    if not np.isfinite(values[0]):
        raise OverflowError("the log likelihood of a mode is not finite: the linear predictors of the rows overflow.")
    is_cheap = values[0] - values[:-1] <= MAX_LOSS
    n_left_out = int(np.flatnonzero(is_cheap)[-1])
    is_left_out = np.zeros(len(order), dtype=bool)
    is_left_out[order[:n_left_out]] = True
    return mode.without(is_left_out), float(values[n_left_out])


def _log_likelihoods_without(mode: Mode, blocks: Blocks[RowBlock]) -> tuple[NDArray[np.intp], FloatArray]:
    """Experts in the order of what they add to the rates, and the log likelihood without the first 0, 1, 2, ... ."""
    added = blocks.sum(RowBlock.expert_sums, mode.coefficients, mode.log_weights)
    order = np.argsort(added, kind="stable")
    sums = blocks.sum(RowBlock.nested_log_likelihoods, mode.coefficients, mode.log_weights, order)
    return order, sums
