"""A regression by climbs of the posterior: its draws are modes."""

from dataclasses import replace

import numpy as np
from numpy.random import SeedSequence

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import ColumnTransform, Dataset, LabeledRows
from softpolytope.estimators._parameters import Settings
from softpolytope.estimators._tasks import BinaryProblem, How
from softpolytope.model import Draws, LabelingPosterior, RegressionPosterior
from softpolytope.optimize import FoundMode, Mode, ModeSettings, ModesResult, find_modes
from softpolytope.parallel import RunOptions


def maximize(
    data: Dataset,
    units: ColumnTransform,
    task: BinaryProblem[LabeledRows],
    settings: Settings,
    how: How,
    start: ModesResult | None,
) -> tuple[RegressionPosterior, ModesResult]:
    """Climb from random starts, or on from modes; returns posterior and modes."""
    result = find_modes(
        data,
        ModeSettings(
            settings.max_experts,
            settings.n_layers,
            settings.prior,
            settings.n_restarts,
            settings.fit_weight,
            settings.bootstrap,
        ),
        SeedSequence(task.seed),
        (0, 1) if settings.symmetric else (0,),
        RunOptions(how.n_threads, how.callback, settings.checkpoint, task.folder),
        start,
    )
    return posterior_of(result, units, settings), result


def with_transform(result: ModesResult, before: ColumnTransform | None, now: ColumnTransform) -> ModesResult:
    """The same modes for columns that are changed in another way; where they are not, to the same bits."""
    if before is None or before.are_same(now):
        return result

    def changed(mode: Mode) -> Mode:
        return Mode(now.to_transformed(before.to_original(mode.coefficients)), mode.log_weights)

    modes = [
        [FoundMode(changed(found.mode), found.log_likelihood, changed(found.unpruned)) for found in side]
        for side in result.modes
    ]
    return replace(result, modes=modes)


def posterior_of(result: ModesResult, units: ColumnTransform, settings: Settings) -> RegressionPosterior:
    """Every mode a draw, and a chain of its own."""
    mass = settings.prior.mass_shape / settings.prior.mass_rate
    return RegressionPosterior(
        tuple(_labeling_posterior(modes, result.is_of_best_rate(), units, mass) for modes in result.modes)
    )


def _labeling_posterior(
    modes: list[FoundMode], may_be_best: BoolArray, units: ColumnTransform, mass: float
) -> LabelingPosterior:
    # Between modes of different rates the likelihood of the training rows would always choose the loosest.
    best = max((modes[number] for number in np.flatnonzero(may_be_best)), key=lambda found: found.log_likelihood)
    values = np.array([[found.log_likelihood] for found in modes])
    n_active = np.array([[float(len(found.mode.log_weights))] for found in modes])
    return LabelingPosterior(
        Draws.from_parts([_part(found, units) for found in modes]),
        Draws.from_parts([_part(best, units)]),
        len(modes),
        values,
        n_active,
        np.full_like(values, mass),
    )


def _part(found: FoundMode, units: ColumnTransform) -> tuple[FloatArray, FloatArray, BoolArray, float]:
    weights = np.exp(found.mode.log_weights)
    return units.to_original(found.mode.coefficients), weights, np.ones(len(weights), dtype=bool), found.log_likelihood
