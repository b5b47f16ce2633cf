"""One mode of each labeling in the place of many, for rules, explanations and short exports.

The members of a bootstrap predict together, and nobody can read them all. The representative of a labeling is a mode
fitted to the probabilities that its members predict together, from the member whose own probabilities are nearest to
these. Where the nearest members decide otherwise than all together on many rows, it does so on fewer
(`benchmarks/representatives.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from scipy import sparse

from softpolytope._typing import FloatArray
from softpolytope.data import InMemoryDataset, RowBlock, row_blocks
from softpolytope.model import pool_probabilities
from softpolytope.optimize._mode import FoundMode, LogPosterior, Mode, ModesResult, StoppingRule, poisson_rates, pruned
from softpolytope.optimize._precision_rate import MIN_PROBABILITY, deal_folds
from softpolytope.parallel import Blocks

# The agreement is measured on one of these folds, which the first optimization does not see.
N_FOLDS = 5
FIRST = StoppingRule(60, 1e-9)
LAST = StoppingRule(40, 1e-9)
# A random sample of the rows, by which representatives are fitted.
MAX_ROWS = 1_500


@dataclass(frozen=True, slots=True)
class Representatives:
    """A mode for each labeling, and the share of held-out rows for which they decide like all members together."""

    modes: list[Mode]
    agreement: float


def with_representatives(
    result: ModesResult,
    rows: InMemoryDataset,
    blocks: Sequence[Blocks[RowBlock]],
    labelings: tuple[int, ...],
    log_posterior: LogPosterior,
    rng: Generator,
) -> ModesResult:
    """Return a result with representatives, fitted to a sample of the rows; `blocks` has all rows of each labeling."""
    if result.is_complete:
        found = fit_representatives(result, rows, labelings, log_posterior, rng)
    else:
        found = nearest_members(result, rows, labelings)
    modes = [FoundMode(*pruned(mode, own), mode) for mode, own in zip(found.modes, blocks, strict=True)]
    return replace(result, representatives=tuple(modes), agreement=found.agreement)


def nearest_members(result: ModesResult, rows: InMemoryDataset, labelings: tuple[int, ...]) -> Representatives:
    """Return the member of each labeling whose probabilities are nearest to those of all members together."""
    rates = [np.stack([poisson_rates(found.mode, rows) for found in modes]) for modes in result.modes]
    target = pool_probabilities(result.pool, rates)[0]
    chosen = [_nearest(own, target, is_flipped=bool(label)) for own, label in zip(rates, labelings, strict=True)]
    modes = [found[number].mode for found, number in zip(result.modes, chosen, strict=True)]
    own_rates = [own[number : number + 1] for own, number in zip(rates, chosen, strict=True)]
    found = pool_probabilities(result.pool, own_rates)[0]
    return Representatives(modes, _agreement(found, target, rows.row_weights))


def fit_representatives(
    result: ModesResult,
    rows: InMemoryDataset,
    labelings: tuple[int, ...],
    log_posterior: LogPosterior,
    rng: Generator,
) -> Representatives:
    """Fit a mode of each labeling to the probabilities of its members, from the nearest of them.

    Representatives are pooled as members are. If both were fitted to what the members of
    both labelings predict together, that mean would be taken twice: where one labeling has no shape for the boundary,
    its flat probabilities would make those of both together half as certain as the members are.
    """
    rates = [np.stack([poisson_rates(found.mode, rows) for found in modes]) for modes in result.modes]
    target = pool_probabilities(result.pool, rates)[0]
    is_held_out = deal_folds(rows, N_FOLDS, rng) == 0
    modes, own_rates = [], []
    for side, label in enumerate(labelings):
        wanted = pool_probabilities(result.pool, [rates[side]])[0]  # probability of the event of this labeling
        number = _nearest(rates[side], 1.0 - wanted if label else wanted, is_flipped=bool(label))
        mode, rate = result.modes[side][number].mode, float(result.precision_rates[side, number])
        fitted = _with_probabilities(rows, wanted, np.where(is_held_out, 0.0, rows.row_weights))
        mode = _maximize(log_posterior, mode, fitted, rate, FIRST)
        own_rates.append(poisson_rates(mode, rows)[None, :])
        modes.append(_maximize(log_posterior, mode, _with_probabilities(rows, wanted, rows.row_weights), rate, LAST))
    weights = np.where(is_held_out, rows.row_weights, 0.0)
    return Representatives(modes, _agreement(pool_probabilities(result.pool, own_rates)[0], target, weights))


def _nearest(rates: FloatArray, target: FloatArray, *, is_flipped: bool) -> int:
    """Return the index of the member with the lowest cross-entropy from the target; `rates` is (members, rows)."""
    positive = np.exp(-rates) if is_flipped else -np.expm1(-rates)
    logs = target * np.log(np.maximum(positive, MIN_PROBABILITY))
    logs += (1.0 - target) * np.log(np.maximum(1.0 - positive, MIN_PROBABILITY))
    return int(np.argmax(logs.sum(axis=1)))


def _with_probabilities(rows: InMemoryDataset, positive: FloatArray, weights: FloatArray) -> InMemoryDataset:
    """Return each row with both labels, weighted by their probabilities."""
    design = rows.design
    doubled = sparse.vstack([design, design], format="csr") if sparse.issparse(design) else np.vstack([design, design])
    labels = np.repeat([True, False], rows.n_rows)
    both = replace(rows, design=doubled, labels=labels, row_weights=np.ones(2 * rows.n_rows))
    return both.weighted(np.concatenate([weights * positive, weights * (1.0 - positive)]))


def _maximize(log_posterior: LogPosterior, mode: Mode, rows: InMemoryDataset, rate: float, rule: StoppingRule) -> Mode:
    blocks = row_blocks(rows)
    return pruned(log_posterior.maximize(mode, blocks, rate, rule), blocks)[0]


def _agreement(found: FloatArray, target: FloatArray, weights: FloatArray) -> float:
    """Return the share of rows for which probabilities decide as the target ones do; one for no rows."""
    total = float(weights.sum())
    # From the rows that they decide otherwise, so that rounding cannot lift it above one.
    differing = float(weights @ ((found > 0.5) != (target > 0.5)))
    return max(1.0 - differing / total, 0.0) if total > 0.0 else 1.0
