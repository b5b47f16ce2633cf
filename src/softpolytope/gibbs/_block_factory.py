"""Blocks of a chain, made where its rows are: in memory, or in partitions elsewhere."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from softpolytope.data import (
    BLOCK_ROWS,
    BLOCKS_OF_A_PARTITION,
    CodedRows,
    DatasetBlockFactory,
    InMemoryDataset,
    PartitionedDataset,
)
from softpolytope.gibbs._chain import ChainSettings
from softpolytope.gibbs._latent_block import SAVED_NAMES, LatentBlock
from softpolytope.parallel import Blocks, SavedState, SerialBlocks, ThreadBlocks

# Of a row and layer, about.
POSITIVE_COUNTS = 3
# What the objects of a block take besides their numbers, about.
BYTES_OF_A_BLOCK = 3000


@dataclass(frozen=True, slots=True)
class LatentBlockFactory(DatasetBlockFactory):
    """Blocks of a chain."""

    settings: ChainSettings

    def blocks(self, rows: CodedRows, partition: int) -> list[LatentBlock]:
        """The blocks, whose numbers say which partition they are of."""
        return latent_blocks(self.data(rows), self.settings, partition * BLOCKS_OF_A_PARTITION)

    def state_bytes(self, rows: CodedRows) -> int:
        """Activations besides what blocks at rest have."""
        settings = self.settings
        n_arrays = 3 * settings.n_layers + 1
        return self.rest_bytes(rows) + 8 * n_arrays * settings.max_experts * self._n_rows(rows)

    def rest_bytes(self, rows: CodedRows) -> int:
        """Labels, copies and offsets of rows, coefficients of blocks, and in the paper's scan counts and rates."""
        settings, n_rows = self.settings, self._n_rows(rows)
        has_counts = settings.moves.scan == "paper" or settings.moves.polya_gamma
        n_arrays = 2 * settings.n_layers + 1 if has_counts else 0
        n_coefficients = settings.max_experts * settings.n_layers * len(rows.column_scale)
        of_blocks = -(-n_rows // BLOCK_ROWS) * (8 * n_coefficients + BYTES_OF_A_BLOCK)
        of_rows = n_rows * rows.bytes_of_a_copied_row if self._copies_rows(rows) else 0
        return int(of_rows) + of_blocks + (17 + 8 * n_arrays * settings.max_experts) * n_rows

    def remnant_bytes(self, rows: CodedRows) -> int:
        """Copies and offsets; in the paper's scan counts, of which some for a row are positive, and latent rates."""
        settings = self.settings
        of_row = 16
        if settings.moves.scan == "paper" or settings.moves.polya_gamma:
            of_row += (12 * POSITIVE_COUNTS + 8 * settings.max_experts) * settings.n_layers
        return of_row * self._n_rows(rows)

    def _n_rows(self, rows: CodedRows) -> int:
        """Rows of the blocks: in the paper's scan, a positive row of weight w is w rows."""
        if self.settings.moves.scan != "paper":
            return len(rows.codes)
        labels = (rows.codes == self.positive) != self.is_flipped
        return int(np.sum(np.where(labels, np.maximum(rows.row_weights, 1.0), 1.0)))

    def _copies_rows(self, rows: CodedRows) -> bool:
        """Whether blocks have rows of their own: slices of dense ones are views, but for rows that were repeated."""
        return rows.is_sparse or self._n_rows(rows) > len(rows.codes)

    def remnant(self, block: LatentBlock, number: int) -> SavedState:
        """Return the block's saved state, its names prefixed by its number; the coefficients, equal in all, once."""
        state: SavedState = {"coefficients": block.coefficients} if number == 0 else {}
        return state | {f"{number}.{name}": part for name, part in block.saved_state().items()}

    def restore(self, block: LatentBlock, number: int, remnants: SavedState) -> None:
        """Continue from the block's own part of saved states, which is removed from them."""
        keys = {name: f"{number}.{name}" for name in SAVED_NAMES}
        own = {name: remnants.pop(key) for name, key in keys.items() if key in remnants}
        block.restore(remnants["coefficients"], own)


def make_blocks(
    data: InMemoryDataset | PartitionedDataset, settings: ChainSettings, pool: ThreadPoolExecutor, n_threads: int
) -> Blocks[LatentBlock]:
    """Return the blocks of a chain, where the rows are; `n_threads` of a pool visit those in memory."""
    if isinstance(data, PartitionedDataset):
        return data.store.blocks(LatentBlockFactory(data.preparation, data.positive, data.is_flipped, settings))
    blocks = latent_blocks(data, settings)
    return ThreadBlocks(blocks, pool, n_threads) if n_threads > 1 else SerialBlocks(blocks)


def latent_blocks(data: InMemoryDataset, settings: ChainSettings, first: int = 0) -> list[LatentBlock]:
    """Return the blocks of some rows; `first` is the number of the first, which names its random streams."""
    moves = settings.moves
    if moves.scan == "paper":
        data = data.with_single_positives()
    return [
        LatentBlock(rows, number, moves.pg_terms, moves.least_activation)
        for number, rows in enumerate(data.split(), first)
    ]
