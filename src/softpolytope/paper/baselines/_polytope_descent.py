"""Stochastic descent of the convex polytope machine, compiled."""

import numpy as np

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.paper.baselines._common import compiled

# The tool uses an entropy only when there are this many assigned rows for each hyperplane.
ROWS_PER_HYPERPLANE = 5


@compiled
def _entropy_term(count: float, total: float) -> float:
    """Return -p log p for p = count / total."""
    share = count / total
    return -share * np.log(share) if share > 0.0 else 0.0


@compiled
def _learner(scores: FloatArray, best: int, old: int, occupancy: FloatArray, min_entropy: float) -> int:
    """Return the hyperplane that learns from an outer row: the best one, unless the entropy would stay too low."""
    n_hyperplanes, n_assigned = len(scores), occupancy.sum()
    if n_assigned < ROWS_PER_HYPERPLANE * n_hyperplanes:
        return best
    before, after = 0.0, 0.0
    for k in range(n_hyperplanes):
        before += _entropy_term(occupancy[k], n_assigned)
        after += _entropy_term(occupancy[k] + (k == best) - (k == old), n_assigned + (old < 0))
    if after >= min_entropy or after > before:
        return best
    # A move to a hyperplane with fewer rows raises the entropy; a first assignment does so where there are few.
    bound = occupancy[old] if old >= 0 else n_assigned / n_hyperplanes
    chosen = -1
    for k in range(n_hyperplanes):
        if occupancy[k] < bound and (chosen < 0 or scores[k] > scores[chosen]):
            chosen = k
    return chosen if chosen >= 0 else best


@compiled
def _score(sums: FloatArray, x: FloatArray, scores: FloatArray) -> None:
    """Write to `scores` the score of every hyperplane on a row."""
    scores[:] = 0.0
    for column in range(len(x)):
        for k in range(len(scores)):
            scores[k] += x[column] * sums[column, k]


@compiled
def _add(sums: FloatArray, x: FloatArray, k: int, weight: float) -> None:
    """Add a weighted row to one hyperplane."""
    for column in range(len(x)):
        sums[column, k] += weight * x[column]


@compiled
def descend(
    design: FloatArray,
    is_outer: BoolArray,
    sums: FloatArray,
    penalty: float,
    min_entropy: float,
    n_steps: int,
    rng: np.random.Generator,
) -> None:
    """Make Pegasos steps of rate 1 / (penalty t) from zero.

    `sums` (columns, hyperplanes) are the weights times penalty * t: without decay, a step adds or subtracts half a
    row, and a margin of one is penalty * t.
    """
    n_hyperplanes = sums.shape[1]
    order = np.arange(len(design))
    scores, occupancy = np.zeros(n_hyperplanes), np.zeros(n_hyperplanes)
    assignment = np.full(len(design), -1)
    for step in range(n_steps):
        position = step % len(design)
        if position == 0:
            rng.shuffle(order)
        row = order[position]
        x, margin = design[row], penalty * (step + 1)
        _score(sums, x, scores)
        if not is_outer[row]:
            for k in range(n_hyperplanes):
                if scores[k] > -margin:
                    _add(sums, x, k, -0.5)
            continue
        best, old = int(np.argmax(scores)), assignment[row]
        learner = _learner(scores, best, old, occupancy, min_entropy) if min_entropy > 0.0 else best
        if scores[learner] < margin:
            _add(sums, x, learner, 0.5)
        # The best hyperplanes are recorded, not those that learn, because prediction uses the best.
        if old >= 0:
            occupancy[old] -= 1.0
        occupancy[best] += 1.0
        assignment[row] = best
    sums /= penalty * n_steps
