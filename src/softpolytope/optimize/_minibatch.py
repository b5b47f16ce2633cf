"""Optimization of many models at once by minibatches: Adam in single precision, in cycles of growing length.

A member is one model: its labeling, its precision rate, its random row weights and its start. Members share the order
of the rows, and nothing else: a member's result depends neither on the other members nor on the number of threads. In
every cycle the step falls to zero along a cosine. After every cycle but the first, experts that the rows do not need
are removed. The held-out rows are predicted by all members together after each cycle, and the cycles end when that has
improved too little.

The compiled code promises the same bits on every processor. The standardization of the columns and the basis of the
rows come from a library's linear algebra, which does not, so a whole fit promises the same bits on one machine only,
for any number of threads and any order of the rows in memory.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.data import InMemoryDataset, RowBlock, row_blocks
from softpolytope.optimize._basis import FloatArray32
from softpolytope.optimize._minibatch_rows import FloatRows, RowSource
from softpolytope.optimize._mode import Mode, pruned
from softpolytope.optimize._model_group import Member, Target, make_groups
from softpolytope.optimize._precision_rate import MIN_PROBABILITY
from softpolytope.parallel import Reporting, run_all

# Steps at the beginning of a cycle while the step grows, as the averages of Adam are empty.
WARMUP_STEPS = 50
# Rates that have underflowed have this logarithm's argument.
_MIN_RATE = 1e-300


@dataclass(frozen=True, slots=True)
class Schedule:
    """Epochs of each cycle, rows of a batch, and the largest step in units of the coefficients."""

    cycles: tuple[int, ...]
    batch_rows: int
    max_step: float
    # Another cycle follows if the last one has lowered the held-out loss by more than a part of it. Clear gains decide
    # at once; smaller ones must exceed a number of standard errors.
    min_gain: float = 2e-3
    clear_gain: float = 1e-2
    min_errors: float = 2.0

    def is_worthwhile(self, gain: float, error: float, loss: float) -> bool:
        """Return whether another cycle follows one that has lowered a loss by `gain`."""
        return gain >= max(self.min_gain * loss, min(self.clear_gain * loss, self.min_errors * error))


@dataclass(frozen=True, slots=True)
class Crew:
    """The threads that train members, and requests to stop."""

    pool: ThreadPoolExecutor
    n_threads: int
    reporting: Reporting


@dataclass(frozen=True, slots=True)
class CycleReport:
    """The state of all members after a cycle."""

    cycle: int
    n_epochs: int  # so far
    held_out_loss: float  # NaN without held-out rows
    members: list[Member]  # their starts are the modes reached
    log_likelihoods: list[float]  # estimates from the rows that decide which experts are removed


class Trainer:
    """Members in training."""

    def __init__(
        self, members: Sequence[Member], target: Target, source: RowSource, crew: Crew, first_epoch: int = 0
    ) -> None:
        """Train on the rows of a source; the number of an epoch names the order of its rows."""
        self._members, self._target, self._source, self._crew = list(members), target, source, crew
        self._groups = make_groups(self._members, target, crew.n_threads)
        self.n_epochs = first_epoch

    @property
    def members(self) -> list[Member]:
        """Members that start where these have arrived."""
        modes = [mode for group in self._groups for mode in group.modes()]
        return [replace(member, start=mode) for member, mode in zip(self._members, modes, strict=True)]

    def train_cycle(self, n_epochs: int, schedule: Schedule) -> bool:
        """Make one cycle, and return whether it was completed; the averages of Adam must be empty."""
        n_rows, n_steps, n_done = n_epochs * self._source.n_rows, 0, 0
        for _ in range(n_epochs):
            parts = self._source.epoch(self.n_epochs)
            # While some rows are trained on, a thread that has nothing else to do loads the next ones.
            (rows,) = self._run([partial(next, parts, None)])
            while rows is not None:
                if self._crew.reporting.is_stopped():
                    return False
                batches = cut_batches(rows.n_rows, schedule.batch_rows)
                progress = (n_done + 0.5 * (batches[1:] + batches[:-1])) / n_rows
                weights = np.add.reduceat(rows.row_weights, batches[:-1])
                steps = adam_steps(schedule.max_step, progress, n_steps, weights, self._source.total_weight)
                n_steps += len(steps)
                n_done += rows.n_rows
                tasks = [partial(group.train, rows, batches, steps) for group in self._groups]
                *_, rows = self._run([*tasks, partial(next, parts, None)])
            self.n_epochs += 1
        return True

    def _run(self, tasks: Sequence[Callable[[], FloatRows | None]]) -> list[FloatRows | None]:
        """Run tasks, of which one loads rows."""
        return run_all(tasks, self._crew.pool, self._crew.reporting)

    def prune(self, rows: InMemoryDataset, *, keeps_inactive: bool) -> list[float]:
        """Remove the experts that some rows do not need, empty the averages, and return the rows' log likelihoods.

        If inactive experts are kept, only the averages are emptied.
        """
        members = self.members
        blocks = {
            labeling: row_blocks(rows.flipped() if labeling else rows)
            for labeling in sorted({member.key.labeling for member in members})
        }
        tasks = [partial(pruned, member.start, blocks[member.key.labeling]) for member in members]
        found = run_all(tasks, self._crew.pool, self._crew.reporting)
        self._members = members
        if not keeps_inactive:
            self._members = [replace(member, start=mode) for member, (mode, _) in zip(members, found, strict=True)]
        self._groups = make_groups(self._members, self._target, self._crew.n_threads)
        return [log_likelihood for _, log_likelihood in found]

    def probabilities(self, rows: FloatRows) -> FloatArray:
        """Return the probabilities (rows, members) of the labels of some rows."""
        tasks = [partial(group.rates, rows) for group in self._groups]
        rates = np.concatenate(run_all(tasks, self._crew.pool, self._crew.reporting), axis=1).astype(np.float64)
        flipped = np.array([member.key.labeling for member in self._members], dtype=bool)
        is_event = rows.labels.astype(bool)[:, None] != flipped
        return np.where(is_event, -np.expm1(-rates), np.exp(-rates))


def train_members(
    trainer: Trainer,
    schedule: Schedule,
    pruning_rows: InMemoryDataset,
    held_out: FloatRows,
    callback: Callable[[CycleReport], None] | None = None,
) -> list[CycleReport]:
    """Train until the held-out rows gain too little or the cycles end, and return a report of every cycle.

    A cycle that is stopped has no report. Without held-out rows, all cycles are made.
    """
    reports: list[CycleReport] = []
    before: FloatArray | None = None
    for number, n_epochs in enumerate(schedule.cycles):
        if not trainer.train_cycle(n_epochs, schedule):
            break
        # Experts that the first cycle has not developed yet may be needed.
        values = trainer.prune(pruning_rows, keeps_inactive=number == 0)
        losses = log_losses(trainer.probabilities(held_out).mean(axis=1))
        loss = float(np.average(losses, weights=held_out.row_weights)) if held_out.n_rows else np.nan
        reports.append(CycleReport(number, trainer.n_epochs, loss, trainer.members, values))
        if callback is not None:
            callback(reports[-1])
        if held_out.n_rows and before is not None:
            gain, error = mean_and_error(before - losses, held_out.row_weights)
            if not schedule.is_worthwhile(gain, error, reports[-2].held_out_loss):
                break
        before = losses
    return reports


def log_losses(probabilities: FloatArray) -> FloatArray:
    """Return -log P(label)."""
    return -np.log(np.maximum(probabilities, MIN_PROBABILITY))


def mean_and_error(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the weighted mean of numbers, and its standard error."""
    mean = float(np.average(values, weights=weights))
    return mean, float(np.sqrt(weights**2 @ (values - mean) ** 2) / weights.sum())


def cut_batches(n_rows: int, batch_rows: int) -> IndexArray:
    """Return the bounds of batches of nearly equal numbers of rows."""
    n_batches = max(round(n_rows / batch_rows), 1)
    return np.arange(n_batches + 1, dtype=np.intp) * n_rows // n_batches


def adam_steps(
    largest: float, progress: FloatArray, n_before: int, batch_weights: FloatArray, total_weight: float
) -> FloatArray32:
    """Return the numbers of the steps of Adam, as the compiled code takes them; `progress` is from 0 to 1."""
    number = n_before + 1.0 + np.arange(len(progress))
    step = largest * 0.5 * (1.0 + np.cos(np.pi * progress)) * np.minimum(number / WARMUP_STEPS, 1.0)
    root = 1.0 / np.sqrt(1.0 - 0.999**number)
    columns = (step / (1.0 - 0.9**number), root, 1.0 / batch_weights, np.full(len(step), 1.0 / total_weight))
    return np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.float32)


def log_likelihood(mode: Mode, data: InMemoryDataset, labeling: int) -> float:
    """Return the log likelihood of a labeling of rows, in double precision."""
    everything = np.array([0, len(mode.log_weights)], dtype=np.intp)
    total = 0.0
    for block in data.split():
        rates = RowBlock(block).rates(mode.coefficients, mode.log_weights, everything)[0]
        is_event = block.labels != bool(labeling)
        logs = np.where(is_event, np.log(-np.expm1(-np.maximum(rates, _MIN_RATE))), -rates)
        total += float(logs @ block.row_weights)
    return total
