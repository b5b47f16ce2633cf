"""What a search has of its rows: samples of them, blocks; whether they are in memory or in partitions."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import CodedBlockFactory, CodedRows, PartitionedData, RowBlock, TrainingData
from softpolytope.distributions import Streams
from softpolytope.optimize._mode import column_unit, column_units
from softpolytope.optimize._workers import Workers
from softpolytope.parallel import Blocks, StatelessBlockFactory, read_only

MAX_ROWS_FOR_SCALE = 20_000
# A sample by chance has a few rows more or less than asked for; so many standard deviations more are drawn.
SPARE = 6.0


class Rows(Protocol):
    """Rows of a search."""

    n_rows: int
    total_weight: float
    unit: FloatArray  # (columns,), what coefficients are measured in

    def sample(self, n_rows: int) -> TrainingData:
        """Some rows in memory; up to `MAX_ROWS_FOR_SCALE`."""
        ...

    def unseen(self, n_rows: int) -> TrainingData:
        """Some rows that a sample of `n_rows` does not have; none if it has all."""
        ...

    def blocks(self, n_rows: int, labeling: int, rng: Generator | None) -> Blocks[RowBlock]:
        """Return the blocks of a sample; a generator gives its rows the weights of a bootstrap."""
        ...

    def close(self) -> None:
        """Release all blocks."""
        ...


class RowsInMemory:
    """Rows at hand."""

    def __init__(self, data: TrainingData, rng: Generator, workers: Workers, n_jobs: int) -> None:
        self._data, self._workers, self._n_jobs = data, workers, n_jobs
        self._order = rng.permutation(data.n_rows)
        self._last = data
        self._n_last = data.n_rows
        self.n_rows = data.n_rows
        self.total_weight = float(data.row_weights.sum())
        self.unit = column_units(data)

    def sample(self, n_rows: int) -> TrainingData:
        """Some rows, in their canonical order."""
        if n_rows != self._n_last:
            self._last = self._data if n_rows == self.n_rows else self._chosen(self._order[:n_rows])
            self._n_last = n_rows
        return self._last

    def unseen(self, n_rows: int) -> TrainingData:
        """Some rows that a sample of `n_rows` does not have; none if it has all."""
        return self._chosen(self._order[n_rows : n_rows + MAX_ROWS_FOR_SCALE])

    def blocks(self, n_rows: int, labeling: int, rng: Generator | None) -> Blocks[RowBlock]:
        """Return the blocks of a sample."""
        rows = self.sample(n_rows)
        if rng is not None:
            rows = _reweighted(rows, rng)
        return self._workers.blocks(rows.flipped() if labeling else rows, self._n_jobs)

    def close(self) -> None:
        """Do nothing: blocks in memory are garbage-collected."""

    def _chosen(self, chosen: NDArray[np.intp]) -> TrainingData:
        weights = np.zeros(self._data.n_rows)
        weights[chosen] = self._data.row_weights[chosen]
        return self._data.weighted(weights)


def _reweighted(rows: TrainingData, rng: Generator) -> TrainingData:
    """Rows with a draw of the weighted likelihood bootstrap: a row of weight w is w rows of Exp(1) weight each."""
    drawn = rng.gamma(rows.row_weights)
    return rows.weighted(np.maximum(drawn * (rows.row_weights.sum() / drawn.sum()), 1e-300))


class RowsInPartitions:
    """Rows elsewhere. Each has a random number between 0 and 1; a sample has those below its share of the rows."""

    def __init__(self, data: PartitionedData, streams: Streams, step: int) -> None:
        self._data, self._name = data, (streams, step)
        self.n_rows, self.total_weight = data.n_rows, data.total_weight
        self.unit = column_unit(data.mean_square)
        self._samples: list[tuple[int, Blocks[SampledBlock]]] = []  # rows of a sample, and its blocks
        # The first sample, and what it has not seen.
        self._first = self._gathered(0.0, 2 * MAX_ROWS_FOR_SCALE)

    def sample(self, n_rows: int) -> TrainingData:
        """The rows of the lowest numbers, brought here."""
        if n_rows > min(self.n_rows, MAX_ROWS_FOR_SCALE):
            raise ValueError(f"{n_rows} rows are too many to be brought here.")
        return self._first.part(0, n_rows)

    def unseen(self, n_rows: int) -> TrainingData:
        """Some rows that a sample of `n_rows` does not have; none if it has all."""
        if n_rows <= MAX_ROWS_FOR_SCALE:
            return self._first.part(n_rows, n_rows + MAX_ROWS_FOR_SCALE)
        if n_rows == self.n_rows:
            return self._first.part(0, 0)
        return self._gathered(n_rows / self.n_rows, MAX_ROWS_FOR_SCALE).part(0, MAX_ROWS_FOR_SCALE)

    def blocks(self, n_rows: int, labeling: int, rng: Generator | None) -> Blocks[RowBlock]:
        """Return the blocks of a sample, made where the rows are."""
        if rng is not None:
            raise ValueError(
                "bootstrap=True gives every row a weight of its own in every restart, and needs the rows in memory; "
                'for intervals of rows in partitions use inference="gibbs".'
            )
        data = self._data.flipped() if labeling else self._data
        share = n_rows / self.n_rows if n_rows < self.n_rows else np.inf
        # Smaller samples have served, and workers need not keep them.
        for earlier in [earlier for size, earlier in self._samples if size != n_rows]:
            earlier.close()
        factory = RowBlockFactory(data.preparation, data.positive, data.is_flipped, *self._name, share)
        blocks = data.store.blocks(factory)
        self._samples = [(size, earlier) for size, earlier in self._samples if size == n_rows] + [(n_rows, blocks)]
        return blocks

    def close(self) -> None:
        """Let workers forget all blocks."""
        for _, blocks in self._samples:
            blocks.close()
        self._samples = []

    def _gathered(self, above: float, n_rows: int) -> "Sample":
        """About so many rows whose numbers are above a limit, those of the lowest numbers first."""
        data = self._data
        factory = RowBlockFactory(data.preparation, data.positive, data.is_flipped, *self._name, np.inf)
        blocks = data.store.blocks(factory)
        share = (n_rows + SPARE * np.sqrt(n_rows)) / self.n_rows
        found = blocks.sum(SampledBlock.numbered, above, above + share)
        blocks.close()
        return found.part_of_all(n_rows)


@dataclass(frozen=True)
class Sample:
    """Rows brought together, each with its random number."""

    numbers: FloatArray  # (rows,)
    design: Any  # (rows, columns), dense or CSR
    labels: BoolArray
    row_weights: FloatArray

    def __add__(self, other: "Sample") -> "Sample":
        stack: Any = sparse.vstack if sparse.issparse(self.design) else np.concatenate
        return Sample(
            np.concatenate([self.numbers, other.numbers]),
            stack([self.design, other.design]),
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.row_weights, other.row_weights]),
        )

    def part_of_all(self, n_rows: int) -> "Sample":
        """The rows of the lowest numbers, in the order of these."""
        order = np.argsort(self.numbers, kind="stable")[:n_rows]
        stacked: Any = self.design
        design: Any = stacked.tocsr() if sparse.issparse(self.design) else stacked
        return Sample(self.numbers[order], design[order], self.labels[order], self.row_weights[order])

    def part(self, start: int, stop: int) -> TrainingData:
        """Some of them as training data, equal rows merged."""
        rows = slice(start, stop)
        return TrainingData.from_arrays(self.design[rows], self.labels[rows], self.row_weights[rows])


class SampledBlock(RowBlock):
    """Rows of a block, with their random numbers."""

    def __init__(self, rows: TrainingData, numbers: FloatArray) -> None:
        super().__init__(rows)
        self._numbers = numbers

    @read_only
    def numbered(self, lower: float, upper: float) -> Sample:
        """The rows whose numbers are between two limits."""
        chosen = np.flatnonzero((self._numbers >= lower) & (self._numbers < upper))
        design: Any = self._rows.design
        picked = design[chosen]
        scale = self._rows.column_scale
        own = picked.multiply(scale).tocsr() if self._is_sparse else picked * scale
        return Sample(self._numbers[chosen], own, self._rows.labels[chosen], self._rows.row_weights[chosen])


@dataclass(frozen=True, slots=True)
class RowBlockFactory(CodedBlockFactory, StatelessBlockFactory[CodedRows, SampledBlock]):
    """Blocks for climbs; of a sample of the rows, if its share is below one."""

    streams: Streams
    step: int
    share: float

    def blocks(self, rows: CodedRows, partition: int) -> list[SampledBlock]:
        """The blocks of a partition."""
        data = self.data(rows)
        rng = self.streams.generator(labeling=0, chain=0, sweep=0, step=self.step, block=partition)
        numbers = rng.random(data.n_rows)
        if np.isfinite(self.share):
            is_chosen = numbers < self.share
            data, numbers = data.weighted(np.where(is_chosen, data.row_weights, 0.0)), numbers[is_chosen]
        starts = range(0, max(data.n_rows, 1), data.block_rows)
        return [
            SampledBlock(block, numbers[start : start + data.block_rows])
            for start, block in zip(starts, data.blocks(), strict=True)
        ]

    def state_bytes(self, rows: CodedRows) -> int:
        """Labels, offsets and numbers of all rows, or copies of those in a sample."""
        if np.isfinite(self.share):
            return int(min(self.share, 1.0) * rows.nbytes)
        return 17 * len(rows.codes) + (rows.nbytes if rows.is_sparse else 0)
