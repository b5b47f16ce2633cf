"""What a model decides at a row, by how much, and how that changes with the row."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.geometry._bounds import criterion_offsets
from softpolytope.geometry._regions import layer_slopes, linear_predictors, log_contributions_at
from softpolytope.model import Draws, Estimate, Posterior, RegressionPosterior

SMALLEST = float(np.finfo(float).tiny)


# Shares of the terms of a sum that rounding may lose, in whatever order they are added: it depends on how many rows a
# model is asked about at once.
ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class Hyperplane:
    """The second class is where normal . x > offset."""

    normal: FloatArray  # (features,)
    offset: float
    size: float  # of what the offset was computed from

    def beyond(self, X: FloatArray) -> FloatArray:
        """normal . x - offset of rows."""
        return np.asarray(X @ self.normal - self.offset)

    def rounding(self, X: FloatArray) -> FloatArray:
        """How far beyond the plane rows must be for any computation to say so."""
        return np.asarray(ROUNDING * (np.abs(X) @ np.abs(self.normal) + self.size))


@dataclass(frozen=True, slots=True)
class Decision:
    """The classes' scores; the class of the highest is predicted. Of two classes, the second wins if it is higher."""

    posterior: Posterior
    estimate: Estimate
    n_threads: int = 1

    def scores(self, X: FloatArray) -> FloatArray:
        """Log odds of the classes against the others, (classes, rows); of two classes, half of them each."""
        odds = []
        if not X.shape[0]:
            return np.empty((max(2, len(self.posterior.regressions)), 0))
        for regression in self.posterior.regressions:
            positive, negative = regression.probabilities(X, self.estimate, self.n_threads)
            odds.append(np.log(np.maximum(positive, SMALLEST)) - np.log(np.maximum(negative, SMALLEST)))
        return np.stack(odds) if len(odds) > 1 else 0.5 * np.stack([-odds[0], odds[0]])

    def codes(self, X: FloatArray) -> Any:
        """Numbers of the classes predicted."""
        return np.argmax(self.scores(X), axis=0)

    def hyperplane(self) -> "Hyperplane | None":
        """The single hyperplane that decides, if there is one."""
        if len(self.posterior.regressions) > 1 or len(self.posterior.regressions[0].labelings) > 1:
            return None
        draws = self.posterior.regressions[0].labelings[0].chosen(self.estimate)
        if draws.coefficients.shape[:2] != (1, 1):
            return None
        criterion, intercept = float(criterion_offsets(draws.expert_weights, 0.5, 1)[0, 0]), draws.coefficients[0, 0, 0]
        return Hyperplane(draws.coefficients[0, 0, 1:], criterion - intercept, 1.0 + abs(criterion) + abs(intercept))

    def gap(self, X: FloatArray, is_wanted: BoolArray) -> FloatArray:
        """By how much the best of the wanted classes (classes, rows) is ahead of the best of the others, (rows,)."""
        scores = self.scores(X)
        wanted = np.where(is_wanted, scores, -np.inf).max(axis=0)
        return np.asarray(wanted - np.where(is_wanted, -np.inf, scores).max(axis=0))

    def largest_coefficients(self) -> FloatArray:
        """The largest size of each coefficient over all experts and layers, (1 + features,), the intercept's first."""
        labelings = [labeling for regression in self.posterior.regressions for labeling in regression.labelings]
        sizes = [np.abs(labeling.chosen(self.estimate).coefficients) for labeling in labelings]
        return np.asarray(np.max([size.max(axis=(0, 1), initial=0.0) for size in sizes], axis=0))

    def gap_slopes(self, X: FloatArray, is_wanted: BoolArray) -> FloatArray:
        """Derivatives of the gap by the features, (rows, features)."""
        slopes = [_log_odds_slopes(regression, X, self.estimate) for regression in self.posterior.regressions]
        if len(slopes) == 1:
            return np.where(is_wanted[1][:, None], slopes[0], -slopes[0])
        scores, stacked = self.scores(X), np.stack(slopes)
        rows = np.arange(X.shape[0])
        ahead = np.where(is_wanted, scores, -np.inf).argmax(axis=0)
        behind = np.where(is_wanted, -np.inf, scores).argmax(axis=0)
        return np.asarray(stacked[ahead, rows] - stacked[behind, rows])


def _log_odds_slopes(regression: RegressionPosterior, X: FloatArray, estimate: Estimate) -> FloatArray:
    """Derivatives of log P(y = 1) - log P(y = 0) by the features, (rows, features)."""
    positive, negative = regression.probabilities(X, estimate)
    slopes = np.zeros(X.shape)
    for sign, labeling in zip((1.0, -1.0), regression.labelings, strict=False):
        slopes += sign * _mean_event_slopes(labeling.chosen(estimate), X)
    slopes /= len(regression.labelings)
    return slopes * (1.0 / np.maximum(positive, SMALLEST) + 1.0 / np.maximum(negative, SMALLEST))[:, None]


def _mean_event_slopes(draws: Draws, X: FloatArray) -> FloatArray:
    """Derivatives of the mean over draws of 1 - e^-lambda, (rows, features)."""
    survivals = np.exp(-draws.rate_function()(np.ascontiguousarray(X)))
    draw_of_expert = np.repeat(np.arange(len(draws)), np.diff(draws.starts))
    predictors = linear_predictors(draws.coefficients, X)
    rates = np.exp(log_contributions_at(predictors, draws.expert_weights))
    per_layer = layer_slopes(predictors) * (rates * survivals[draw_of_expert])[:, None, :]
    n_features = X.shape[1]
    hyperplanes = draws.coefficients[:, :, 1:].reshape(-1, n_features)
    return np.asarray(per_layer.reshape(len(hyperplanes), -1).T @ hyperplanes) / len(draws)
