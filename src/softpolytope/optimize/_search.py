"""Search for modes of both labelings from several starts, with the scale of the prior chosen on held-out rows.

Every restart first holds out a fold of the rows, its own, and optimizes under one precision rate after the other, from
loose to tight, each time from the mode it has reached. Rates are compared by the likelihood of the held-out rows, both
labelings combined as in prediction (`_precision_rate`). Then all restarts continue with all rows, under the best rate.
With few rows they do not, and each restart keeps a rate of its own choice: modes that have seen different rows disagree
where the data leave doubt, and their average predicts better than that of modes that have all seen the same rows.

With more rows than `MAX_FIRST_ROWS`, the first part uses a random sample of them. The optimizations that follow use
samples that are four times as large each time, until all rows are in, or until rows not yet seen are predicted no
better than before. Most of the progress is made on small samples, at a fraction of the cost.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.data import MAX_FIRST_ROWS, Dataset, InMemoryDataset, RowBlock, RowSampler, row_blocks
from softpolytope.distributions import Streams
from softpolytope.model import Prior
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
from softpolytope.optimize._precision_rate import (
    RATE_GRID,
    RateTrial,
    deal_folds,
    draw_rate_choices,
    is_settled,
    log_probabilities,
)
from softpolytope.parallel import Blocks, BlockThreads, Progress, Reporting, run_all

Item = TypeVar("Item")

MIN_FOLDS = 5
GROWTH = 4
# Relative gain in the log loss of unseen rows that a larger sample must bring, or the sample stops growing.
MIN_GAIN = 1e-3

FIRST = StoppingRule(200, 1e-7)
NEXT = StoppingRule(60, 1e-7)
# The last optimization ends where doubles cannot tell higher from lower, which small models reach.
LAST = StoppingRule(60, 1e-15)
ONLY = StoppingRule(300, 1e-15)  # if the precision rate is given, no optimization comes before

# Total row weight from which on all restarts share one rate and, in the end, the same rows.
MIN_ROWS_TO_SHARE = 150

# Steps of a search, which name its random streams.
_START, _FOLDS, SAMPLE, _, _CHOICE = range(5)


@dataclass(frozen=True, slots=True)
class Workers:
    """Threads of a search: a pool for the restarts, and the threads for the blocks of each restart if any are left."""

    pool: ThreadPoolExecutor
    block_threads: BlockThreads | None
    reporting: Reporting


class Search:
    """The restarts of all labelings, and their modes so far."""

    def __init__(
        self,
        data: Dataset,
        sampler: RowSampler,
        settings: ModeSettings,
        streams: Streams,
        labelings: tuple[int, ...],
        workers: Workers,
        optimizer: Optimizer,
    ) -> None:
        self._settings, self._labelings = settings, labelings
        self._generator = partial(streams.generator, sweep=0, block=0)
        self._workers, self._reporting, self._optimizer = workers, workers.reporting, optimizer
        self._jobs = [(labeling, restart) for labeling in labelings for restart in range(settings.n_restarts)]
        self._data, self._sampler = data, sampler
        rate = settings.prior.precision_rate
        self._precision_rates = np.full(settings.n_restarts, 1.0 if rate == "learned" else float(rate))
        self._losses: dict[float, float] = {}
        self._modes = [
            optimizer.log_posterior.random_start(
                settings.n_layers, self._generator(labeling=labeling, chain=restart, step=_START)
            )
            for labeling, restart in self._jobs
        ]
        self._sample_sizes = sample_sizes(data.n_rows)
        self._n_done = 0
        self._has_few_rows = data.total_weight < MIN_ROWS_TO_SHARE
        self._is_continued = False  # whether it started from the modes of an earlier search
        self._n_in_all = max_optimizations(data.n_rows, settings.prior)

    def find(self, start: ModesResult | None = None) -> ModesResult:
        """Find the modes of all restarts, from random starts or from the modes of an earlier search."""
        if start is not None:
            self.start_from(start)
        elif self._settings.prior.precision_rate == "learned":
            self.choose_rates()
        self.maximize_on_samples()
        return self.result()

    def start_from(self, earlier: ModesResult) -> None:
        """Continue from the modes of an earlier search, under its precision rates."""
        modes = [found.unpruned for modes in earlier.modes for found in modes]
        expected = (len(self._jobs), self._modes[0].coefficients.shape[1:])
        if expected != (len(modes), modes[0].coefficients.shape[1:]):
            raise ValueError(
                "The modes to continue from have a different number of restarts, labelings, layers or columns. "
                "Start from scratch with warm_start=False."
            )
        self._modes = modes
        self._precision_rates, self._losses = earlier.precision_rates[0], dict(earlier.held_out_loss)
        self._sample_sizes = self._sample_sizes[-1:]
        self._is_continued = True

    # The precision rate.

    def choose_rates(self) -> None:
        """Optimize under one precision rate after the other; every restart keeps the modes of its best rate."""
        n_restarts = self._settings.n_restarts
        sample = self._sampler.sample(self._sample_sizes[0])
        folds = deal_folds(sample, max(n_restarts, MIN_FOLDS), self._generator(labeling=0, chain=0, step=_FOLDS))
        in_fold = [np.where(folds == restart, sample.row_weights, 0.0) for restart in range(n_restarts)]
        held_out = [sample.weighted(weights) for weights in in_fold]
        others = [sample.weighted(np.where(weights > 0.0, 0.0, sample.row_weights)) for weights in in_fold]
        fitted = [others[restart].flipped() if labeling else others[restart] for labeling, restart in self._jobs]
        blocks = [row_blocks(rows, self._workers.block_threads) for rows in fitted]
        weights = np.concatenate([rows.row_weights for rows in held_out])
        trials: list[RateTrial] = []
        modes = self._modes
        for number, multiple in enumerate(RATE_GRID):
            rate = multiple * self._settings.prior.precision_shape
            self._n_done = number
            modes = self._maximize_all(modes, blocks, [rate] * len(modes), FIRST if number == 0 else NEXT)
            if self._reporting.is_stopped() and trials:
                break  # these optimizations may have ended anywhere, but those of earlier rates are complete
            found = self._held_out_log_probabilities(modes, held_out)
            trials.append(RateTrial(rate, modes, found))
            self._losses[rate] = -float(weights @ found / weights.sum()) if len(weights) else 0.0
            if is_settled(list(self._losses.values())) or self._reporting.is_stopped():
                break
        choice = np.full(n_restarts, np.argmin(list(self._losses.values())))
        if self._has_few_rows:
            choice = draw_rate_choices(trials, weights, n_restarts, self._generator(labeling=0, chain=0, step=_CHOICE))
        self._precision_rates = np.array([trials[number].rate for number in choice])
        self._modes = [trials[choice[restart]].modes[index] for index, (_, restart) in enumerate(self._jobs)]
        self._n_done = len(RATE_GRID)

    def _held_out_log_probabilities(self, modes: list[Mode], held_out: list[InMemoryDataset]) -> FloatArray:
        """Return log P of the rows each restart holds out, under both labelings together, restart after restart."""
        tasks = [partial(poisson_rates, *pair) for pair in zip(modes, held_out * len(self._labelings), strict=True)]
        rates = run_all(tasks, self._workers.pool, self._reporting)
        return np.concatenate(
            [
                log_probabilities([[own] for own in rates[restart :: len(held_out)]], self._labelings, rows)
                for restart, rows in enumerate(held_out)
            ]
        )

    # All rows.

    def maximize_on_samples(self) -> None:
        """Optimize on growing samples, the last of which has all rows, as long as more rows help."""
        if self._ends_with_folds():
            return
        # If rates were compared, the restarts have seen the first sample already.
        sizes = self._sample_sizes[1:] if self._losses and len(self._sample_sizes) > 1 else self._sample_sizes
        for n_rows in sizes:
            if self._reporting.is_stopped():
                return
            is_from_start = not self._losses and n_rows == sizes[0]
            unseen = None if is_from_start or n_rows >= self._data.n_rows else self._sampler.unseen(n_rows)
            before = np.inf if unseen is None else self._ensemble_loss(unseen)
            blocks = self._sample_blocks(n_rows)
            rates = [float(self._precision_rates[restart]) for _, restart in self._jobs]
            self._modes = self._maximize_all(self._modes, blocks, rates, ONLY if is_from_start else LAST)
            self._n_done += 1
            if unseen is not None and unseen.n_rows and self._ensemble_loss(unseen) > (1.0 - MIN_GAIN) * before:
                return

    def _ensemble_loss(self, rows: InMemoryDataset) -> float:
        """Return the mean log loss of rows under the average over restarts; infinity if there are none."""
        if not rows.n_rows:
            return np.inf
        tasks = [partial(poisson_rates, mode, rows) for mode in self._modes]
        rates = self._by_labeling(run_all(tasks, self._workers.pool, self._reporting))
        return -float(rows.row_weights @ log_probabilities(rates, self._labelings, rows) / rows.row_weights.sum())

    def _by_labeling(self, items: list[Item]) -> list[list[Item]]:
        n_restarts = self._settings.n_restarts
        return [items[start : start + n_restarts] for start in range(0, len(items), n_restarts)]

    def _ends_with_folds(self) -> bool:
        """Whether the modes that have each held out a fold are the final ones."""
        return self._has_few_rows and bool(self._losses) and not self._is_continued

    def _sample_blocks(self, n_rows: int) -> list[Blocks[RowBlock]]:
        """Return blocks for each restart; those of one labeling share theirs."""
        threads = self._workers.block_threads
        blocks = [
            self._sampler.blocks(n_rows, is_flipped=bool(labeling), threads=threads) for labeling in self._labelings
        ]
        return [own for own in blocks for _ in range(self._settings.n_restarts)]

    # One optimization of every restart.

    def _maximize_all(
        self, modes: Sequence[Mode], blocks: Sequence[Blocks[RowBlock]], rates: Sequence[float], rule: StoppingRule
    ) -> list[Mode]:
        tasks = [
            partial(self._maximize, index, modes[index], blocks[index], rates[index], rule)
            for index in range(len(modes))
        ]
        return run_all(tasks, self._workers.pool, self._reporting)

    def _maximize(self, index: int, mode: Mode, blocks: Blocks[RowBlock], rate: float, rule: StoppingRule) -> Mode:
        if self._reporting.is_stopped():
            return mode
        labeling, restart = self._jobs[index]
        name = f"optimization{self._n_done}-labeling{labeling}-restart{restart}"
        result = self._optimizer.maximize(name, mode, blocks, rate, rule)
        self._report(index, result.log_likelihood, result.n_experts)
        return result.mode

    def _report(self, index: int, log_likelihood: float, n_experts: int) -> None:
        """Report that a restart has finished one more optimization."""
        self._reporting.report(
            Progress(*self._jobs[index], self._n_done + 1, self._n_in_all, "optimizations", log_likelihood, n_experts)
        )

    def result(self) -> ModesResult:
        """Return the modes, with their log likelihood on all rows."""
        blocks = self._sample_blocks(self._data.n_rows)
        tasks = [partial(pruned, mode, own) for mode, own in zip(self._modes, blocks, strict=True)]
        active = run_all(tasks, self._workers.pool, self._reporting)
        modes = [FoundMode(*pair, unpruned) for pair, unpruned in zip(active, self._modes, strict=True)]
        if self._ends_with_folds() and not self._reporting.is_stopped():  # no last optimization has reported
            self._n_done = self._n_in_all - 1
            for index, found in enumerate(modes):
                self._report(index, found.log_likelihood, len(found.mode.log_weights))
        is_stopped, is_interrupted = self._reporting.is_stopped(), self._reporting.is_interrupted()
        rates = np.tile(self._precision_rates, (len(self._labelings), 1))
        return ModesResult(self._by_labeling(modes), rates, self._losses, not is_stopped, is_interrupted)


def max_optimizations(n_rows: int, prior: Prior) -> int:
    """Return the largest number of optimizations that a restart makes."""
    n_samples = len(sample_sizes(n_rows))
    return len(RATE_GRID) + max(n_samples - 1, 1) if prior.precision_rate == "learned" else n_samples


def sample_sizes(n_rows: int) -> list[int]:
    """Return the sizes of the samples; the last one has all rows."""
    sizes = [min(n_rows, MAX_FIRST_ROWS)]
    while sizes[-1] < n_rows:
        sizes.append(min(n_rows, GROWTH * sizes[-1]))
    return sizes
