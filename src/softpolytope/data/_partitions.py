"""Rows in the partitions of a store, as a dataset, and random samples of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from scipy import sparse

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data._block_factory import Block, DatasetBlockFactory, EncodedRows, OneVsRest
from softpolytope.data._dataset import InMemoryDataset
from softpolytope.data._random_weights import RandomWeights
from softpolytope.data._row_block import MAX_FIRST_ROWS, RowBlock
from softpolytope.model import Design
from softpolytope.parallel import (
    Blocks,
    BlockThreads,
    PartitionStore,
    StatefulBlocks,
    StatelessBlockFactory,
    read_only,
)

# The size of a random sample varies. Its expected size exceeds the one asked for by this many standard deviations.
SPARE = 6.0


@dataclass(frozen=True, slots=True)
class PartitionedDataset:
    """One class against the rest, of rows in the partitions of a store."""

    store: PartitionStore
    labeling: OneVsRest
    n_rows: int  # of positive weight
    total_weight: float
    largest: FloatArray  # (columns,), largest absolute value of each column as inference sees it
    mean_square_root: FloatArray  # (columns,), of the same
    digest: str  # of the rows, their partitions and their encoding

    @property
    def n_columns(self) -> int:
        """Number of columns of the design."""
        return len(self.largest)

    @property
    def n_copies(self) -> float:
        """Upper bound of the number of rows when every copy of a row is a row of its own."""
        return self.n_rows + self.total_weight

    @property
    def fingerprint(self) -> str:
        """Hash of the rows, and the class that is separated from the rest."""
        return repr((self.digest, self.labeling.positive, self.labeling.is_flipped))

    def column_size(self) -> FloatArray:
        """Return the largest absolute value of each column."""
        return self.largest

    def root_mean_square(self) -> FloatArray:
        """Return the root mean square of each column."""
        return self.mean_square_root

    def check_labels(self) -> None:
        """Do nothing: every class has weight, or `PartitionedRows` would have raised."""

    def flipped(self) -> "PartitionedDataset":
        """Return the same rows under the opposite labeling."""
        return replace(self, labeling=replace(self.labeling, is_flipped=not self.labeling.is_flipped))

    def n_parallel(self, n_jobs: int, n_threads: int) -> int:  # noqa: ARG002  # threads only wait for the store
        """Return how many of several jobs to run at once: as many as the store can serve."""
        return self.store.n_tasks

    def blocks(
        self,
        factory: DatasetBlockFactory[Block],
        threads: BlockThreads | None = None,  # noqa: ARG002  # the store has its own
    ) -> StatefulBlocks[Block]:
        """Return the blocks of a factory, made where the partitions are."""
        return self.store.blocks(replace(factory, labeling=self.labeling))

    def sampler(self, make_rng: Callable[..., Generator]) -> "PartitionedSampler":
        """Return a sampler that gives each row a random number."""
        return PartitionedSampler(self, make_rng)


class PartitionedSampler:
    """Samples of rows in partitions: each row has a random number in [0, 1), and a sample those below its share."""

    def __init__(
        self,
        data: PartitionedDataset,
        make_rng: Callable[..., Generator],
        weights: RandomWeights | None = None,
        first: "Sample | None" = None,
    ) -> None:
        self._data, self._make_rng, self._weights = data, make_rng, weights
        self._samples: list[tuple[int, Blocks[SampledBlock]]] = []  # rows of a sample, and its blocks
        # Enough for the first sample and for rows that are not in it.
        self._first = self._gather(0.0, 2 * MAX_FIRST_ROWS) if first is None else first

    def sample(self, n_rows: int) -> InMemoryDataset:
        """Return the rows with the lowest numbers, gather into memory."""
        if n_rows > min(self._data.n_rows, MAX_FIRST_ROWS):
            raise ValueError(f"A sample in memory has at most {MAX_FIRST_ROWS} rows; got n_rows={n_rows}.")
        return self._first.to_dataset(0, n_rows)

    def unseen(self, n_rows: int) -> InMemoryDataset:
        """Return some rows that are not in the sample of `n_rows` rows; none if it has all rows."""
        if n_rows <= MAX_FIRST_ROWS:
            return self._first.to_dataset(n_rows, n_rows + MAX_FIRST_ROWS)
        if n_rows == self._data.n_rows:
            return self._first.to_dataset(0, 0)
        return self._gather(n_rows / self._data.n_rows, MAX_FIRST_ROWS).to_dataset(0, MAX_FIRST_ROWS)

    def blocks(
        self,
        n_rows: int,
        *,
        is_flipped: bool,
        threads: BlockThreads | None = None,  # noqa: ARG002  # the store has its own
    ) -> Blocks[RowBlock]:
        """Return the blocks of a sample, made where the rows are."""
        share = n_rows / self._data.n_rows if n_rows < self._data.n_rows else np.inf
        # Smaller samples are no longer needed, and workers can free their memory.
        for earlier in [earlier for size, earlier in self._samples if size != n_rows]:
            earlier.close()
        data = self._data.flipped() if is_flipped else self._data
        blocks = data.blocks(SampledBlockFactory(self._make_rng, share, self._weights))
        self._samples = [(size, earlier) for size, earlier in self._samples if size == n_rows] + [(n_rows, blocks)]
        return blocks

    def reweighted(self, weights: RandomWeights) -> "PartitionedSampler":
        """Return a sampler of the same samples whose rows have random weights."""
        first = replace(self._first, row_weights=self._first.draw_weights(weights))
        return PartitionedSampler(self._data, self._make_rng, weights, first)

    def close(self) -> None:
        """Release all blocks."""
        for _, blocks in self._samples:
            blocks.close()
        self._samples = []

    def _gather(self, lower: float, n_rows: int) -> "Sample":
        """Return the `n_rows` rows with the lowest numbers from `lower` on."""
        blocks = self._data.blocks(SampledBlockFactory(self._make_rng, np.inf, self._weights))
        share = (n_rows + SPARE * np.sqrt(n_rows)) / self._data.n_rows
        sample = blocks.sum(SampledBlock.rows_between, lower, lower + share)
        blocks.close()
        return sample.lowest(n_rows)


@dataclass(frozen=True)
class Sample:
    """Rows gather from several blocks, each with its random number."""

    numbers: FloatArray  # (rows,)
    design: Design  # (rows, columns), dense or CSR
    labels: BoolArray
    row_weights: FloatArray

    def __add__(self, other: "Sample") -> "Sample":
        one, two = self.design, other.design
        design: Design
        if isinstance(one, sparse.csr_array) and isinstance(two, sparse.csr_array):
            design = sparse.vstack([one, two], format="csr")
        else:
            design = np.concatenate([np.asarray(one), np.asarray(two)])
        return Sample(
            np.concatenate([self.numbers, other.numbers]),
            design,
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.row_weights, other.row_weights]),
        )

    def draw_weights(self, weights: RandomWeights) -> FloatArray:
        """Return random weights of the rows, which their numbers identify."""
        return weights.draw(self.numbers.view(np.uint64), self.row_weights)

    def lowest(self, n_rows: int) -> "Sample":
        """Return the rows with the lowest numbers, in increasing order of their numbers."""
        order = np.argsort(self.numbers, kind="stable")[:n_rows]
        return Sample(self.numbers[order], self.design[order], self.labels[order], self.row_weights[order])

    def to_dataset(self, start: int, stop: int) -> InMemoryDataset:
        """Return some of the rows as a dataset, with equal rows merged."""
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
        picked, scale = self._rows.design[chosen], self._rows.column_scale
        own = picked.multiply(scale).tocsr() if isinstance(picked, sparse.csr_array) else picked * scale
        return Sample(self._numbers[chosen], own, self._rows.labels[chosen], self._rows.row_weights[chosen])


@dataclass(frozen=True, slots=True)
class SampledBlockFactory(StatelessBlockFactory[EncodedRows, SampledBlock], DatasetBlockFactory[SampledBlock]):
    """Factory of blocks of all rows of a partition or, if the share is finite, of a random sample of them."""

    make_rng: Callable[..., Generator]
    share: float
    weights: RandomWeights | None = None

    def build(self, rows: InMemoryDataset, partition: int) -> list[SampledBlock]:
        """Return the blocks of a partition."""
        numbers = self.make_rng(block=partition).random(rows.n_rows)
        if self.weights is not None:
            rows = rows.weighted(self.weights.draw(numbers.view(np.uint64), rows.row_weights))
        if np.isfinite(self.share):
            is_chosen = numbers < self.share
            rows, numbers = rows.weighted(np.where(is_chosen, rows.row_weights, 0.0)), numbers[is_chosen]
        starts = range(0, max(rows.n_rows, 1), rows.block_rows)
        return [
            SampledBlock(block, numbers[start : start + rows.block_rows])
            for start, block in zip(starts, rows.split(), strict=True)
        ]

    def state_bytes(self, rows: EncodedRows) -> int:
        """Return the size of labels, offsets and numbers of all rows, or of copies of the rows in a sample."""
        if np.isfinite(self.share):
            return int(min(self.share, 1.0) * rows.nbytes)
        return (17 if self.weights is None else 25) * len(rows.codes) + (rows.nbytes if rows.is_sparse else 0)
