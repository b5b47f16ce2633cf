"""Random streams named by labeling, chain, sweep, step and row block.

A Philox generator is a keyed bijection of a 256-bit counter. The seed gives the key; the name of a stream
gives the upper 192 bits of the counter, one to one:

    word 3: labeling (32 bits), chain (32 bits)    word 2: sweep (48 bits), step (16 bits)
    word 1: row block (64 bits)                     word 0: the position within the stream

Two names under one seed therefore share no counter value until one of them has used up its 2^64 values (2^66 numbers),
and a bijection maps different values to different outputs: streams of one seed do not overlap. Streams of different
seeds have different keys, that is, unrelated bijections.
"""

import threading
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.random import BitGenerator, Generator, Philox, SeedSequence

# Bits of each part of a name in the counter.
_BITS = {"labeling": 32, "chain": 32, "sweep": 48, "step": 16, "block": 64}


class Streams:
    """The random streams of one seed.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence or None
        As for numpy.random.default_rng; None takes a seed from the operating system. The attribute `key` identifies
        the streams.

    Examples
    --------
    >>> from softpolytope.distributions import Streams
    >>> streams = Streams(7)
    >>> first = streams.generator(labeling=0, chain=0, sweep=12, step=3, block=0).random()
    >>> other = streams.generator(labeling=0, chain=0, sweep=12, step=3, block=1).random()
    >>> again = streams.generator(labeling=0, chain=0, sweep=12, step=3, block=0).random()
    >>> first == again, first == other
    (True, False)
    """

    def __init__(self, seed: int | list[int] | SeedSequence | None = None) -> None:
        sequence = seed if isinstance(seed, SeedSequence) else SeedSequence(seed)
        low, high = sequence.generate_state(2, np.uint64).tolist()
        self.key: tuple[int, int] = (low, high)
        self._threads = threading.local()

    def generator(self, *, labeling: int, chain: int, sweep: int, step: int, block: int) -> Generator:
        """Return this thread's generator, set to the beginning of the named stream.

        Each thread has one generator, and the next call moves it to another stream: draw all numbers of a step before
        opening the next stream. In return, opening a stream takes only one or two microseconds.
        """
        counter = _counter(labeling, chain, sweep, step, block)
        generator: Generator | None = getattr(self._threads, "generator", None)
        if generator is None:
            generator = self._threads.generator = Generator(Philox(key=0))
        generator.bit_generator.state = {
            "bit_generator": "Philox",
            "state": {"counter": counter, "key": self.key},
            "buffer": (0, 0, 0, 0),
            "buffer_pos": 4,  # the buffer is empty, so the next draw computes a block
            "has_uint32": 0,
            "uinteger": 0,
        }
        return generator

    def __getstate__(self) -> dict[str, tuple[int, int]]:
        return {"key": self.key}

    def __setstate__(self, state: dict[str, tuple[int, int]]) -> None:
        self.key = state["key"]
        self._threads = threading.local()


def _counter(labeling: int, chain: int, sweep: int, step: int, block: int) -> tuple[int, int, int, int]:
    """Pack a name into a counter. One comparison finds out whether any part is out of range."""
    if (labeling | chain) >> 32 or sweep >> 48 or step >> 16 or block >> 64:
        parts = {"labeling": labeling, "chain": chain, "sweep": sweep, "step": step, "block": block}
        for name, value in parts.items():
            if value >> _BITS[name]:  # too large, or negative
                raise ValueError(f"{name} must be from 0 to {2 ** _BITS[name] - 1}; got {value}.")
    return (0, block, sweep << 16 | step, labeling << 32 | chain)


# The block of steps that belong to the whole chain.
_NO_BLOCK = 2**64 - 1


class Step(IntEnum):
    """Random steps of a sweep. The number of a step of one layer is this value plus ten times the layer."""

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
    """The random streams of one sweep of one chain."""

    streams: Streams
    labeling: int
    chain: int
    sweep: int

    def generator(self, step: Step, layer: int = 0, block: int = _NO_BLOCK) -> Generator:
        """Return the generator of a step, valid until this thread opens the next stream."""
        return self.streams.generator(
            labeling=self.labeling, chain=self.chain, sweep=self.sweep, step=10 * layer + step, block=block
        )

    def bits(self, step: Step, layer: int, block: int) -> BitGenerator:
        """Return the random bits of a step for one row block."""
        return self.generator(step, layer, block).bit_generator
