"""Rows that come in batches and are not kept: Adam on the same posterior, 32 rows at a time.

A step follows the gradient of the log posterior of all rows so far, estimated from a batch: its likelihood is scaled up
to the number of rows seen. Steps shrink as one over the square root of their number; nothing is to be tuned.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.data import RowBlock, TrainingData
from softpolytope.model import FlatLogPosterior
from softpolytope.optimize._mode import LogPosterior, Mode

# Chosen by scratch trials on training rows of ijcnn1: one pass, eight pairs of steps from 0.02 to 0.1 and batches from
# 16 to 128 rows, log-loss 0.0695 to 0.0735. No committed command repeats them.
BATCH_ROWS = 32
MAX_STEP = 0.05  # in units of the columns
SLOW_STEPS = 400  # after which the step is 0.7 of the largest
# Adam's own constants (Kingma and Ba 2015).
_DECAY, _SQUARE_DECAY, _FLOOR = 0.9, 0.999, 1e-8


@dataclass  # no slots: without frozen=True they leave out __getstate__, which skops needs
class AdamState:
    """A mode that follows the rows as they come."""

    mode: Mode
    n_steps: int = 0
    mean: FloatArray = field(default_factory=lambda: np.zeros(0))  # of the slopes
    square: FloatArray = field(default_factory=lambda: np.zeros(0))

    def step(self, target: FlatLogPosterior, units: FloatArray, n_seen: float) -> None:
        """One step of Adam up the mean log posterior per row."""
        position = self.mode.position() / units
        if len(self.mean) != len(position):
            self.mean, self.square = np.zeros(len(position)), np.zeros(len(position))
        with np.errstate(over="ignore", invalid="ignore"):
            _, slope = target.value_and_gradient(position * units)
            slope = slope * units / n_seen
            squares = slope**2
        if not np.isfinite(squares).all():
            # Beyond what doubles hold there is no direction to go.
            return
        self.n_steps += 1
        self.mean += (1.0 - _DECAY) * (slope - self.mean)
        self.square += (1.0 - _SQUARE_DECAY) * (squares - self.square)
        direction = self.mean / (1.0 - _DECAY**self.n_steps)
        size = np.sqrt(self.square / (1.0 - _SQUARE_DECAY**self.n_steps)) + _FLOOR
        rate = MAX_STEP / np.sqrt(1.0 + self.n_steps / SLOW_STEPS)
        self.mode = self.mode.moved((position + rate * direction / size) * units)


def adam_pass(
    follower: AdamState,
    data: TrainingData,
    landscape: LogPosterior,
    precision_rate: float,
    n_before: float,
    is_stopped: Callable[[], bool] = bool,
) -> None:
    """Take the rows of `data` in batches, one step each; `n_before` rows (their weights) were seen before.

    It ends early once it is stopped, and the follower is then of no use.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.data import TrainingData
    >>> from softpolytope.model import Prior
    >>> from softpolytope.optimize import LogPosterior
    >>> from softpolytope.optimize import AdamState, adam_pass
    >>> landscape = LogPosterior(Prior(), max_experts=2, fit_weights=True, unit=np.ones(2))
    >>> rng = np.random.default_rng(0)
    >>> follower = AdamState(landscape.random_start(1, rng))
    >>> x = rng.standard_normal(1000)
    >>> adam_pass(follower, TrainingData.from_arrays(np.column_stack([np.ones(1000), x]), x > 0), landscape, 1.0, 0.0)
    >>> follower.n_steps
    32
    """
    n_seen = n_before
    for rows in replace(data, block_rows=BATCH_ROWS).blocks():
        if is_stopped():
            return
        weight = float(rows.row_weights.sum())
        n_seen += weight
        likelihood = partial(_scaled_gradient, RowBlock(rows), n_seen / weight)
        target = landscape.target(follower.mode, likelihood, precision_rate)
        follower.step(target, landscape.units(follower.mode), n_seen)


def _scaled_gradient(block: RowBlock, factor: float, coefficients: FloatArray, log_weights: FloatArray) -> FloatArray:
    """Gradient of a batch that stands for all rows seen."""
    return factor * block.gradient(coefficients, log_weights)
