"""Chains whose rows live in partitions: how the blocks of one are made where its rows are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softpolytope.gibbs.block import LatentBlock
from softpolytope.gibbs.chain import ChainSettings, latent_blocks
from softpolytope.model.partition import BLOCKS_OF_A_PARTITION, CodedRows, PartitionedData, Preparation
from softpolytope.parallel.keeper import Raw, Remnants
from softpolytope.parallel.places import PartitionHome


@dataclass(frozen=True, slots=True)
class LatentRecipe:
    """Blocks of a chain, of one class against the rest."""

    preparation: Preparation
    positive: int
    is_flipped: bool
    settings: ChainSettings

    @property
    def rows_key(self) -> bytes:
        """Names the rows made ready."""
        return self.preparation.key

    @property
    def reads(self) -> frozenset[str]:
        """Methods that change nothing in a block."""
        return LatentBlock.READS

    def rows(self, raw: Raw, partition: int) -> CodedRows:  # noqa: ARG002  # a partition is as good as another
        """Rows made ready."""
        return self.preparation.coded(raw)

    def blocks(self, rows: CodedRows, partition: int) -> list[LatentBlock]:
        """The blocks, whose numbers say which partition they are of."""
        data = rows.against_rest(self.positive, is_flipped=self.is_flipped)
        return latent_blocks(data, self.settings, partition * BLOCKS_OF_A_PARTITION)

    @property
    def can_rest(self) -> bool:
        """Activations can be computed again."""
        return True

    def state_bytes(self, rows: CodedRows) -> int:
        """Activations, and in the paper's scan counts and rates."""
        n_layers = self.settings.n_layers
        is_paper = self.settings.moves.scan == "paper" or self.settings.moves.polya_gamma
        n_arrays = 3 * n_layers + 1 + (2 * n_layers + 1 if is_paper else 0)
        return 8 * n_arrays * self.settings.max_experts * len(rows.codes)

    def remnants(self, blocks: list[LatentBlock]) -> Remnants:
        """All blocks have the same coefficients; parts of a block are named by its place. The blocks may go on."""
        found: Remnants = {"coefficients": blocks[0].coefficients.copy()}
        for number, block in enumerate(blocks):
            parts = block.remnant().items()
            found.update({f"{number}.{name}": np.array(part) for name, part in parts if part is not None})
        return found

    def restore(self, blocks: list[LatentBlock], remnants: Remnants) -> None:
        """Go on from remnants."""
        names = ("shape", "places", "counts", "copies", "offset", "rates", "weights")
        for number, block in enumerate(blocks):
            parts: dict[str, Any] = {name: remnants.get(f"{number}.{name}") for name in names}
            block.restore(remnants["coefficients"], parts)


def partition_home(data: PartitionedData, settings: ChainSettings) -> PartitionHome:
    """A home for the blocks of a chain, where the rows are."""
    home: PartitionHome = data.place.home(LatentRecipe(data.preparation, data.positive, data.is_flipped, settings))
    return home
