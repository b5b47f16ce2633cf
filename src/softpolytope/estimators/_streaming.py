"""Regressions that learn from batch after batch of rows."""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.data import (
    ColumnTransform,
    FeatureSummary,
    InMemoryDataset,
    InMemoryRows,
    identity_transform,
    row_blocks,
    running_transform,
)
from softpolytope.estimators._climbs import posterior_of
from softpolytope.estimators._parameters import Settings
from softpolytope.estimators._tasks import BinaryProblem, How
from softpolytope.model import RegressionPosterior
from softpolytope.optimize import (
    AdamState,
    FoundMode,
    LogPosterior,
    Mode,
    ModeSettings,
    ModesResult,
    adam_pass,
    find_modes,
    pruned,
)
from softpolytope.parallel import Reporting, RunOptions, run_all


@dataclass(frozen=True, slots=True)
class Stream:
    """Where a regression is in the rows that come in batches."""

    followers: list[list[AdamState]]  # by labeling and restart; coefficients in the user's units
    precision_rates: FloatArray  # (restarts,)
    features: FeatureSummary  # of all rows seen

    def of_units(self, units: ColumnTransform, *, back: bool = False) -> None:
        """Express all coefficients in other units, or back in the user's."""
        change = units.to_original if back else units.to_transformed
        for followers in self.followers:
            for follower in followers:
                mode = follower.mode
                follower.mode = Mode(change(mode.coefficients), mode.log_weights)


def start_online(task: BinaryProblem[InMemoryRows], settings: Settings, how: How) -> tuple[Stream, RegressionPosterior]:
    """Take the first batch: it decides the precision rate, and where the modes begin."""
    data = task.rows.dataset()
    features = FeatureSummary.from_rows(data)
    units = _units(features, data, settings)
    size = ModeSettings(
        settings.max_experts,
        settings.n_layers,
        settings.prior,
        settings.n_restarts,
        settings.fit_weight,
        keeps_inactive=True,  # later rows may need experts that the first do not
    )
    labelings = (0, 1) if settings.symmetric else (0,)
    options = RunOptions(how.n_threads, how.callback)
    result = find_modes(units.apply(data), size, SeedSequence(task.seed), labelings, options)
    if result.is_interrupted:
        raise KeyboardInterrupt
    return online_modes(result, units, features), posterior_of(result, units, settings)


def online_modes(result: ModesResult, units: ColumnTransform, features: FeatureSummary) -> Stream:
    """A stream that goes on where a search ended."""
    followers = [
        [AdamState(Mode(units.to_original(found.unpruned.coefficients), found.unpruned.log_weights)) for found in modes]
        for modes in result.modes
    ]
    return Stream(followers, result.precision_rates, features)


def update_online(
    stream: Stream, task: BinaryProblem[InMemoryRows], settings: Settings, how: How
) -> tuple[Stream, RegressionPosterior]:
    """Take another batch; returns the stream after it and what it knows."""
    data = task.rows.dataset()
    # A copy, so that a batch that fails leaves nothing half done.
    batch = FeatureSummary.from_rows(data)
    features = stream.features.merged(batch)
    after = Stream(deepcopy(stream.followers), stream.precision_rates, features)
    # The spread of the columns is known better with every batch, and sparse rows are not centerd; coefficients are
    # expressed in the units of the batch.
    units = _units(features, data, settings)
    landscape = LogPosterior(settings.prior, settings.max_experts, settings.fit_weight, np.ones(data.n_columns))
    after.of_units(units)
    rows = units.apply(data)
    sides = [rows.flipped() if number else rows for number in range(len(stream.followers))]
    n_before = stream.features.weight
    reporting = Reporting(None)
    tasks = [
        partial(adam_pass, follower, side, landscape, float(rate), n_before, reporting.is_stopped)
        for side, followers in zip(sides, after.followers, strict=True)
        for follower, rate in zip(followers, after.precision_rates, strict=True)
    ]
    with ThreadPoolExecutor(how.n_threads) as pool:
        run_all(tasks, pool, reporting)
    if reporting.is_interrupted():
        raise KeyboardInterrupt
    found = _learned(stream, after, sides, batch)
    posterior = posterior_of(ModesResult(found, after.precision_rates, {}, is_complete=True), units, settings)
    after.of_units(units, back=True)
    return after, posterior


def _learned(
    before: Stream, after: Stream, sides: list[InMemoryDataset], batch: FeatureSummary
) -> list[list[FoundMode]]:
    """Return the modes after a batch; raises if one could not follow it because its numbers overflow."""
    n_steps = [[item.n_steps for followers in stream.followers for item in followers] for stream in (before, after)]
    if not all(then < now for then, now in zip(*n_steps, strict=True)):
        raise _too_large(before.features, batch)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return [
                [_found(follower.mode, side) for follower in followers]
                for side, followers in zip(sides, after.followers, strict=True)
            ]
    except OverflowError as error:
        raise _too_large(before.features, batch) from error


def _too_large(before: FeatureSummary, batch: FeatureSummary) -> ValueError:
    """An error that names the column that has grown most."""
    sizes = [np.maximum(np.abs(item.lower), np.abs(item.upper)) for item in (before, batch)]
    with np.errstate(divide="ignore"):
        column = int(np.argmax(np.log(sizes[1]) - np.log(np.maximum(sizes[0], np.finfo(np.float64).tiny))))
    return ValueError(
        "the modes cannot follow this batch, because its numbers are so much larger than those of the rows before "
        f"that the linear predictors overflow: column {column} of X was at most {sizes[0][column]:g} in absolute "
        f"value and is up to {sizes[1][column]:g} here. Check its units, or fit all rows again."
    )


def _found(mode: Mode, rows: InMemoryDataset) -> FoundMode:
    """A mode with all its experts, and the log likelihood of the last batch."""
    return FoundMode(mode, pruned(mode, row_blocks(rows))[1], mode)


def _units(features: FeatureSummary, batch: InMemoryDataset, settings: Settings) -> ColumnTransform:
    if settings.standardize:
        return running_transform(features, is_sparse=bool(sparse.issparse(batch.design)))
    return identity_transform(batch.n_columns)
