"""Names of sweeps and their random steps: what a stream of random numbers belongs to."""

from dataclasses import dataclass
from enum import IntEnum

from numpy.random import BitGenerator, Generator

from softpolytope.distributions import Streams

# Steps of the chain itself, which belong to no block of rows.
_NO_BLOCK = 2**64 - 1


class Step(IntEnum):
    """Names of the random steps of a sweep; steps of a layer add ten times the layer."""

    RESTART = 0
    PRECISIONS = 1
    COUNTS = 2
    RATES = 3
    TABLES = 4
    PG_WEIGHTS = 5
    COEFFICIENTS = 6
    PROCESS = 7
    REFRESH = 8
    HAMILTONIAN = 9


@dataclass(frozen=True, slots=True)
class SweepStreams:
    """Which sweep of which chain: names the random streams."""

    streams: Streams
    labeling: int
    chain: int
    sweep: int

    def generator(self, step: Step, layer: int = 0, block: int = _NO_BLOCK) -> Generator:
        """The generator of a step, until this thread opens the next stream."""
        return self.streams.generator(
            labeling=self.labeling, chain=self.chain, sweep=self.sweep, step=10 * layer + step, block=block
        )

    def bits(self, step: Step, layer: int, block: int) -> BitGenerator:
        """The random bits of a step of a block."""
        return self.generator(step, layer, block).bit_generator
