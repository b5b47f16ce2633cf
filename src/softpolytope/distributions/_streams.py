"""Named random streams: which numbers belong to which labeling, chain, sweep, step and row block.

A Philox generator is a keyed bijection of a 256-bit counter. The seed gives the key; the name of a stream
gives the upper 192 bits of the counter, one to one:

    word 3: labeling (32 bits), chain (32 bits)    word 2: sweep (48 bits), step (16 bits)
    word 1: row block (64 bits)                     word 0: the place within the stream

So two names of one seed share no counter value before one of them has used up its 2^64 values (2^66 numbers),
and a bijection sends different values to different outputs: streams of one seed do not overlap. Streams of
different seeds run under different keys, that is, under unrelated bijections.
"""

import threading
from typing import Any

import numpy as np
from numpy.random import Generator, Philox, SeedSequence

# Largest value of each part of a name, by the bits it has in the counter.
_LIMITS = {
    "labeling": 1 << 32,
    "chain": 1 << 32,
    "sweep": 1 << 48,
    "step": 1 << 16,
    "block": 1 << 64,
}


class Streams:
    """The random streams of one seed.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence or None
        As for numpy.random.default_rng; None takes a seed from the system. `key` tells which streams these are.

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
        """Return this thread's generator, placed at the beginning of the named stream.

        A thread has one generator, which the next call moves elsewhere: draw what a step needs before opening
        the next stream. That makes opening a stream a matter of one or two microseconds.
        """
        counter = _counter(labeling, chain, sweep, step, block)
        try:
            generator, state = self._threads.opened
        except AttributeError:
            generator, state = self._threads.opened = self._open()
        state["state"]["counter"] = counter
        generator.bit_generator.state = state
        return generator  # type: ignore[no-any-return]  # threading.local is untyped

    def new_generator(self, *, labeling: int, chain: int, sweep: int, step: int, block: int) -> Generator:
        """Return a generator of its own at the beginning of the named stream, about ten times slower."""
        generator, state = self._open()
        state["state"]["counter"] = _counter(labeling, chain, sweep, step, block)
        generator.bit_generator.state = state
        return generator

    def _open(self) -> tuple[Generator, dict[str, Any]]:
        """Make a generator and the state that only lacks its counter."""
        state = {
            "bit_generator": "Philox",
            "state": {"counter": (0, 0, 0, 0), "key": self.key},
            "buffer": (0, 0, 0, 0),
            "buffer_pos": 4,  # nothing buffered: the next draw computes a fresh block
            "has_uint32": 0,
            "uinteger": 0,
        }
        return Generator(Philox(key=0)), state

    def __getstate__(self) -> dict[str, Any]:
        return {"key": self.key}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.key = state["key"]
        self._threads = threading.local()


def _counter(labeling: int, chain: int, sweep: int, step: int, block: int) -> tuple[int, int, int, int]:
    """Pack a name into a counter; one comparison decides whether any part is out of range."""
    if (labeling | chain) >> 32 or sweep >> 48 or step >> 16 or block >> 64:
        parts = {"labeling": labeling, "chain": chain, "sweep": sweep, "step": step, "block": block}
        for name, value in parts.items():
            if not 0 <= value < _LIMITS[name]:
                raise ValueError(f"{name} must be from 0 to {_LIMITS[name] - 1}; got {value}.")
    return (0, block, sweep << 16 | step, labeling << 32 | chain)
