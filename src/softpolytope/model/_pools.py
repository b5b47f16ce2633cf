"""Pools of the probabilities of several draws, and of the regressions of several classes, into one."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import expit, logsumexp

from softpolytope._typing import FloatArray
from softpolytope.model._kernels import predict as _predict

Pool = Literal["linear", "logarithmic"]

# Log odds of one draw are limited to this in a logarithmic pool, where one draw that is certain would decide alone.
MAX_LOG_ODDS = 12.0
# Odds within these limits can be multiplied so often without overflow.
MAX_FACTORS = 40


def mixture_probabilities(rates: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return P(y = 1) and P(y = 0) by draw, given lambda of the labeling and, if there is one, of its opposite."""
    sides = [(-np.expm1(-own), np.exp(-own)) for own in rates]
    # The event of the opposite labeling is y = 0.
    sides[1:] = [(survival, event) for event, survival in sides[1:]]
    return np.concatenate([side[0] for side in sides]), np.concatenate([side[1] for side in sides])


def log_mean_probabilities(logs: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Return log P(y = 1) and log P(y = 0), given those of every draw of the labeling and of its opposite."""
    event, survival = ([_log_mean(pair[side]) for pair in logs] for side in (0, 1))
    if len(logs) == 1:
        return event[0], survival[0]
    half = np.log(0.5)
    return half + np.logaddexp(event[0], survival[1]), half + np.logaddexp(survival[0], event[1])


def _log_mean(logs: FloatArray) -> FloatArray:
    """Return the logarithm of the mean over draws, (draws, rows)."""
    return np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))


def mean_probabilities(rates: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return P(y = 1) and P(y = 0) averaged over draws, given lambda as `mixture_probabilities` takes it."""
    positive, negative = np.zeros(rates[0].shape[1]), np.zeros(rates[0].shape[1])
    _predict.add_mean_probabilities(rates[0], 1.0 / len(rates), positive, negative)
    if len(rates) == 2:
        _predict.add_mean_probabilities(rates[1], 0.5, negative, positive)
    return positive, negative


def mean_log_odds(rates: Sequence[FloatArray]) -> FloatArray:
    """Return the mean over all draws of the log odds of y = 1, given lambda as `mixture_probabilities` takes it.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.model import mean_log_odds
    >>> rates = -np.log(1.0 - np.array([[0.5], [0.8]]))  # two draws: log odds 0 and log 4
    >>> mean_log_odds([rates]).round(4).tolist()
    [0.6931]
    """
    total = np.zeros(rates[0].shape[1])
    for own, sign in zip(rates, (1.0, -1.0), strict=False):
        for start in range(0, len(own), MAX_FACTORS):
            # One logarithm of a product instead of many.
            product = np.ones(len(total))
            _predict.multiply_odds(own[start : start + MAX_FACTORS], MAX_LOG_ODDS, product)
            total += sign / (len(own) * len(rates)) * np.log(product)
    return total


def pool_probabilities(pool: Pool, rates: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return P(y = 1) and P(y = 0) of all draws together, given lambda as `mixture_probabilities` takes it."""
    return mean_probabilities(rates) if pool == "linear" else pooled_probabilities(rates)


def pooled_probabilities(rates: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return P(y = 1) and P(y = 0) by the mean log odds of draws, given lambda as `mixture_probabilities` takes it."""
    log_odds = mean_log_odds(rates)
    return np.asarray(expit(log_odds)), np.asarray(expit(-log_odds))


def combine_odds(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Return class probabilities, which sum to one, from P(class) and P(not class), both (classes, ...).

    The regressions are treated as independent and conditioned on exactly one of them being positive: P(c) is
    proportional to the odds of c. `benchmarks/multiclass.py` compares this with dividing by the sum.
    """
    log_odds = np.log(np.maximum(positive, np.finfo(float).tiny)) - np.log(np.maximum(negative, np.finfo(float).tiny))
    odds = np.exp(log_odds - log_odds.max(axis=0))
    return np.asarray(odds / odds.sum(axis=0))
