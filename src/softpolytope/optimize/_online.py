"""Modes that learn online, from rows that arrive in batches and are not stored: Adam on the same posterior.

A step of Adam takes 32 rows and follows the gradient of the log posterior of all rows so far, estimated by scaling the
likelihood of the 32 rows up to the number of rows seen. Steps shrink as one over the square root of their number. There
is nothing to tune.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.data import (
    ColumnTransform,
    FeatureSummary,
    InMemoryDataset,
    RowBlock,
    identity_transform,
    reweighted_rows,
    row_blocks,
    running_transform,
)
from softpolytope.distributions import Streams
from softpolytope.model import FlatLogPosterior, RegressionPosterior
from softpolytope.optimize._bootstrap import choose_pool, member_weights, weight_concentration
from softpolytope.optimize._fit import SavedModes, approximate_posterior, find_modes
from softpolytope.optimize._mode import FoundMode, LogPosterior, Mode, ModeSettings, ModesResult, pruned
from softpolytope.optimize._representative import nearest_members
from softpolytope.parallel import Reporting, RunOptions, run_all

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


@dataclass(frozen=True, slots=True)
class OnlineModes:
    """Modes that learn online, and the summary of all rows they have learned from."""

    states: list[list[AdamState]]  # by labeling and restart; coefficients in the user's units
    precision_rates: FloatArray  # (labelings, restarts)
    features: FeatureSummary

    @classmethod
    def from_saved(cls, saved: SavedModes, features: FeatureSummary) -> "OnlineModes":
        """Return modes that continue where a search has ended."""
        to_original = saved.transform.to_original
        states = [
            [AdamState(Mode(to_original(found.unpruned.coefficients), found.unpruned.log_weights)) for found in modes]
            for modes in saved.result.modes
        ]
        return cls(states, saved.result.precision_rates, features)


def start_online(
    batch: InMemoryDataset,
    settings: ModeSettings,
    seed: SeedSequence,
    labelings: tuple[int, ...],
    options: RunOptions,
    *,
    standardize: bool,
) -> tuple[OnlineModes, RegressionPosterior]:
    """Find modes of the first batch, which decides the precision rates; return them and their posterior."""
    features = FeatureSummary.from_rows(batch)
    transform = _batch_transform(features, batch, standardize=standardize)
    # Later rows may need experts that the first ones do not.
    settings = replace(settings, keeps_inactive=True)
    result = find_modes(transform.apply(batch), settings, seed, labelings, options)
    if result.is_interrupted:
        raise KeyboardInterrupt
    online = OnlineModes.from_saved(SavedModes(result, transform), features)
    return online, approximate_posterior(result, transform, settings.prior)


def update_online(
    online: OnlineModes,
    batch: InMemoryDataset,
    settings: ModeSettings,
    seed: SeedSequence,
    labelings: tuple[int, ...],
    n_threads: int,
    *,
    standardize: bool,
) -> tuple[OnlineModes, RegressionPosterior]:
    """Learn from another batch; return the modes after it and their posterior.

    Every member of a bootstrap has random weights of its own for the rows of each batch.
    """
    summary = FeatureSummary.from_rows(batch)
    features = online.features.merged(summary)
    # The spread of the columns is known better with every batch, so coefficients are expressed in the units of this
    # one. The states are copies: a batch that fails changes nothing.
    transform = _batch_transform(features, batch, standardize=standardize)
    after = OnlineModes(deepcopy(online.states), online.precision_rates, features)
    _transform_modes(after, transform.to_transformed)
    rows = transform.apply(batch)
    sides = [rows.flipped() if labeling else rows for labeling in labelings]
    log_posterior = LogPosterior(settings.prior, settings.max_experts, settings.fit_weights, np.ones(batch.n_columns))
    reporting = Reporting(None)
    weigh = partial(_weigh, Streams(seed), weight_concentration(features.weight, settings.max_experts))
    tasks = []
    for labeling, side, states, rates in zip(labelings, sides, after.states, after.precision_rates, strict=True):
        for number, (state, rate) in enumerate(zip(states, rates.tolist(), strict=True)):
            own = weigh(side, labeling, number, state) if settings.bootstrap else side
            common = log_posterior, rate, online.features.weight, reporting.is_stopped
            tasks.append(partial(adam_pass, state, own, *common))
    with ThreadPoolExecutor(n_threads) as pool:
        run_all(tasks, pool, reporting)
    if reporting.is_interrupted():
        raise KeyboardInterrupt
    result = _evaluate(online, after, sides, summary)
    if settings.bootstrap:
        result = _with_nearest(replace(result, pool=choose_pool(features.weight)), rows, labelings)
    posterior = approximate_posterior(result, transform, settings.prior)
    _transform_modes(after, transform.to_original)
    return after, posterior


def _weigh(
    streams: Streams, concentration: float, rows: InMemoryDataset, labeling: int, member: int, state: AdamState
) -> InMemoryDataset:
    """Return the rows of a batch with the random weights of a member."""
    # A batch is named by the steps before it; the rows of `fit` have the name 0.
    return reweighted_rows(rows, member_weights(streams, labeling, member, 1 + state.n_steps, concentration))


def _with_nearest(result: ModesResult, rows: InMemoryDataset, labelings: tuple[int, ...]) -> ModesResult:
    """Return a result whose representatives are the members nearest to all of them on the rows of a batch."""
    nearest = nearest_members(result, rows, labelings)
    found = tuple(FoundMode(mode, 0.0, mode) for mode in nearest.modes)
    return replace(result, representatives=found, agreement=nearest.agreement)


def _batch_transform(features: FeatureSummary, batch: InMemoryDataset, *, standardize: bool) -> ColumnTransform:
    if standardize:
        return running_transform(features, is_sparse=bool(sparse.issparse(batch.design)))
    return identity_transform(batch.n_columns)


def _transform_modes(online: OnlineModes, change: Callable[[FloatArray], FloatArray]) -> None:
    """Change the coefficients of all modes in place."""
    for state in (state for states in online.states for state in states):
        state.mode = Mode(change(state.mode.coefficients), state.mode.log_weights)


def _evaluate(
    before: OnlineModes, after: OnlineModes, sides: list[InMemoryDataset], batch: FeatureSummary
) -> ModesResult:
    """Return the modes after a batch, with all their experts, and its log likelihood; raise if they overflow."""
    n_steps = [[state.n_steps for states in online.states for state in states] for online in (before, after)]
    if not all(then < now for then, now in zip(*n_steps, strict=True)):
        raise _overflow_error(before.features, batch)
    modes = []
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            for side, states in zip(sides, after.states, strict=True):
                blocks = row_blocks(side)
                modes.append([FoundMode(state.mode, pruned(state.mode, blocks)[1], state.mode) for state in states])
    except OverflowError as error:
        raise _overflow_error(before.features, batch) from error
    return ModesResult(modes, after.precision_rates, {}, is_complete=True)


def _overflow_error(before: FeatureSummary, batch: FeatureSummary) -> ValueError:
    """Return an error that names the column that has grown most."""
    sizes = [np.maximum(np.abs(item.lower), np.abs(item.upper)) for item in (before, batch)]
    with np.errstate(divide="ignore"):
        column = int(np.argmax(np.log(sizes[1]) - np.log(np.maximum(sizes[0], np.finfo(np.float64).tiny))))
    return ValueError(
        "The linear predictors of this batch overflow, because its numbers are much larger than those of the rows "
        f"before: column {column} of X was at most {sizes[0][column]:g} in absolute value and is up to "
        f"{sizes[1][column]:g} here. Check its units, or fit all rows from scratch."
    )
