"""The prior's scale: which precision rate each restart has, decided by rows that were held out.

A loose prior lets a model of many experts follow noise, a tight one keeps it from bending at all, and the right one
differs between data sets by orders of magnitude. Rates are compared by the likelihood of held-out rows. With few rows
that comparison is itself uncertain, so each restart makes its own, with the rows weighted at random (the Bayesian
bootstrap): the restarts then stand for the rates in proportion to the chance that each is best.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.data import TrainingData
from softpolytope.optimize._mode import Mode

# Precision rates per unit of precision shape, from loose to tight.
SCALES = (300.0, 30.0, 3.0, 0.3, 0.03, 0.003)
# Rates in a row that must be worse than the best before tighter ones are left untried.
PATIENCE = 2
# A chance of zero for what then happens would outweigh all other rows.
MIN_PROBABILITY = 1e-6


@dataclass(frozen=True, slots=True)
class RateTrial:
    """A precision rate, the modes found under it, and the log probabilities it gave to held-out rows."""

    rate: float
    modes: list[Mode]  # of all labelings and restarts
    log_probabilities: FloatArray  # (rows,)

    def loss(self, weights: FloatArray) -> float:
        """Mean -log P of the held-out rows; none of no rows."""
        return -float(weights @ self.log_probabilities / weights.sum()) if len(weights) else 0.0


def is_settled(tried: Sequence[RateTrial], weights: FloatArray) -> bool:
    """Whether the last rates were all worse than the best, so that tighter ones need no trial."""
    losses = [item.loss(weights) for item in tried]
    return len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE


def own_choices(tried: Sequence[RateTrial], weights: FloatArray, n_restarts: int, rng: Generator) -> NDArray[np.intp]:
    """For each restart the rate that is best of those tried, rows weighted at random: a weight is so many rows."""
    log_probabilities = np.array([item.log_probabilities for item in tried])
    drawn = [rng.gamma(weights) for _ in range(n_restarts)]
    return np.array([int(np.argmax(log_probabilities @ own)) for own in drawn], dtype=np.intp)


def log_probabilities(
    rates: Sequence[Sequence[FloatArray]], labelings: Sequence[int], held: TrainingData
) -> FloatArray:
    """Log P of the labels of rows, averaged over lambda of labelings and restarts, (rows,)."""
    probabilities = [
        chance_of_labels(rate, held.labels != bool(labeling))
        for labeling, own in zip(labelings, rates, strict=True)
        for rate in own
    ]
    return np.asarray(np.log(np.maximum(np.mean(probabilities, axis=0), MIN_PROBABILITY)))


def chance_of_labels(rates: FloatArray, labels: NDArray[np.bool_]) -> FloatArray:
    """P of the labels given lambda."""
    return np.where(labels, -np.expm1(-rates), np.exp(-rates))
