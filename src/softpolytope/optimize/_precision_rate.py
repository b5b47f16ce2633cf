"""The scale of the prior: a precision rate for each restart, chosen on held-out rows.

A loose prior lets a model with many experts fit noise, a tight one keeps its boundary straight, and the right one
differs between data sets by orders of magnitude. Rates are compared by the likelihood of held-out rows. With few rows
that comparison is itself uncertain, so each restart makes its own, with randomly weighted rows (the Bayesian
bootstrap): the restarts then represent each rate in proportion to the probability that it is the best.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.data import InMemoryDataset
from softpolytope.optimize._mode import Mode

# Precision rates divided by the precision shape, from loose to tight.
RATE_GRID = (300.0, 30.0, 3.0, 0.3, 0.03, 0.003)
# Consecutive rates that must be worse than the best one before tighter rates are skipped.
PATIENCE = 2
# A label that was given probability zero would outweigh all other rows.
MIN_PROBABILITY = 1e-6


def deal_folds(data: InMemoryDataset, n_folds: int, rng: Generator) -> NDArray[np.intp]:
    """Return the fold of every row; equal rows share one even if their labels differ, and labels are spread evenly.

    If equal rows were in different folds, held-out rows would also be training rows. Weights affect only the order in
    which folds are dealt, so a weight stands for copies of a row here as everywhere.
    """
    groups = data.groups()
    totals = np.bincount(groups, data.row_weights)
    share = np.bincount(groups, data.row_weights * data.labels) / totals
    shuffled = rng.permutation(len(totals))
    order = shuffled[np.argsort(share[shuffled], kind="stable")]
    folds = np.empty(len(totals), dtype=np.intp)
    folds[order] = np.arange(len(totals)) % n_folds
    return folds[groups]


@dataclass(frozen=True, slots=True)
class RateTrial:
    """A precision rate, the modes found under it, and the log probabilities they give to held-out labels."""

    rate: float
    modes: list[Mode]  # one per labeling and restart
    log_probabilities: FloatArray  # (rows,)


def is_settled(losses: Sequence[float]) -> bool:
    """Return whether the last `PATIENCE` rates were all worse than the best, so that tighter ones need no trial."""
    return len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE


def draw_rate_choices(
    trials: Sequence[RateTrial], weights: FloatArray, n_restarts: int, rng: Generator
) -> NDArray[np.intp]:
    """Draw random row weights for each restart, and return the index of the trial that is best under them.

    A row of weight w is w rows, each with a weight ~ Exp(1).
    """
    log_probabilities = np.array([trial.log_probabilities for trial in trials])
    drawn = [rng.gamma(weights) for _ in range(n_restarts)]
    return np.array([int(np.argmax(log_probabilities @ own)) for own in drawn], dtype=np.intp)


def log_probabilities(
    rates: Sequence[Sequence[FloatArray]], labelings: Sequence[int], held: InMemoryDataset
) -> FloatArray:
    """Return log P(label), (rows,), with P averaged over the Poisson rates of all labelings and restarts."""
    probabilities = [
        np.where(held.labels != bool(labeling), -np.expm1(-rate), np.exp(-rate))
        for labeling, own in zip(labelings, rates, strict=True)
        for rate in own
    ]
    return np.asarray(np.log(np.maximum(np.mean(probabilities, axis=0), MIN_PROBABILITY)))
