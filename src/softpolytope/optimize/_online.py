"""Modes that learn online, from rows that arrive in batches and are not stored: Adam on the same posterior.

A step of Adam takes 32 rows and follows the gradient of the log posterior of all rows so far, estimated by scaling the
likelihood of the 32 rows up to the number of rows seen. Steps shrink as one over the square root of their number. There
is nothing to tune.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.data import InMemoryDataset, RowBlock
from softpolytope.model import FlatLogPosterior
from softpolytope.optimize._mode import LogPosterior, Mode

# Chosen in trials on the training rows of ijcnn1 that no committed command repeats: one pass, eight pairs of steps from
# 0.02 to 0.1 and batches of 16 to 128 rows, log loss 0.0695 to 0.0735.
BATCH_ROWS = 32
MAX_STEP = 0.05  # in the units of the columns
SLOW_STEPS = 400  # number of steps after which a step is 0.7 of the largest one
# Adam's own constants (Kingma and Ba 2015).
_DECAY, _SQUARE_DECAY, _FLOOR = 0.9, 0.999, 1e-8


@dataclass  # no slots: without frozen=True they leave out __getstate__, which skops needs
class AdamState:
    """A mode, and the moving averages of Adam at it."""

    mode: Mode
    n_steps: int = 0
    mean: FloatArray = field(default_factory=lambda: np.zeros(0))  # of the gradients
    square: FloatArray = field(default_factory=lambda: np.zeros(0))  # of their squares

    def step(self, target: FlatLogPosterior, unit: FloatArray, n_seen: float) -> None:
        """Make one step of Adam on the mean log posterior per row."""
        position = self.mode.position() / unit
        if len(self.mean) != len(position):
            self.mean, self.square = np.zeros(len(position)), np.zeros(len(position))
        with np.errstate(over="ignore", invalid="ignore"):
            _, gradient = target.value_and_gradient(position * unit)
            gradient = gradient * unit / n_seen
            squares = gradient**2
        if not np.isfinite(squares).all():
            # The gradient has overflowed and gives no direction.
            return
        self.n_steps += 1
        self.mean += (1.0 - _DECAY) * (gradient - self.mean)
        self.square += (1.0 - _SQUARE_DECAY) * (squares - self.square)
        direction = self.mean / (1.0 - _DECAY**self.n_steps)
        size = np.sqrt(self.square / (1.0 - _SQUARE_DECAY**self.n_steps)) + _FLOOR
        rate = MAX_STEP / np.sqrt(1.0 + self.n_steps / SLOW_STEPS)
        self.mode = self.mode.moved((position + rate * direction / size) * unit)


def adam_pass(
    state: AdamState,
    data: InMemoryDataset,
    log_posterior: LogPosterior,
    precision_rate: float,
    n_before: float,
    is_stopped: Callable[[], bool] = bool,
) -> None:
    """Make one step of Adam for every 32 rows of `data`; rows of total weight `n_before` were seen before.

    If `is_stopped` returns True, the pass ends early, and the state is incomplete and must be discarded.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.data import InMemoryDataset
    >>> from softpolytope.model import Prior
    >>> from softpolytope.optimize import LogPosterior
    >>> from softpolytope.optimize import AdamState, adam_pass
    >>> log_posterior = LogPosterior(Prior(), max_experts=2, fit_weights=True, column_unit=np.ones(2))
    >>> rng = np.random.default_rng(0)
    >>> state = AdamState(log_posterior.random_start(1, rng))
    >>> x = rng.standard_normal(1000)
    >>> data = InMemoryDataset.from_arrays(np.column_stack([np.ones(1000), x]), x > 0)
    >>> adam_pass(state, data, log_posterior, 1.0, 0.0)
    >>> state.n_steps
    32
    """
    n_seen = n_before
    for rows in replace(data, block_rows=BATCH_ROWS).split():
        if is_stopped():
            return
        weight = float(rows.row_weights.sum())
        n_seen += weight
        likelihood = partial(_scaled_gradient, RowBlock(rows), n_seen / weight)
        target = log_posterior.target(state.mode, likelihood, precision_rate)
        state.step(target, log_posterior.position_unit(state.mode), n_seen)


def _scaled_gradient(block: RowBlock, factor: float, coefficients: FloatArray, log_weights: FloatArray) -> FloatArray:
    """Return log likelihood and gradient of a batch, scaled up to all rows seen."""
    return factor * block.gradient(coefficients, log_weights)
