"""Blocks of a chain, made where its rows are: in memory, or in partitions elsewhere."""

from dataclasses import dataclass

import numpy as np

from softpolytope.data import BLOCK_ROWS, DatasetBlockFactory, EncodedRows, InMemoryDataset
from softpolytope.gibbs._chain import ChainSettings
from softpolytope.gibbs._latent_block import SAVED_NAMES, LatentBlock
from softpolytope.parallel import SavedState

# Numbers of blocks within a partition; the number of the partition stands above them.
BLOCKS_PER_PARTITION = 2**32
# Typical number per row and layer.
POSITIVE_COUNTS = 3
# Approximate size of the Python objects of a block.
BYTES_OF_A_BLOCK = 3000


@dataclass(frozen=True, slots=True)
class LatentBlockFactory(DatasetBlockFactory[LatentBlock]):
    """Factory of the blocks of a chain."""

    settings: ChainSettings

    def build(self, rows: InMemoryDataset, partition: int) -> list[LatentBlock]:
        """Return the blocks of a partition, whose numbers name their random streams."""
        moves = self.settings.moves
        if moves.scan == "paper":
            rows = rows.with_single_positives()
        return [
            LatentBlock(block, number, moves.pg_terms, moves.least_activation)
            for number, block in enumerate(rows.split(), partition * BLOCKS_PER_PARTITION)
        ]

    def state_bytes(self, rows: EncodedRows) -> int:
        """Return the size of the blocks of some rows with their activations."""
        settings = self.settings
        n_arrays = 3 * settings.n_layers + 1
        return self.compact_bytes(rows) + 8 * n_arrays * settings.max_experts * self._n_rows(rows)

    def compact_bytes(self, rows: EncodedRows) -> int:
        """Return the size of the blocks without activations."""
        settings, n_rows = self.settings, self._n_rows(rows)
        has_counts = settings.moves.scan == "paper" or settings.moves.polya_gamma
        n_arrays = 2 * settings.n_layers + 1 if has_counts else 0
        n_coefficients = settings.max_experts * settings.n_layers * len(rows.column_scale)
        of_blocks = -(-n_rows // BLOCK_ROWS) * (8 * n_coefficients + BYTES_OF_A_BLOCK)
        of_rows = n_rows * rows.nbytes / max(1, len(rows.codes)) if self._copies_rows(rows) else 0
        return int(of_rows) + of_blocks + (17 + 8 * n_arrays * settings.max_experts) * n_rows

    def saved_bytes(self, rows: EncodedRows) -> int:
        """Return the approximate size of the saved states: copies, offsets, positive counts and latent rates."""
        settings = self.settings
        of_row = 16
        if settings.moves.scan == "paper" or settings.moves.polya_gamma:
            of_row += (12 * POSITIVE_COUNTS + 8 * settings.max_experts) * settings.n_layers
        return of_row * self._n_rows(rows)

    def _n_rows(self, rows: EncodedRows) -> int:
        """Return the number of rows of the blocks: in the paper's scan, a positive row of weight w is w rows."""
        if self.settings.moves.scan != "paper":
            return len(rows.codes)
        labels = self.dataset(rows).labels
        return int(np.sum(np.where(labels, np.maximum(rows.row_weights, 1.0), 1.0)))

    def _copies_rows(self, rows: EncodedRows) -> bool:
        """Return whether blocks copy their rows: slices of dense rows are views, except where rows were repeated."""
        return rows.is_sparse or self._n_rows(rows) > len(rows.codes)

    def save(self, block: LatentBlock, number: int) -> SavedState:
        """Return the block's saved state, its names prefixed by its number; the coefficients, equal in all, once."""
        state: SavedState = {"coefficients": block.coefficients} if number == 0 else {}
        return state | {f"{number}.{name}": part for name, part in block.saved_state().items()}

    def restore(self, block: LatentBlock, number: int, saved: SavedState) -> None:
        """Continue from the block's own part of saved states, which is removed from them."""
        keys = {name: f"{number}.{name}" for name in SAVED_NAMES}
        own = {name: saved.pop(key) for name, key in keys.items() if key in saved}
        block.restore(saved["coefficients"], own)
