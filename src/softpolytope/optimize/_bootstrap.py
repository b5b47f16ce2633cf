"""The posterior by a weighted likelihood bootstrap: members that are modes, each under its own random row weights.

A member draws a weight for every row, of mean one (Newton and Raftery 1994; with random starts, Fong, Lyddon and Holmes
2019), starts at random, and makes a search of its own: it holds out a fold of the rows, optimizes under one precision
rate after the other, from loose to tight, and continues from the best of them with all rows. Its random weights count
in every step, in the losses of the held-out rows as well: members that share a rate are too much alike on few rows, and
their intervals too narrow. Both labelings have members of their own, and all together are one sample from the
posterior.

The modes of a single expert differ by their weights alone, which are Exp(1), as in a Bayesian bootstrap. Modes with
several experts differ by where they started as well, the more so with many rows, and with weights that vary as much
their intervals would be too wide. Those weights vary less (`weight_concentration`).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator

from softpolytope.data import InMemoryDataset, RandomWeights, RowBlock, RowSampler, row_blocks
from softpolytope.distributions import Streams
from softpolytope.model import Pool
from softpolytope.optimize._checkpoints import OptimizedMode
from softpolytope.optimize._mode import (
    FoundMode,
    Mode,
    ModeSettings,
    ModesResult,
    StoppingRule,
    poisson_rates,
    pruned,
)
from softpolytope.optimize._optimizer import Optimizer
from softpolytope.optimize._precision_rate import RATE_GRID, deal_folds, is_settled, log_probabilities
from softpolytope.optimize._search import MIN_FOLDS, MIN_GAIN, MIN_ROWS_TO_SHARE, ONLY, sample_sizes
from softpolytope.parallel import Blocks, BlockThreads, Progress, run_all

# Longer optimizations (200 and 60 steps, as of plain modes) predict no better and cost half as much again.
FIRST = StoppingRule(100, 1e-7)
NEXT = StoppingRule(40, 1e-7)
FINAL = StoppingRule(40, 1e-15)

# Random weights are Gamma(c w) / c, where c is a power of the number of rows between two limits. The numbers were
# chosen by coverage on the laws of benchmarks/intervals.py.
ROWS_OF_CONCENTRATION_ONE = 300.0
CONCENTRATION_POWER = 0.35
MIN_CONCENTRATION, MAX_CONCENTRATION = 1.25, 3.0

# Steps of a member, which name its random streams, and that of the representatives.
_START, _FOLDS, _WEIGHTS, REPRESENTATIVE = range(16, 20)


def weight_concentration(total_weight: float, max_experts: int) -> float:
    """Return the concentration of the random weights for a number of rows, by their weight, and of experts.

    The modes of a single expert hardly depend on their starts.

    Examples
    --------
    >>> from softpolytope.optimize import weight_concentration
    >>> [round(weight_concentration(n_rows, max_experts=20), 2) for n_rows in (100, 1000, 5000, 1e6)]
    [1.25, 1.52, 2.68, 3.0]
    """
    if max_experts == 1:
        return 1.0
    growth = (total_weight / ROWS_OF_CONCENTRATION_ONE) ** CONCENTRATION_POWER
    return float(np.clip(growth, MIN_CONCENTRATION, MAX_CONCENTRATION))


def choose_pool(total_weight: float) -> Pool:
    """Return how the members' probabilities are pooled for a number of rows, by their weight.

    Of few rows the mean of probabilities predicts better, of more that of log odds (docs/results/defaults.md).
    """
    return "linear" if total_weight < MIN_ROWS_TO_SHARE else "logarithmic"


def member_weights(streams: Streams, labeling: int, member: int, batch: int, concentration: float) -> RandomWeights:
    """Return the random weights of a member; rows of several batches have different ones."""
    rng = streams.generator(labeling=labeling, chain=member, sweep=batch, step=_WEIGHTS, block=0)
    return RandomWeights(int(rng.integers(2**64, dtype=np.uint64)), concentration)


@dataclass(frozen=True, slots=True)
class Common:
    """Everything that the members of a fit share."""

    n_rows: int
    total_weight: float
    sampler: RowSampler
    settings: ModeSettings
    streams: Streams
    optimizer: Optimizer
    block_threads: BlockThreads | None

    @property
    def concentration(self) -> float:
        """Concentration of the random weights."""
        return weight_concentration(self.total_weight, self.settings.max_experts)


class Member:
    """One member: its random weights, and the mode it has reached under them."""

    def __init__(self, common: Common, labeling: int, number: int) -> None:
        self._common, self._labeling, self._number = common, labeling, number
        self._sampler = common.sampler.reweighted(
            member_weights(common.streams, labeling, number, 0, common.concentration)
        )
        log_posterior, n_layers = common.optimizer.log_posterior, common.settings.n_layers
        self.mode = log_posterior.random_start(n_layers, self._generator(_START))
        self.precision_rate = 1.0
        self.log_likelihood = -np.inf  # under its own weights
        self.is_complete = False
        self._n_done = 0

    def fit(self) -> None:
        """Optimize from the random start, under the precision rate that suits held-out rows best."""
        sizes, rate = sample_sizes(self._common.n_rows), self._common.settings.prior.precision_rate
        if rate != "learned":
            self._maximize_on_samples(float(rate), sizes, ONLY)
            return
        self._choose_rate(sizes[0])
        # Of few rows, a member does without those that it has held out: its rate may not suit all of them.
        if self._common.total_weight >= MIN_ROWS_TO_SHARE:
            self._maximize_on_samples(self.precision_rate, sizes[1:] or sizes, FINAL)

    def continue_from(self, mode: Mode, precision_rate: float) -> None:
        """Optimize from another mode, under a given precision rate."""
        self.mode = mode
        self._maximize_on_samples(precision_rate, sample_sizes(self._common.n_rows)[-1:], FINAL)

    def close(self) -> None:
        """Release the blocks of the rows; the member is complete unless it was stopped before."""
        self.is_complete = not self._is_stopped()
        self._sampler.close()
        # A member outlives its fit, and a sample may have nearly as many rows as there are.
        del self._sampler

    def _choose_rate(self, n_rows: int) -> None:
        """Optimize under one rate after the other, and keep the mode whose loss of the held-out rows is lowest."""
        rows = self._sampler.sample(n_rows)
        is_held_out = deal_folds(rows, MIN_FOLDS, self._generator(_FOLDS)) == 0
        held_out = rows.weighted(np.where(is_held_out, rows.row_weights, 0.0))
        fitted = rows.weighted(np.where(is_held_out, 0.0, rows.row_weights))
        blocks = row_blocks(fitted.flipped() if self._labeling else fitted, self._common.block_threads)
        mode, losses, best = self.mode, [], np.inf
        for number, multiple in enumerate(RATE_GRID):
            rate = multiple * self._common.settings.prior.precision_shape
            found = self._maximize(mode, blocks, rate, FIRST if number == 0 else NEXT)
            if self._is_stopped() and number > 0:
                return
            mode = found.mode
            losses.append(self._loss(mode, held_out))
            if losses[-1] < best:
                best, self.mode, self.precision_rate = losses[-1], mode, rate
                self.log_likelihood = found.log_likelihood
            if is_settled(losses) or self._is_stopped():
                return

    def _maximize_on_samples(self, precision_rate: float, sizes: Sequence[int], first_rule: StoppingRule) -> None:
        """Optimize on growing samples, the last of which has all rows, as long as more rows help."""
        self.precision_rate = precision_rate
        for n_rows in sizes:
            if self._is_stopped():
                return
            is_first = n_rows == sizes[0]
            unseen = None if is_first or n_rows >= self._common.n_rows else self._sampler.unseen(n_rows)
            before = np.inf if unseen is None else self._loss(self.mode, unseen)
            threads = self._common.block_threads
            blocks = self._sampler.blocks(n_rows, is_flipped=bool(self._labeling), threads=threads)
            found = self._maximize(self.mode, blocks, precision_rate, first_rule if is_first else FINAL)
            self.mode, self.log_likelihood = found.mode, found.log_likelihood
            if unseen is not None and self._loss(self.mode, unseen) > (1.0 - MIN_GAIN) * before:
                return

    def _loss(self, mode: Mode, rows: InMemoryDataset) -> float:
        """Return the mean log loss of rows that the mode has not seen, by their random weights; zero for no rows."""
        if not rows.n_rows:
            return 0.0
        found = log_probabilities([[poisson_rates(mode, rows)]], [self._labeling], rows)
        return -float(rows.row_weights @ found / rows.row_weights.sum())

    def _maximize(self, mode: Mode, blocks: Blocks[RowBlock], rate: float, rule: StoppingRule) -> OptimizedMode:
        name = f"labeling{self._labeling}-member{self._number}-optimization{self._n_done}"
        self._n_done += 1
        return self._common.optimizer.maximize(name, mode, blocks, rate, rule)

    def _generator(self, step: int) -> Generator:
        name = {"labeling": self._labeling, "chain": self._number, "sweep": 0, "step": step, "block": 0}
        return self._common.streams.generator(**name)

    def _is_stopped(self) -> bool:
        return self._common.optimizer.reporting.is_stopped()


def find_members(
    common: Common, labelings: tuple[int, ...], pool: ThreadPoolExecutor, start: ModesResult | None = None
) -> ModesResult:
    """Fit the members of all labelings; those of an earlier result continue from their modes and precision rates."""
    reporting, n_members = common.optimizer.reporting, common.settings.n_restarts

    def fit(number: int, side: int) -> Member:
        member = Member(common, labelings[side], number)
        if start is not None and number < len(start.modes[side]):
            member.continue_from(start.modes[side][number].unpruned, float(start.precision_rates[side, number]))
        else:
            member.fit()
        member.close()
        n_experts = len(member.mode.log_weights)
        reporting.report(Progress(labelings[side], number, 1, 1, "members", member.log_likelihood, n_experts))
        return member

    # Both labelings advance together, so that an interrupted fit has as many members of each.
    jobs = [partial(fit, number, side) for number in range(n_members) for side in range(len(labelings))]
    members = run_all(jobs, pool, reporting)
    sides = _usable([members[side :: len(labelings)] for side in range(len(labelings))])
    modes = []
    for labeling, found in zip(labelings, sides, strict=True):
        # The likelihood of a mode in the result is that of all rows with the weights they were given.
        blocks = common.sampler.blocks(common.n_rows, is_flipped=bool(labeling), threads=common.block_threads)
        active = run_all([partial(pruned, member.mode, blocks) for member in found], pool, reporting)
        modes.append([FoundMode(*pair, member.mode) for pair, member in zip(active, found, strict=True)])
    rates = np.array([[member.precision_rate for member in found] for found in sides])
    return ModesResult(modes, rates, {}, not reporting.is_stopped(), reporting.is_interrupted())


def _usable(sides: list[list[Member]]) -> list[list[Member]]:
    """Return the complete members, equally many of each labeling; all members if a labeling has none."""
    complete = [[member for member in found if member.is_complete] for found in sides]
    n_kept = min(len(found) for found in complete)
    return [found[:n_kept] for found in complete] if n_kept else sides
