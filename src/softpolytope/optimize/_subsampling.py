"""Rows of a search: growing random samples of them, and the blocks that evaluate them, in memory or in partitions."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import CodedRows, DatasetBlockFactory, InMemoryDataset, PartitionedDataset, RowBlock
from softpolytope.distributions import Streams
from softpolytope.model import Design
from softpolytope.optimize._mode import column_unit, root_mean_square
from softpolytope.parallel import (
    Blocks,
    Reporting,
    SerialBlocks,
    StatelessBlockFactory,
    ThreadBlocks,
    read_only,
    run_all,
)

Result = TypeVar("Result")

# Rows of the first sample, which always fits into memory.
MAX_FIRST_ROWS = 20_000
# The size of a random sample varies. Its expected size exceeds the one asked for by this many standard deviations.
SPARE = 6.0


class Workers:
    """Threads of a search: one per restart, and the remaining ones for the blocks of each restart."""

    def __init__(self, stack: ExitStack, n_threads: int, n_tasks: int, reporting: Reporting) -> None:
        """Open a pool that `stack` closes; `n_tasks` restarts may wait for partitions at the same time."""
        self._stack, self._n_threads, self.reporting = stack, n_threads, reporting
        self._pool = stack.enter_context(ThreadPoolExecutor(max(n_threads, n_tasks)))
        self._block_pool: ThreadPoolExecutor | None = None

    def run(self, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run tasks on the threads; return their results in the order of the tasks."""
        return run_all(tasks, self._pool, self.reporting)

    def blocks(self, rows: InMemoryDataset, n_tasks: int) -> Blocks[RowBlock]:
        """Return the blocks of some rows, evaluated by this task's share of the threads if `n_tasks` run at once."""
        blocks = [RowBlock(block) for block in rows.split()]
        per_task = self._n_threads // n_tasks
        if per_task < 2:
            return SerialBlocks(blocks)
        if self._block_pool is None:
            self._block_pool = self._stack.enter_context(ThreadPoolExecutor(self._n_threads))
        return ThreadBlocks(blocks, self._block_pool, per_task)


class Rows(Protocol):
    """Rows of a search."""

    n_rows: int
    total_weight: float
    column_unit: FloatArray  # (columns,)  unit of the coefficients of each column

    def sample(self, n_rows: int) -> InMemoryDataset:
        """Return a random sample of at most `MAX_FIRST_ROWS` rows, in memory."""
        ...

    def unseen(self, n_rows: int) -> InMemoryDataset:
        """Return some rows that are not in the sample of `n_rows` rows; none if it has all rows."""
        ...

    def blocks(self, n_rows: int, labeling: int, rng: Generator | None) -> Blocks[RowBlock]:
        """Return the blocks of a sample; with a generator, its rows get bootstrap weights."""
        ...

    def close(self) -> None:
        """Release all blocks."""
        ...


class RowsInMemory:
    """Rows in memory; samples are the first rows of a random permutation."""

    def __init__(self, data: InMemoryDataset, rng: Generator, workers: Workers, n_jobs: int) -> None:
        self._data, self._workers, self._n_jobs = data, workers, n_jobs
        self._order = rng.permutation(data.n_rows)
        self._last, self._n_last = data, data.n_rows
        self.n_rows = data.n_rows
        self.total_weight = float(data.row_weights.sum())
        self.column_unit = column_unit(root_mean_square(data))

    def sample(self, n_rows: int) -> InMemoryDataset:
        """Return a random sample, in the canonical order of the rows."""
        if n_rows != self._n_last:
            self._last = self._data if n_rows == self.n_rows else self._select(self._order[:n_rows])
            self._n_last = n_rows
        return self._last

    def unseen(self, n_rows: int) -> InMemoryDataset:
        """Return some rows that are not in the sample of `n_rows` rows; none if it has all rows."""
        return self._select(self._order[n_rows : n_rows + MAX_FIRST_ROWS])

    def blocks(self, n_rows: int, labeling: int, rng: Generator | None) -> Blocks[RowBlock]:
        """Return the blocks of a sample; with a generator, its rows get bootstrap weights."""
        rows = self.sample(n_rows)
        if rng is not None:
            rows = _draw_bootstrap(rows, rng)
        return self._workers.blocks(rows.flipped() if labeling else rows, self._n_jobs)

    def close(self) -> None:
        """Do nothing: blocks in memory are garbage-collected."""

    def _select(self, chosen: NDArray[np.intp]) -> InMemoryDataset:
        weights = np.zeros(self._data.n_rows)
        weights[chosen] = self._data.row_weights[chosen]
        return self._data.weighted(weights)


def _draw_bootstrap(rows: InMemoryDataset, rng: Generator) -> InMemoryDataset:
    """Draw row weights of the weighted likelihood bootstrap; a row of weight w is w rows, each of weight ~ Exp(1)."""
    drawn = rng.gamma(rows.row_weights)
    return rows.weighted(np.maximum(drawn * (rows.row_weights.sum() / drawn.sum()), 1e-300))


class RowsInPartitions:
    """Rows in partitions. Each has a random number in [0, 1); a sample has the rows with numbers below its share."""

    def __init__(self, data: PartitionedDataset, streams: Streams, step: int) -> None:
        self._data, self._name = data, (streams, step)
        self.n_rows, self.total_weight = data.n_rows, data.total_weight
        self.column_unit = column_unit(np.sqrt(data.mean_square))
        self._samples: list[tuple[int, Blocks[SampledBlock]]] = []  # rows of a sample, and its blocks
        # Enough for the first sample and for rows that are not in it.
        self._first = self._gather(0.0, 2 * MAX_FIRST_ROWS)

    def sample(self, n_rows: int) -> InMemoryDataset:
        """Return the rows with the lowest numbers, gathered into memory."""
        if n_rows > min(self.n_rows, MAX_FIRST_ROWS):
            raise ValueError(f"A sample in memory has at most {MAX_FIRST_ROWS} rows; got n_rows={n_rows}.")
        return self._first.to_training_data(0, n_rows)

    def unseen(self, n_rows: int) -> InMemoryDataset:
        """Return some rows that are not in the sample of `n_rows` rows; none if it has all rows."""
        if n_rows <= MAX_FIRST_ROWS:
            return self._first.to_training_data(n_rows, n_rows + MAX_FIRST_ROWS)
        if n_rows == self.n_rows:
            return self._first.to_training_data(0, 0)
        return self._gather(n_rows / self.n_rows, MAX_FIRST_ROWS).to_training_data(0, MAX_FIRST_ROWS)

    def blocks(self, n_rows: int, labeling: int, rng: Generator | None) -> Blocks[RowBlock]:
        """Return the blocks of a sample, made where the rows are."""
        if rng is not None:
            raise ValueError('bootstrap=True requires all rows in memory. For partitions use inference="gibbs".')
        share = n_rows / self.n_rows if n_rows < self.n_rows else np.inf
        # Smaller samples are no longer needed, and workers can free their memory.
        for earlier in [earlier for size, earlier in self._samples if size != n_rows]:
            earlier.close()
        blocks = self._make_blocks(self._data.flipped() if labeling else self._data, share)
        self._samples = [(size, earlier) for size, earlier in self._samples if size == n_rows] + [(n_rows, blocks)]
        return blocks

    def close(self) -> None:
        """Release all blocks."""
        for _, blocks in self._samples:
            blocks.close()
        self._samples = []

    def _make_blocks(self, data: PartitionedDataset, share: float) -> Blocks["SampledBlock"]:
        return data.store.blocks(
            SampledBlockFactory(data.preparation, data.positive, data.is_flipped, *self._name, share)
        )

    def _gather(self, lower: float, n_rows: int) -> "Sample":
        """Return the `n_rows` rows with the lowest numbers from `lower` on."""
        blocks = self._make_blocks(self._data, np.inf)
        share = (n_rows + SPARE * np.sqrt(n_rows)) / self.n_rows
        sample = blocks.sum(SampledBlock.rows_between, lower, lower + share)
        blocks.close()
        return sample.lowest(n_rows)


@dataclass(frozen=True)
class Sample:
    """Rows gathered from several blocks, each with its random number."""

    numbers: FloatArray  # (rows,)
    design: Design  # (rows, columns), dense or CSR
    labels: BoolArray
    row_weights: FloatArray

    def __add__(self, other: "Sample") -> "Sample":
        stack: Any = sparse.vstack if sparse.issparse(self.design) else np.concatenate  # dense or sparse, as the rows
        return Sample(
            np.concatenate([self.numbers, other.numbers]),
            stack([self.design, other.design]),
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.row_weights, other.row_weights]),
        )

    def lowest(self, n_rows: int) -> "Sample":
        """Return the rows with the lowest numbers, in increasing order of their numbers."""
        order = np.argsort(self.numbers, kind="stable")[:n_rows]
        design = self.design.tocsr() if sparse.issparse(self.design) else self.design
        return Sample(self.numbers[order], design[order], self.labels[order], self.row_weights[order])

    def to_training_data(self, start: int, stop: int) -> InMemoryDataset:
        """Return some of the rows as training data, with equal rows merged."""
        rows = slice(start, stop)
        return InMemoryDataset.from_arrays(self.design[rows], self.labels[rows], self.row_weights[rows])


class SampledBlock(RowBlock):
    """Rows of a block, with their random numbers."""

    def __init__(self, rows: InMemoryDataset, numbers: FloatArray) -> None:
        super().__init__(rows)
        self._numbers = numbers

    @read_only
    def rows_between(self, lower: float, upper: float) -> Sample:
        """Return the rows with lower <= number < upper."""
        chosen = np.flatnonzero((self._numbers >= lower) & (self._numbers < upper))
        design: Any = self._rows.design  # dense or sparse, whose common interface has no type
        picked = design[chosen]
        scale = self._rows.column_scale
        own = picked.multiply(scale).tocsr() if self._is_sparse else picked * scale
        return Sample(self._numbers[chosen], own, self._rows.labels[chosen], self._rows.row_weights[chosen])


@dataclass(frozen=True, slots=True)
class SampledBlockFactory(DatasetBlockFactory, StatelessBlockFactory[CodedRows, SampledBlock]):
    """Blocks of all rows of a partition or, if the share is finite, of a random sample of them."""

    streams: Streams
    step: int
    share: float

    def blocks(self, rows: CodedRows, partition: int) -> list[SampledBlock]:
        """Return the blocks of a partition."""
        data = self.data(rows)
        rng = self.streams.generator(labeling=0, chain=0, sweep=0, step=self.step, block=partition)
        numbers = rng.random(data.n_rows)
        if np.isfinite(self.share):
            is_chosen = numbers < self.share
            data, numbers = data.weighted(np.where(is_chosen, data.row_weights, 0.0)), numbers[is_chosen]
        starts = range(0, max(data.n_rows, 1), data.block_rows)
        return [
            SampledBlock(block, numbers[start : start + data.block_rows])
            for start, block in zip(starts, data.split(), strict=True)
        ]

    def state_bytes(self, rows: CodedRows) -> int:
        """Return the size of labels, offsets and numbers of all rows, or of copies of the rows in a sample."""
        if np.isfinite(self.share):
            return int(min(self.share, 1.0) * rows.nbytes)
        return 17 * len(rows.codes) + (rows.nbytes if rows.is_sparse else 0)
