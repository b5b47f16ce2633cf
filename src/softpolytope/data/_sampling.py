"""Random samples of the rows of a dataset, for optimizations that start on few rows and end on all."""

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.random import Generator

from softpolytope._typing import IndexArray
from softpolytope.data._row_block import RowBlock
from softpolytope.parallel import Blocks, BlockThreads, blocks_in_memory

if TYPE_CHECKING:
    from softpolytope.data._dataset import InMemoryDataset

# Rows of the first sample, which always fits into memory.
MAX_FIRST_ROWS = 20_000


class RowSampler(Protocol):
    """Nested random samples of the rows of a dataset."""

    def sample(self, n_rows: int) -> "InMemoryDataset":
        """Return a random sample of at most `MAX_FIRST_ROWS` rows, in memory."""
        ...

    def unseen(self, n_rows: int) -> "InMemoryDataset":
        """Return some rows that are not in the sample of `n_rows` rows; none if it has all rows."""
        ...

    def blocks(
        self, n_rows: int, *, is_flipped: bool, threads: BlockThreads | None = None, rng: Generator | None = None
    ) -> Blocks[RowBlock]:
        """Return the blocks of a sample of any size; with a generator, its rows get bootstrap weights."""
        ...

    def close(self) -> None:
        """Release all blocks."""
        ...


class InMemorySampler:
    """Samples of rows in memory: the first rows of a random permutation."""

    def __init__(self, data: "InMemoryDataset", rng: Generator) -> None:
        self._data = data
        self._order = rng.permutation(len(data.labels))
        self._last, self._n_last = data, len(data.labels)

    def sample(self, n_rows: int) -> "InMemoryDataset":
        """Return a random sample, in the canonical order of the rows."""
        if n_rows != self._n_last:
            self._last = self._data if n_rows == self._data.n_rows else self._select(self._order[:n_rows])
            self._n_last = n_rows
        return self._last

    def unseen(self, n_rows: int) -> "InMemoryDataset":
        """Return some rows that are not in the sample of `n_rows` rows; none if it has all rows."""
        return self._select(self._order[n_rows : n_rows + MAX_FIRST_ROWS])

    def blocks(
        self, n_rows: int, *, is_flipped: bool, threads: BlockThreads | None = None, rng: Generator | None = None
    ) -> Blocks[RowBlock]:
        """Return the blocks of a sample; with a generator, its rows get bootstrap weights."""
        rows = self.sample(n_rows)
        if rng is not None:
            rows = _draw_bootstrap(rows, rng)
        return row_blocks(rows.flipped() if is_flipped else rows, threads)

    def close(self) -> None:
        """Do nothing: blocks in memory are garbage-collected."""

    def _select(self, chosen: IndexArray) -> "InMemoryDataset":
        weights = np.zeros(self._data.n_rows)
        weights[chosen] = self._data.row_weights[chosen]
        return self._data.weighted(weights)


def row_blocks(rows: "InMemoryDataset", threads: BlockThreads | None = None) -> Blocks[RowBlock]:
    """Return the blocks of rows in memory, evaluated on the given threads or in a loop."""
    return blocks_in_memory([RowBlock(block) for block in rows.split()], threads)


def _draw_bootstrap(rows: "InMemoryDataset", rng: Generator) -> "InMemoryDataset":
    """Draw row weights of the weighted likelihood bootstrap; a row of weight w is w rows, each of weight ~ Exp(1)."""
    drawn = rng.gamma(rows.row_weights)
    return rows.weighted(np.maximum(drawn * (rows.row_weights.sum() / drawn.sum()), 1e-300))
