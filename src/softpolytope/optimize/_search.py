"""Modes of both labelings from several starts, with the prior's scale chosen by what was held out.

Every restart first leaves out a fold of the rows, its own, and climbs under one precision rate after the other, from
loose to tight, each time from where it was. Rates are compared by the likelihood of what was left out, both labelings
combined as in prediction (`scale.py`). Then all restarts climb on, with all rows, under the best rate. With few rows
they do not, and each has a rate it chose itself: modes that have seen different rows disagree where the rows leave
doubt, and their average predicts better than that of modes which have all seen the same.

With more rows than `MAX_ROWS_FOR_SCALE` the first part has a random sample of them; the climbs that follow have
samples four times as large each, until all rows are in, or until rows not yet seen are predicted no better than before.
A sample leaves most of the way behind it at a fraction of the cost.

Modes that differ only in their starts tell little of the posterior's width. With `bootstrap` every restart gives the
rows random weights in its last climb, the same in both labelings: the weighted likelihood bootstrap (Newton and
Raftery 1994), whose spread approximates the posterior's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.data import PartitionedData, RowBlock, TrainingData
from softpolytope.distributions import Streams
from softpolytope.model import Prior
from softpolytope.optimize._checkpoints import ModeCheckpoints, OptimizedMode
from softpolytope.optimize._folds import dealt_folds
from softpolytope.optimize._lbfgs import StoppingRule
from softpolytope.optimize._mode import LogPosterior, Mode, held_out_rates, pruned
from softpolytope.optimize._precision_rate import SCALES, RateTrial, is_settled, log_probabilities, own_choices
from softpolytope.optimize._results import FoundMode, ModeSettings, ModesResult
from softpolytope.optimize._subsampling import MAX_ROWS_FOR_SCALE, Rows, RowsInMemory, RowsInPartitions
from softpolytope.optimize._workers import Workers
from softpolytope.parallel import Blocks, Progress, Reporting, run_all

MIN_FOLDS = 5
GROWTH = 4
# Share of the log-loss of unseen rows that a larger sample must gain, or the samples grow no more.
MIN_GAIN = 1e-3

FIRST = StoppingRule(200, 1e-7)
NEXT = StoppingRule(60, 1e-7)
# The last climb ends where doubles cannot tell higher from lower, which small models reach.
LAST = StoppingRule(60, 1e-15)
ALONE = StoppingRule(300, 1e-15)  # under a given precision rate there is no other

# Rows, counted by their weights, from which on all restarts have the same rate and in the end the same rows.
MIN_ROWS_TO_SHARE = 150

_START, _FOLDS, _SAMPLE, _WEIGHTS, _CHOICE = range(5)


@dataclass(frozen=True, slots=True)
class Climbing:
    """Who is told of climbs, and who keeps them."""

    reporting: Reporting
    log: ModeCheckpoints


class Search:
    """The restarts of all labelings, and how far they are."""

    def __init__(
        self,
        data: TrainingData | PartitionedData,
        settings: ModeSettings,
        streams: Streams,
        labelings: tuple[int, ...],
        workers: Workers,
        climbing: Climbing,
    ) -> None:
        self._settings, self._streams = settings, streams
        self._labelings, self._workers = labelings, workers
        self._reporting, self._log = climbing.reporting, climbing.log
        self._jobs = [(labeling, restart) for labeling in labelings for restart in range(settings.n_restarts)]
        self._rows: Rows
        if isinstance(data, PartitionedData):
            self._rows = RowsInPartitions(data, streams, _SAMPLE)
        else:
            self._rows = RowsInMemory(data, self._generator(_SAMPLE), workers, len(self._jobs))
        self._landscape = LogPosterior(settings.prior, settings.max_experts, settings.fit_weights, self._rows.unit)
        rate = settings.prior.precision_rate
        self._precision_rates = np.full(settings.n_restarts, 1.0 if rate == "learned" else float(rate))
        self._losses: dict[float, float] = {}
        self._modes = [
            self._landscape.random_start(settings.n_layers, self._generator(_START, labeling, restart))
            for labeling, restart in self._jobs
        ]
        self._samples = _sample_sizes(data.n_rows)
        self._n_done = 0
        self._is_taken_up = False  # whether modes of an earlier search go on
        self._n_in_all = max_optimizations(data.n_rows, settings.prior)

    def _generator(self, step: int, labeling: int = 0, restart: int = 0) -> np.random.Generator:
        return self._streams.generator(labeling=labeling, chain=restart, sweep=0, step=step, block=0)

    def leave(self) -> None:
        """Give up the rows."""
        self._rows.close()

    def take_up(self, earlier: ModesResult) -> None:
        """Go on from modes found before."""
        modes = [found.whole for modes in earlier.modes for found in modes]
        wanted = (len(self._jobs), self._modes[0].coefficients.shape[1:])
        if wanted != (len(modes), modes[0].coefficients.shape[1:]):
            raise ValueError(
                "the modes to go on from are of another number of restarts, labelings, layers or columns; start anew "
                "(warm_start=False)."
            )
        self._modes = modes
        self._precision_rates, self._losses = earlier.precision_rates, dict(earlier.held_out_loss)
        self._samples = self._samples[-1:]
        self._is_taken_up = True

    # The scale.

    def choose_scale(self) -> None:
        """Climb under one precision rate after the other; every restart keeps the modes of the rate it finds best."""
        sample = self._rows.sample(self._samples[0])
        folds = dealt_folds(sample, max(self._settings.n_restarts, MIN_FOLDS), self._generator(_FOLDS))
        parts = [_parts(sample, folds, labeling, restart) for labeling, restart in self._jobs]
        blocks = [self._workers.blocks(fitted, len(self._jobs)) for fitted, _ in parts]
        held = [own for _, own in parts]
        weights = np.concatenate([own.row_weights for own in held[: self._settings.n_restarts]])
        tried: list[RateTrial] = []
        modes = self._modes
        for number, scale in enumerate(SCALES):
            rate = scale * self._settings.prior.precision_shape
            self._n_done = number
            modes = self._climb_all(modes, blocks, [rate] * len(modes), FIRST if number == 0 else NEXT)
            if self._reporting.is_stopped() and tried:
                break  # these modes may be anywhere; those of earlier rates are where they should be
            tried.append(RateTrial(rate, modes, self._held_out_log_probabilities(modes, held)))
            if is_settled(tried, weights) or self._reporting.is_stopped():
                break
        self._losses = {item.rate: item.loss(weights) for item in tried}
        choice = np.full(self._settings.n_restarts, np.argmin(list(self._losses.values())))
        if self._has_few_rows():
            choice = own_choices(tried, weights, self._settings.n_restarts, self._generator(_CHOICE))
        self._precision_rates = np.array([tried[number].rate for number in choice])
        self._modes = [tried[choice[restart]].modes[index] for index, (_, restart) in enumerate(self._jobs)]
        self._n_done = len(SCALES)

    def _held_out_log_probabilities(self, modes: list[Mode], held: list[TrainingData]) -> FloatArray:
        """Log P of what each restart held out, under both labelings together, restart after restart."""
        rates = self._rates(modes, held)
        n_restarts = self._settings.n_restarts
        found = []
        for restart in range(n_restarts):
            own = [[rates[index * n_restarts + restart]] for index in range(len(self._labelings))]
            found.append(log_probabilities(own, self._labelings, held[restart]))
        return np.concatenate(found)

    # All rows.

    def climb_with_all(self) -> None:
        """Climb on with samples that grow, at last with all rows, or until more rows help no more."""
        if self._ends_with_folds():
            return
        # With a scale chosen, the restarts have seen the first sample already.
        samples = self._samples[1:] if self._losses and len(self._samples) > 1 else self._samples
        for n_rows in samples:
            if self._reporting.is_stopped():
                return
            is_from_start = not self._losses and n_rows == samples[0]
            unseen = self._rows.unseen(n_rows)
            before = self._ensemble_loss(unseen)
            blocks = self._sample_blocks(n_rows, is_weighted=self._settings.bootstrap)
            rates = [float(self._precision_rates[restart]) for _, restart in self._jobs]
            self._modes = self._climb_all(self._modes, blocks, rates, ALONE if is_from_start else LAST)
            self._n_done += 1
            if not is_from_start and unseen.n_rows and self._ensemble_loss(unseen) > (1.0 - MIN_GAIN) * before:
                return

    def _ensemble_loss(self, rows: TrainingData) -> float:
        """Mean -log P of rows by the average over restarts."""
        if not rows.n_rows:
            return np.inf
        rates = self._rates(self._modes, [rows] * len(self._modes))
        n = self._settings.n_restarts
        grouped = [rates[index * n : (index + 1) * n] for index in range(len(self._labelings))]
        return -float(rows.row_weights @ log_probabilities(grouped, self._labelings, rows) / rows.row_weights.sum())

    def _has_few_rows(self) -> bool:
        return self._rows.total_weight < MIN_ROWS_TO_SHARE

    def _ends_with_folds(self) -> bool:
        """Whether the modes that have each left out a fold are the last ones."""
        goes_on = self._is_taken_up or self._settings.bootstrap
        return self._has_few_rows() and bool(self._losses) and not goes_on

    def _rates(self, modes: list[Mode], rows: list[TrainingData]) -> list[FloatArray]:
        """lambda of rows, some for every restart."""
        tasks = [partial(held_out_rates, mode, own) for mode, own in zip(modes, rows, strict=True)]
        return run_all(tasks, self._workers.pool, self._reporting)

    def _sample_blocks(self, n_rows: int, *, is_weighted: bool = False) -> list[Blocks[RowBlock]]:
        """Return blocks for each restart; those of one labeling share theirs unless each has its own weights."""
        blocks = {
            (labeling, restart): self._rows.blocks(
                n_rows, labeling, self._generator(_WEIGHTS, restart=restart) if is_weighted else None
            )
            for labeling, restart in self._jobs
            if is_weighted or restart == 0
        }
        return [blocks[labeling, restart if is_weighted else 0] for labeling, restart in self._jobs]

    def _climb_all(
        self, modes: Sequence[Mode], blocks: Sequence[Blocks[RowBlock]], rates: Sequence[float], effort: StoppingRule
    ) -> list[Mode]:
        tasks: list[Callable[[], Mode]] = [
            partial(self._climb_one, index, modes[index], blocks[index], rates[index], effort)
            for index in range(len(modes))
        ]
        return run_all(tasks, self._workers.pool, self._reporting)

    def _climb_one(self, index: int, mode: Mode, blocks: Blocks[RowBlock], rate: float, effort: StoppingRule) -> Mode:
        if self._reporting.is_stopped():
            return mode
        labeling, restart = self._jobs[index]
        name = f"climb{self._n_done}-labeling{labeling}-restart{restart}"
        done = self._log.find(name)
        if done is None:
            mode = self._landscape.climbed(mode, blocks, rate, effort, self._reporting.is_stopped)
            without, log_likelihood = pruned(mode, blocks)
            # Idle experts cost as much as others.
            kept = mode if self._settings.keeps_idle else without
            done = OptimizedMode(kept, log_likelihood, len(without.log_weights))
            if not self._reporting.is_stopped():  # or the climb may have ended anywhere
                self._log.add(name, done)
        self._tell(index, done.log_likelihood, done.n_experts)
        return done.mode

    def _tell(self, index: int, log_likelihood: float, n_experts: int) -> None:
        """Report that a restart has made one more climb."""
        self._reporting.tell(
            Progress(*self._jobs[index], self._n_done + 1, self._n_in_all, "climbs", log_likelihood, n_experts)
        )

    def result(self) -> ModesResult:
        """The modes, with their likelihood of all rows."""
        blocks = self._sample_blocks(self._rows.n_rows)
        tasks = [partial(_found, mode, own) for mode, own in zip(self._modes, blocks, strict=True)]
        found = run_all(tasks, self._workers.pool, self._reporting)
        if self._ends_with_folds() and not self._reporting.is_stopped():  # there was no last climb to tell of
            self._n_done = self._n_in_all - 1
            for index, item in enumerate(found):
                self._tell(index, item.log_likelihood, len(item.mode.log_weights))
        n = self._settings.n_restarts
        grouped = [found[index * n : (index + 1) * n] for index in range(len(self._labelings))]
        is_stopped, is_interrupted = self._reporting.is_stopped(), self._reporting.is_interrupted()
        return ModesResult(grouped, self._precision_rates, self._losses, not is_stopped, is_interrupted)


def _found(mode: Mode, blocks: Blocks[RowBlock]) -> FoundMode:
    return FoundMode(*pruned(mode, blocks), mode)


def max_optimizations(n_rows: int, prior: Prior) -> int:
    """Climbs that a restart makes at most."""
    n_samples = len(_sample_sizes(n_rows))
    return len(SCALES) + max(n_samples - 1, 1) if prior.precision_rate == "learned" else n_samples


def _sample_sizes(n_rows: int) -> list[int]:
    """Rows of the samples, the last one being all."""
    sizes = [min(n_rows, MAX_ROWS_FOR_SCALE)]
    while sizes[-1] < n_rows:
        sizes.append(min(n_rows, GROWTH * sizes[-1]))
    return sizes


def _parts(
    data: TrainingData, folds: NDArray[np.intp], labeling: int, restart: int
) -> tuple[TrainingData, TrainingData]:
    """Rows to climb with, labeled as the labeling has it, and rows held out, labeled as they are."""
    is_held = folds == restart
    fitted = data.weighted(np.where(is_held, 0.0, data.row_weights))
    held = data.weighted(np.where(is_held, data.row_weights, 0.0))
    return fitted.flipped() if labeling else fitted, held
