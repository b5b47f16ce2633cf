"""Search for the modes of large datasets by minibatches, and the posterior that they represent.

1. The precision rate is chosen on a sample: models of all rates and labelings are trained at once on some rows, and
   compared by rows that the sample does not have.
2. A few modes, the bases, are found from random starts on all rows but some, which decide when to stop.
3. Every member starts from one of the bases and is trained for some epochs under its own random row weights (the
   weighted likelihood bootstrap of Newton and Raftery, 1994), now with all rows.

The bases take many epochs and the members few, so twenty members cost less than twice as much as the bases.

The constants were chosen on a fifth of the training rows of a9a, ijcnn1 and cod_rna, held out, and on synthetic rows
(`benchmarks/large_tables.py --development`).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeGuard

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse

from softpolytope.data import Dataset, InMemoryDataset
from softpolytope.distributions import Streams
from softpolytope.optimize._basis import Basis, FloatArray32
from softpolytope.optimize._minibatch import (
    Crew,
    CycleReport,
    Schedule,
    Trainer,
    log_likelihood,
    log_losses,
    train_members,
)
from softpolytope.optimize._minibatch_rows import SAMPLE, FloatRows, MemberKey, MemoryRows, hold_out
from softpolytope.optimize._mode import FoundMode, LogPosterior, ModeSettings, ModesResult
from softpolytope.optimize._model_group import Member, Target
from softpolytope.optimize._precision_rate import RATE_GRID
from softpolytope.parallel import Progress, Reporting, RunOptions, one_blas_thread, run_all

# A guess: the smallest data set on which minibatches were compared with L-BFGS has 20,000 rows.
MIN_ROWS = 10_000
# Single precision holds weights up to 1e38.
MAX_WEIGHT = 1e20
# Rows of the sample that chooses the precision rate, and at most so many held-out rows.
SAMPLE_ROWS = 16_000
SAMPLE_CYCLE = 8
# Starts from which bases are found, over all labelings.
N_BASES = 6
# Epochs of the cycles of the bases. With fewer rows than the first limit the last cycle is longer, with more than the
# second one all are shorter.
CYCLES = (5, 10, 32)
MIN_LONG_ROWS, MAX_LONG_ROWS = 40_000, 100_000
MAX_EPOCHS = 60
# Epochs of a member, as a share of those of the bases.
MEMBER_SHARE = 0.16
# With fewer, members stay so close to their bases that intervals are too narrow.
MIN_MEMBER_EPOCHS = 4
# Held-out rows of the bases.
HELD_OUT_SHARE, MAX_HELD_OUT = 0.05, 10_000
# Rows that decide which experts are removed.
PRUNING_ROWS = 5_000
# A step of Adam moves every coefficient by about the same, and a linear predictor by that times the sum of the absolute
# values of a row, which this limits.
PREDICTOR_STEP = 0.5
MAX_STEP = 0.1
MIN_BATCH, MAX_BATCH = 64, 1024

_START = 0  # the step of the random streams of starts, as in a search by L-BFGS


@dataclass(frozen=True, slots=True)
class MinibatchResult:
    """Modes of all members by labeling, and the reports of the cycles of the bases."""

    modes: ModesResult
    base_cycles: list[CycleReport]


def can_use_minibatches(data: Dataset, settings: ModeSettings) -> TypeGuard[InMemoryDataset]:
    """Return whether a fit should use minibatches: rows are many, in memory, and of weights that floats can hold."""
    if not isinstance(data, InMemoryDataset) or data.n_rows < MIN_ROWS or settings.keeps_inactive:
        return False
    return float(data.row_weights.max()) < MAX_WEIGHT and float(data.row_weights.min()) > 1.0 / MAX_WEIGHT


def find_members(
    data: InMemoryDataset,
    settings: ModeSettings,
    n_members: int,
    seed: int | SeedSequence | None = None,
    labelings: tuple[int, ...] = (0, 1),
    options: RunOptions | None = None,
) -> MinibatchResult:
    """Find `n_members` members of a bootstrap of standardized rows, the same number for each labeling.

    Ctrl-C, or a callback that returns True, ends the training where it is.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.data import Dataset, InMemoryDataset
    >>> from softpolytope.optimize import DEFAULT_PRIOR, ModeSettings
    >>> from softpolytope.optimize._minibatch_search import find_members
    >>> x = np.random.default_rng(0).uniform(-3.0, 3.0, 2000)
    >>> rows = InMemoryDataset.from_arrays(np.column_stack([np.ones(2000), x]), np.abs(x) > 1.0)
    >>> found = find_members(rows, ModeSettings(5, 1, DEFAULT_PRIOR), n_members=4, seed=0)
    >>> [len(modes) for modes in found.modes.modes]
    [2, 2]
    """
    options = options or RunOptions()
    reporting = Reporting(options.callback)
    with one_blas_thread(), ThreadPoolExecutor(options.n_threads) as pool:
        search = MinibatchSearch(data, settings, Streams(seed), labelings, Crew(pool, options.n_threads, reporting))
        return search.run(n_members // len(labelings))


class MinibatchSearch:
    """The steps of a search, on rows in memory."""

    def __init__(
        self, data: InMemoryDataset, settings: ModeSettings, streams: Streams, labelings: Sequence[int], crew: Crew
    ) -> None:
        self._data, self._settings, self._streams = data, settings, streams
        self._labelings, self._crew = tuple(labelings), crew
        basis = Basis.from_dataset(data)
        self._target = Target(
            LogPosterior(settings.prior, settings.max_experts, settings.fit_weights, basis.unit), basis
        )
        self._rows = FloatRows.from_dataset(data, basis)
        self._schedule = make_schedule(self._rows.design)
        self._pruning_rows = pruning_sample(data)

    def run(self, n_per_labeling: int) -> MinibatchResult:
        """Choose the rate, find the bases, and train the members."""
        prior = self._settings.prior
        losses: dict[float, float] = {}
        if prior.precision_rate == "learned":
            losses = self.rate_losses([multiple * prior.precision_shape for multiple in RATE_GRID])
            rate = min(losses, key=losses.__getitem__)
        else:
            rate = float(prior.precision_rate)
        reports, bases, n_epochs = self.find_bases(rate)
        members = self.train_on(bases, n_per_labeling, n_epochs)
        return MinibatchResult(self._result(members, n_per_labeling, rate, losses), reports)

    def _starts(self, n_per_labeling: int, rate: float) -> list[Member]:
        """Return members with random starts."""
        keys = [MemberKey(labeling, number) for labeling in self._labelings for number in range(n_per_labeling)]
        n_layers, members = self._settings.n_layers, []
        for key in keys:
            rng = self._streams.generator(labeling=key.labeling, chain=key.number, sweep=0, step=_START, block=0)
            members.append(Member(key, rate, self._target.log_posterior.random_start(n_layers, rng)))
        return members

    def rate_losses(self, rates: Sequence[float]) -> dict[float, float]:
        """Return the loss of unseen rows under each rate, after a short training on a sample of the rows."""
        n_rows = self._data.n_rows
        n_unseen = min(n_rows // 3, SAMPLE_ROWS)
        trained, unseen = hold_out(self._data, n_unseen, self._streams, step=SAMPLE)
        trained = trained[:SAMPLE_ROWS]  # in canonical order, any rows are a random sample
        members = [member for rate in rates for member in self._starts(1, rate)]
        rows = self._rows.with_equal_members(len(members), trained)
        trainer = Trainer(members, self._target, MemoryRows(rows, self._streams), self._crew)
        trainer.train_cycle(SAMPLE_CYCLE, self._schedule)
        held_out = self._rows.take(unseen)
        probabilities = trainer.probabilities(held_out).reshape(len(unseen), len(rates), -1).mean(axis=2)
        losses = np.average(log_losses(probabilities), axis=0, weights=held_out.row_weights)
        return dict(zip(rates, losses.tolist(), strict=True))

    def find_bases(self, rate: float) -> tuple[list[CycleReport], list[Member], int]:
        """Return the reports of the cycles, the modes found from random starts, and the number of epochs."""
        n_held_out = min(int(HELD_OUT_SHARE * self._data.n_rows), MAX_HELD_OUT)
        trained, unseen = hold_out(self._data, n_held_out, self._streams)
        starts = self._starts(-(-N_BASES // len(self._labelings)), rate)
        source = MemoryRows(self._rows.with_equal_members(len(starts), trained), self._streams)
        trainer = Trainer(starts, self._target, source, self._crew)
        held_out = self._rows.take(unseen)
        reports = train_members(trainer, self._schedule, self._pruning_rows, held_out, self._report)
        if not reports or not held_out.n_rows:
            return reports, trainer.members, trainer.n_epochs
        # A cycle that has made held-out rows less likely was one too many.
        return reports, min(reports, key=lambda report: report.held_out_loss).members, trainer.n_epochs

    def train_on(self, bases: Sequence[Member], n_per_labeling: int, n_epochs: int) -> list[Member]:
        """Return members that were trained from bases under their own row weights."""
        members = []
        for labeling in self._labelings:
            own = [base for base in bases if base.key.labeling == labeling]
            members += [
                replace(own[number % len(own)], key=MemberKey(labeling, number)) for number in range(n_per_labeling)
            ]
        rows = self._rows.with_members(self._streams, [member.key for member in members], self._data.block_rows)
        trainer = Trainer(members, self._target, MemoryRows(rows, self._streams), self._crew, n_epochs)
        schedule = replace(
            self._schedule,
            cycles=(max(round(MEMBER_SHARE * n_epochs), MIN_MEMBER_EPOCHS),),
            max_step=0.5 * self._schedule.max_step,
        )
        trainer.train_cycle(schedule.cycles[0], schedule)
        return trainer.members

    def _report(self, cycle: CycleReport) -> None:
        """Report the bases after a cycle to the user's callback."""
        for member, value in zip(cycle.members, cycle.log_likelihoods, strict=True):
            self._report_member(member, cycle.cycle + 1, value)

    def _report_member(self, member: Member, n_done: int, value: float) -> None:
        n_experts = len(member.start.log_weights)
        self._crew.reporting.report(
            Progress(member.key.labeling, member.key.number, n_done, len(CYCLES) + 1, "optimizations", value, n_experts)
        )

    def _result(
        self, members: Sequence[Member], n_per_labeling: int, rate: float, losses: dict[float, float]
    ) -> ModesResult:
        """Return the modes by labeling, with their log likelihoods."""
        tasks = [partial(log_likelihood, member.start, self._data, member.key.labeling) for member in members]
        values = run_all(tasks, self._crew.pool, self._crew.reporting)
        found = [FoundMode(member.start, value, member.start) for member, value in zip(members, values, strict=True)]
        reporting = self._crew.reporting
        for member, value in zip(members, values, strict=True):
            self._report_member(member, len(CYCLES) + 1, value)
        return ModesResult(
            [found[start : start + n_per_labeling] for start in range(0, len(found), n_per_labeling)],
            np.full((len(self._labelings), n_per_labeling), rate),
            losses,
            is_complete=not reporting.is_stopped(),
            is_interrupted=reporting.is_interrupted(),
        )


def make_schedule(design: FloatArray32 | sparse.csr_array) -> Schedule:
    """Return cycles, batches and steps for rows in the basis of the training.

    Adam goes through all columns in every batch, so batches of sparse rows are larger.
    """
    n_rows, n_columns = design.shape
    entries = design.data if isinstance(design, sparse.csr_array) else design
    ratio = n_rows * n_columns / max(entries.size, 1) / 4.0
    batch_rows = int(MIN_BATCH * 2 ** max(round(float(np.log2(ratio))), 0))
    size = float(np.abs(entries).sum(dtype=np.float64)) / n_rows
    return Schedule(make_cycles(n_rows), min(batch_rows, MAX_BATCH), min(MAX_STEP, PREDICTOR_STEP / size))


def make_cycles(n_rows: int) -> tuple[int, ...]:
    """Return the epochs of each cycle for a number of rows.

    Examples
    --------
    >>> from softpolytope.optimize._minibatch_search import make_cycles
    >>> make_cycles(10_000), make_cycles(50_000), make_cycles(1_000_000)
    ((5, 10, 60), (5, 10, 32), (1, 2, 3))
    """
    *short, last = CYCLES
    last = max(last, min(round(last * MIN_LONG_ROWS / n_rows), MAX_EPOCHS))
    shrinkage = min(1.0, MAX_LONG_ROWS / n_rows)
    return tuple(max(round(n_epochs * shrinkage), number + 1) for number, n_epochs in enumerate([*short, last]))


def pruning_sample(data: InMemoryDataset) -> InMemoryDataset:
    """Return the rows that decide which experts are removed, with the weight of all rows."""
    if data.n_rows <= PRUNING_ROWS:
        return data
    weights = np.zeros(data.n_rows)
    weights[:PRUNING_ROWS] = data.row_weights[:PRUNING_ROWS]
    return data.weighted(weights * (data.total_weight / weights.sum()))
