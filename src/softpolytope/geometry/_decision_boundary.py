"""Decision boundary of a model: the gap between classes, its gradient, and where steps from rows cross it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softpolytope._typing import BoolArray, FloatArray, IndexArray
from softpolytope.geometry._half_spaces import (
    criterion_offsets,
    layer_derivatives,
    linear_predictors,
    log_contributions_at,
)
from softpolytope.model import MAX_LOG_ODDS, Draws, Estimate, Posterior, RegressionPosterior

SMALLEST = float(np.finfo(float).tiny)
# Relative error that rounding may add to a sum, whatever the order of its terms, which depends on the number of rows
# that a model evaluates at once.
ROUNDING = 1e-13
# Points evaluated along each ray, closer together near the row, and bisections between two of them.
N_STEPS, N_HALVINGS = 48, 24


@dataclass(frozen=True, slots=True)
class Hyperplane:
    """Hyperplane with the second class on the side normal . x > offset."""

    normal: FloatArray  # (features,)
    offset: float
    size: float  # of the terms that the offset was computed from

    def beyond(self, X: FloatArray) -> FloatArray:
        """Return normal . x - offset of rows."""
        return np.asarray(X @ self.normal - self.offset)

    def rounding(self, X: FloatArray) -> FloatArray:
        """Return how far rows must be beyond the plane for rounding not to matter."""
        return np.asarray(ROUNDING * (np.abs(X) @ np.abs(self.normal) + self.size))


@dataclass(frozen=True, slots=True)
class Decision:
    """Scores of the classes, the highest of which is predicted; ties of two classes go to the first."""

    posterior: Posterior
    estimate: Estimate
    n_threads: int = 1

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the log odds of each class against the others, (classes, rows); of two, half of them each."""
        odds = []
        if not X.shape[0]:
            return np.empty((max(2, len(self.posterior.regressions)), 0))
        for regression in self.posterior.regressions:
            positive, negative = regression.probabilities(X, self.estimate, self.n_threads)
            odds.append(np.log(np.maximum(positive, SMALLEST)) - np.log(np.maximum(negative, SMALLEST)))
        return np.stack(odds) if len(odds) > 1 else 0.5 * np.stack([-odds[0], odds[0]])

    def codes(self, X: FloatArray) -> IndexArray:
        """Return the indices of the predicted classes."""
        return np.asarray(np.argmax(self.scores(X), axis=0))

    def hyperplane(self) -> Hyperplane | None:
        """Return the hyperplane that separates the classes, if it is a single one."""
        if len(self.posterior.regressions) > 1 or len(self.posterior.regressions[0].labelings) > 1:
            return None
        draws = self.posterior.regressions[0].labelings[0].select_draws(self.estimate)
        if draws.coefficients.shape[:2] != (1, 1):
            return None
        criterion, intercept = float(criterion_offsets(draws.expert_weights, 0.5, 1)[0, 0]), draws.coefficients[0, 0, 0]
        return Hyperplane(draws.coefficients[0, 0, 1:], criterion - intercept, 1.0 + abs(criterion) + abs(intercept))

    def gap(self, X: FloatArray, is_wanted: BoolArray) -> FloatArray:
        """Return the lead of the best of the wanted classes (classes, rows) over the best of the others, (rows,)."""
        scores = self.scores(X)
        wanted = np.where(is_wanted, scores, -np.inf).max(axis=0)
        return np.asarray(wanted - np.where(is_wanted, -np.inf, scores).max(axis=0))

    def largest_coefficients(self) -> FloatArray:
        """Return the largest magnitude of each coefficient over experts and layers, (1 + features,)."""
        labelings = [labeling for regression in self.posterior.regressions for labeling in regression.labelings]
        sizes = [np.abs(labeling.select_draws(self.estimate).coefficients) for labeling in labelings]
        return np.asarray(np.max([size.max(axis=(0, 1), initial=0.0) for size in sizes], axis=0))

    def gap_gradients(self, X: FloatArray, is_wanted: BoolArray) -> FloatArray:
        """Return the derivatives of the gap by the features, (rows, features)."""
        gradients = [_log_odds_gradients(regression, X, self.estimate) for regression in self.posterior.regressions]
        if len(gradients) == 1:
            return np.where(is_wanted[1][:, None], gradients[0], -gradients[0])
        scores, stacked = self.scores(X), np.stack(gradients)
        rows = np.arange(X.shape[0])
        ahead = np.where(is_wanted, scores, -np.inf).argmax(axis=0)
        behind = np.where(is_wanted, -np.inf, scores).argmax(axis=0)
        return np.asarray(stacked[ahead, rows] - stacked[behind, rows])


def _log_odds_gradients(regression: RegressionPosterior, X: FloatArray, estimate: Estimate) -> FloatArray:
    """Return the derivatives of log P(y = 1) - log P(y = 0) by the features, (rows, features)."""
    is_linear = regression.pool == "linear"
    gradients = np.zeros(X.shape)
    for sign, labeling in zip((1.0, -1.0), regression.labelings, strict=False):
        derivatives = _probability_derivatives if is_linear else _log_odds_derivatives
        gradients += sign * _mean_gradients(labeling.select_draws(estimate), X, derivatives)
    gradients /= len(regression.labelings)
    if not is_linear:
        return gradients
    positive, negative = regression.probabilities(X, estimate)
    return gradients * (1.0 / np.maximum(positive, SMALLEST) + 1.0 / np.maximum(negative, SMALLEST))[:, None]


def _probability_derivatives(rates: FloatArray) -> FloatArray:
    """Return the derivatives of 1 - e^-lambda by lambda."""
    return np.asarray(np.exp(-rates))


def _log_odds_derivatives(rates: FloatArray) -> FloatArray:
    """Return the derivatives of log(e^lambda - 1) by lambda, zero beyond the limits of the log odds."""
    is_within = (rates < MAX_LOG_ODDS) & (rates > np.exp(-MAX_LOG_ODDS))
    return np.where(is_within, -1.0 / np.expm1(-np.maximum(rates, SMALLEST)), 0.0)


def _mean_gradients(draws: Draws, X: FloatArray, derivatives: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return the derivatives by the features of the mean over draws of a function of lambda, (rows, features)."""
    own = derivatives(draws.rates(np.ascontiguousarray(X)))
    expert_draws = np.repeat(np.arange(len(draws)), np.diff(draws.starts))
    predictors = linear_predictors(draws.coefficients, X)
    rates = np.exp(log_contributions_at(predictors, draws.expert_weights))
    per_layer = layer_derivatives(predictors) * (rates * own[expert_draws])[:, None, :]
    normals = draws.coefficients[:, :, 1:].reshape(-1, X.shape[1])
    return np.asarray(per_layer.reshape(len(normals), -1).T @ normals) / len(draws)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of changed rows, and the features that must stay integers."""

    lower: FloatArray  # (rows, features)
    upper: FloatArray  # (rows, features)
    is_integer: BoolArray  # (features,)


class Boundary:
    """Boundary of the wanted classes around rows, as steps from the rows in standard deviations."""

    def __init__(
        self, decision: Decision, rows: FloatArray, is_wanted: BoolArray, limits: Limits, scale: FloatArray
    ) -> None:
        self.decision, self.rows, self.is_wanted, self.limits, self.scale = decision, rows, is_wanted, limits, scale
        self.lower, self.upper = (limits.lower - rows) / scale, (limits.upper - rows) / scale
        self._largest = decision.largest_coefficients()

    def points(self, row_of: IndexArray, steps: FloatArray) -> FloatArray:
        """Return the end points of steps from rows; rounding does not carry them beyond the limits."""
        points = self.rows[row_of] + steps * self.scale
        return np.ascontiguousarray(np.clip(points, self.limits.lower[row_of], self.limits.upper[row_of]))

    def gap(self, row_of: IndexArray, steps: FloatArray) -> FloatArray:
        """Return the lead of the wanted classes at steps from rows, less what rounding may have added."""
        return self.gap_at(self.points(row_of, steps), self.is_wanted[:, row_of])

    def gap_at(self, points: FloatArray, is_wanted: BoolArray) -> FloatArray:
        """Return the lead of the wanted classes (classes, points) at points, less what rounding may have added."""
        rounding = ROUNDING * (1.0 + self._largest[0] + np.abs(points) @ self._largest[1:])
        return np.asarray(self.decision.gap(points, is_wanted) - rounding)

    def normals(self, row_of: IndexArray, steps: FloatArray) -> FloatArray:
        """Return the gradients of the gap at steps from rows, in standard deviations."""
        return self.decision.gap_gradients(self.points(row_of, steps), self.is_wanted[:, row_of]) * self.scale

    def crossings(self, row_of: IndexArray, rays: FloatArray, aims: FloatArray) -> tuple[IndexArray, FloatArray]:
        """Find where rays first cross into a wanted class: return rows, and steps just beyond the crossing.

        `aims` are distances along the rays, infinite if there are none, at which a wanted class is known to be.
        """
        if not len(rays):
            return row_of, rays
        ends = self.exits(row_of, rays)
        is_open, before, beyond = np.ones(len(rays), dtype=bool), np.zeros(len(rays)), np.full(len(rays), np.inf)
        for step in range(1, N_STEPS + 1):
            length = ends * (step / N_STEPS) ** 2
            tried = np.flatnonzero(is_open)
            is_beyond = self.gap(row_of[tried], rays[tried] * length[tried, None]) > 0.0
            beyond[tried[is_beyond]] = length[tried[is_beyond]]
            is_open[tried[is_beyond]] = False
            # An aim may lie between two steps that both miss its class.
            near = np.flatnonzero(is_open | (beyond == length))
            near = near[(before[near] < aims[near]) & (aims[near] < length[near])]
            is_hit = self.gap(row_of[near], rays[near] * aims[near, None]) > 0.0
            beyond[near[is_hit]] = aims[near[is_hit]]
            is_open[near[is_hit]] = False
            before[is_open] = length[is_open]
        is_found = np.isfinite(beyond)
        row_of, rays = row_of[is_found], rays[is_found]
        return row_of, rays * self._bisect(row_of, rays, before[is_found], beyond[is_found])[:, None]

    def exits(self, row_of: IndexArray, rays: FloatArray) -> FloatArray:
        """Return how far rays go before they leave the bounds."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(rays > 0.0, self.upper[row_of], self.lower[row_of]) / rays
        return np.asarray(np.where(rays == 0.0, np.inf, ends).min(axis=1))

    def pull_back(self, row_of: IndexArray, steps: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Shorten or stretch steps until they end just beyond the boundary; return them and whether they do."""
        beyond = np.where(self.gap(row_of, steps) > 0.0, 1.0, 1.5)
        beyond = np.minimum(beyond, self.exits(row_of, steps))
        is_crossing = self.gap(row_of, steps * beyond[:, None]) > 0.0
        length = self._bisect(row_of, steps, np.zeros(len(steps)), np.where(is_crossing, beyond, 0.0))
        return steps * length[:, None], is_crossing & (length > 0.0)

    def _bisect(self, row_of: IndexArray, rays: FloatArray, before: FloatArray, beyond: FloatArray) -> FloatArray:
        """Halve brackets around crossings; return their far ends."""
        for _ in range(N_HALVINGS):
            middle = 0.5 * (before + beyond)
            is_beyond = self.gap(row_of, rays * middle[:, None]) > 0.0
            beyond, before = np.where(is_beyond, middle, beyond), np.where(is_beyond, before, middle)
        return beyond
