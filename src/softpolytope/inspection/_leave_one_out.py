"""Leave-one-out predictive probabilities by Pareto-smoothed importance sampling (Vehtari et al. 2024).

Each labeling of each class has its own posterior and is reweighted separately: with w_d proportional to
1 / p_s(y_i | draw d), the probability of row i without row i is h_s(i) = sum_d w_d p_s(y_i | draw d). The model
predicts with the mean over both labelings, and so does the model without the row: (h_0(i) + h_1(i)) / 2. Averaging the
labelings draw by draw before reweighting would be too optimistic: the mean of two independent draws varies half as much
as either, which the weights mistake for a sharper posterior.

The weights equal those of ArviZ's `psislw` to 1e-12 (tests/inspection/test_leave_one_out.py). They are computed here
because ArviZ is optional, also for `to_datatree`, and its versions before and after 1.0 have the function in different
packages with different signatures.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, logsumexp

from softpolytope._typing import BoolArray, FloatArray, IndexArray
from softpolytope.inspection._diagnostics import MIN_DRAWS, bulk_ess
from softpolytope.model import Design, LabelingPosterior, Posterior

LARGEST = np.finfo(np.float64).max
TINY = np.finfo(np.float64).tiny
# No Pareto law is fitted to a tail of fewer ratios.
MIN_TAIL = 5


@dataclass(frozen=True, slots=True)
class LabelingLogs:
    """Log-likelihood of rows by the draws of one labeling, and its log-probabilities of both labels without the row."""

    number: int  # of the regression
    side: int  # of the labeling in it
    n_chains: int
    logs: FloatArray  # (draws, rows)
    left_out: FloatArray  # (rows,)  log P(label of the row), without the row
    left_out_other: FloatArray  # (rows,)  log P(the other label), without the row


def labeling_logs(posterior: Posterior, X: Design, codes: IndexArray) -> list[LabelingLogs]:
    """Return the log-likelihood of rows, with labels as indices of classes, by each labeling of each class."""
    found = []
    for number, regression in enumerate(posterior.regressions):
        is_class = codes == (1 if len(posterior.regressions) == 1 else number)
        for side, labeling in enumerate(regression.labelings):
            # The second labeling is of the opposite labels.
            own, other = _log_probabilities(labeling, X, is_class != bool(side))
            weights = smoothed_log_weights(-own, _relative_efficiency(labeling))
            left_out = (np.asarray(logsumexp(weights + logs, axis=0)) for logs in (own, other))
            found.append(LabelingLogs(number, side, labeling.n_chains, own, *left_out))
    return found


def log_predictive(given: list[LabelingLogs], codes: IndexArray) -> FloatArray:
    """Return the log-probability of each row's label as predicted by the model without the row."""
    n_classes = 1 + max(item.number for item in given)
    own, other = (np.empty((n_classes, len(codes))) for _ in range(2))
    for number in range(n_classes):
        sides = [item for item in given if item.number == number]
        own[number] = logsumexp([item.left_out for item in sides], axis=0) - np.log(len(sides))
        other[number] = logsumexp([item.left_out_other for item in sides], axis=0) - np.log(len(sides))
    if n_classes == 1:
        return np.asarray(own[0])
    # As in `model.combine_odds`: the probability of a class is proportional to its odds.
    is_own = codes == np.arange(n_classes)[:, None]
    log_odds = np.where(is_own, own - other, other - own)
    return np.asarray(log_softmax(log_odds, axis=0)[codes, np.arange(len(codes))])


def mixture_logs(given: list[LabelingLogs], codes: IndexArray) -> FloatArray:
    """Return the log-likelihood of rows by both labelings' draws as one mixture, (chains of both, draws, rows).

    The ratio of the posterior without row i to that with it is h_s(i) / p_s(y_i | draw) in labeling s; its mean is one
    in each, so the labelings keep equal shares whatever row is left out. Therefore p_s(y_i | draw) is multiplied by
    h(i) / h_s(i), where h(i) is the probability that the whole model without row i gives to row i: importance sampling
    with the inverse of this product as ratio, as in ArviZ, then uses these ratios and yields h(i). Without the factor,
    the shares of the labelings would change from row to row, and the result would be the harmonic mean of h_0(i) and
    h_1(i) instead of the arithmetic one. With more than two classes, the draws of a row are those of its own class
    against the rest.
    """
    whole = log_predictive(given, codes)
    is_binary = all(item.number == 0 for item in given)
    sides = []
    for side in sorted({item.side for item in given}):
        items = [item for item in given if item.side == side]
        logs = np.empty((items[0].n_chains, len(items[0].logs) // items[0].n_chains, len(codes)))
        for item in items:
            rows = np.flatnonzero((codes == item.number) | is_binary)
            moved = item.logs[:, rows] + (whole - item.left_out)[rows]
            logs[:, :, rows] = moved.reshape(*logs.shape[:2], len(rows))
        sides.append(logs)
    return np.concatenate(sides)


def smoothed_log_weights(log_ratios: FloatArray, relative_efficiency: float = 1.0) -> FloatArray:
    """Return logarithms of importance weights that sum to one, (draws, rows), from logarithms of ratios.

    The largest ratios of each row are replaced by the expected order statistics of the generalized Pareto law that
    fits them. `relative_efficiency` is the number of effective draws divided by the number of draws.
    """
    n_draws = len(log_ratios)
    n_tail = int(np.ceil(min(0.2 * n_draws, 3.0 * np.sqrt(n_draws / relative_efficiency))))
    weights = log_ratios - log_ratios.max(axis=0)
    if MIN_TAIL <= n_tail < n_draws:
        for row in range(weights.shape[1]):
            _smooth_tail(weights[:, row], n_tail)
    return np.asarray(weights - logsumexp(weights, axis=0))


def _smooth_tail(log_ratios: FloatArray, n_tail: int) -> None:
    """Smooth the largest ratios of one row, whose maximum is one, in place."""
    order = np.argsort(log_ratios, kind="stable")
    cutoff = max(log_ratios[order[-n_tail - 1]], np.log(TINY))
    tail = order[log_ratios[order] > cutoff]
    if len(tail) < MIN_TAIL:
        return
    excess = np.exp(log_ratios[tail]) - np.exp(cutoff)
    if not excess[0] > 0.0:  # ratios so close to the cutoff that the difference underflows
        return
    shape, scale = pareto_fit(excess)
    levels = (np.arange(len(tail)) + 0.5) / len(tail)
    quantiles = -scale * np.log1p(-levels) if shape == 0.0 else scale * np.expm1(-shape * np.log1p(-levels)) / shape
    # No weight may exceed the largest ratio.
    log_ratios[tail] = np.minimum(np.log(quantiles + np.exp(cutoff)), 0.0)


def pareto_fit(excess: FloatArray) -> tuple[float, float]:
    """Return shape and scale of the generalized Pareto law of sorted positive numbers (Zhang and Stephens 2009).

    The shape is shrunk towards 0.5 by the weight of ten numbers, as in ArviZ and in the R package loo.
    """
    n_numbers = len(excess)
    n_points = 30 + int(np.sqrt(n_numbers))
    quartile = excess[int(n_numbers / 4 + 0.5) - 1]
    spread = 1.0 - np.sqrt(n_points / (np.arange(1, n_points + 1) - 0.5))
    points = spread / (3.0 * quartile) + 1.0 / excess[-1]
    shapes = np.log1p(-points[:, None] * excess).mean(axis=1)
    profile = n_numbers * (np.log(-points / shapes) - shapes - 1.0)
    point = float(np.exp(log_softmax(profile)) @ points)
    shape = float(np.log1p(-point * excess).mean())
    return (shape * n_numbers + 5.0) / (n_numbers + 10.0), -shape / point


def _log_probabilities(labeling: LabelingPosterior, X: Design, is_positive: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return finite log-probabilities of the rows' labels and of the opposite labels, (draws, rows)."""
    rates = np.minimum(labeling.draws.rates(X), LARGEST)
    event = np.log(np.maximum(-np.expm1(-rates), TINY))
    return np.where(is_positive, event, -rates), np.where(is_positive, -rates, event)


def _relative_efficiency(labeling: LabelingPosterior) -> float:
    """Return the effective draws of the training log-likelihood divided by the number of draws."""
    logs = labeling.draws.log_likelihood.reshape(labeling.n_chains, -1)
    return min(1.0, bulk_ess(logs) / logs.size) if logs.shape[1] >= MIN_DRAWS else 1.0
