"""Rows in single precision for minibatches, their random weights in each member, and the order of an epoch.

The row weights of a member are those of the weighted likelihood bootstrap: a row of weight w is w rows, each of weight
~ Exp(1), so that its weight is ~ Gamma(w). They are drawn for each block of the dataset from a stream that the member
and the block name, and hence do not depend on threads, on what else is trained, or on how many rows are loaded at once.
Rows in memory are shuffled through all blocks in every epoch, so their weights are drawn once and kept in single
precision (four bytes per row and member, as much as a column of the design). Blocks that come from elsewhere are
shuffled within what is loaded at once, and their weights are drawn again in every epoch, to the same bits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.data import InMemoryDataset
from softpolytope.distributions import Streams
from softpolytope.model import Design
from softpolytope.optimize._basis import Basis, FloatArray32

# Rows that are brought into the order of an epoch at once. Batches do not extend over its multiples.
LOADED_ROWS = 32_768
# Steps of random streams; those of a search end before.
ROW_WEIGHTS, ORDER, HELD_OUT, SAMPLE = 16, 17, 18, 19


@dataclass(frozen=True, slots=True)
class MemberKey:
    """Name of a member's random streams."""

    labeling: int  # 0: the labels of the data, 1: the opposite ones
    number: int


@dataclass(frozen=True, slots=True)
class FloatRows:
    """Rows as the compiled code takes them."""

    design: FloatArray32 | sparse.csr_array
    labels: NDArray[np.uint8]
    row_weights: FloatArray  # (rows,)
    member_weights: FloatArray32  # (rows, members)

    @classmethod
    def from_dataset(cls, data: InMemoryDataset, basis: Basis) -> "FloatRows":
        """Return rows with columns in the given basis, without weights of members."""
        design = basis.transform(data.design, data.column_scale)
        none = np.empty((data.n_rows, 0), dtype=np.float32)
        return cls(design, data.labels.astype(np.uint8), data.row_weights, none)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    def arrays(self) -> tuple[FloatArray32, NDArray[np.int32] | None, NDArray[np.int32] | None]:
        """Return values, column indices and row pointers; dense rows have values only."""
        if isinstance(self.design, sparse.csr_array):
            return self.design.data, self.design.indices, self.design.indptr
        return self.design.reshape(-1), None, None

    def with_members(self, streams: Streams, members: Sequence[MemberKey], block_rows: int) -> "FloatRows":
        """Return the rows, which must be all of a dataset, with random weights in each member."""
        drawn = np.empty((self.n_rows, len(members)), dtype=np.float32)
        for block, start in enumerate(range(0, self.n_rows, block_rows)):
            rows = slice(start, start + block_rows)
            fill_member_weights(drawn[rows], self.row_weights[rows], streams, members, block)
        return replace(self, member_weights=drawn)

    def with_equal_members(self, n_members: int, rows: IndexArray) -> "FloatRows":
        """Return some of the rows, with their own weights in each member."""
        taken = self.take(rows)
        weights = np.repeat(taken.row_weights[:, None], n_members, axis=1).astype(np.float32)
        return replace(taken, member_weights=weights)

    def take(self, rows: IndexArray | slice) -> "FloatRows":
        """Return some of the rows, in the order given."""
        return FloatRows(self.design[rows], self.labels[rows], self.row_weights[rows], self.member_weights[rows])


def fill_member_weights(
    out: FloatArray32, row_weights: FloatArray, streams: Streams, members: Sequence[MemberKey], block: int
) -> None:
    """Write the weights (rows, members) of the rows of a block, each ~ Gamma(row weight).

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.distributions import Streams
    >>> from softpolytope.optimize._minibatch_rows import MemberKey, fill_member_weights
    >>> out = np.empty((1000, 1), dtype=np.float32)
    >>> fill_member_weights(out, np.full(1000, 2.0), Streams(0), [MemberKey(0, 0)], block=0)
    >>> bool(1.8 < out.mean() < 2.2)
    True
    """
    for column, member in enumerate(members):
        rng = streams.generator(labeling=member.labeling, chain=member.number, sweep=0, step=ROW_WEIGHTS, block=block)
        out[:, column] = rng.standard_gamma(row_weights)


class RowSource(Protocol):
    """Rows that are gone through in epochs."""

    @property
    def n_rows(self) -> int:
        """Number of rows of an epoch."""
        ...

    @property
    def total_weight(self) -> float:
        """Sum of the row weights."""
        ...

    def epoch(self, number: int) -> Iterator[FloatRows]:
        """Yield all rows, in an order that the number gives."""
        ...


class MemoryRows:
    """Rows in memory, in a random order in every epoch."""

    def __init__(self, rows: FloatRows, streams: Streams) -> None:
        self._rows, self._streams = rows, streams
        self.n_rows = rows.n_rows
        self.total_weight = float(rows.row_weights.sum())

    def epoch(self, number: int) -> Iterator[FloatRows]:
        """Yield all rows in the random order of an epoch, `LOADED_ROWS` at a time."""
        rng = self._streams.generator(labeling=0, chain=0, sweep=number, step=ORDER, block=0)
        order = rng.permutation(self.n_rows)
        for start in range(0, self.n_rows, LOADED_ROWS):
            yield self._rows.take(order[start : start + LOADED_ROWS])


class BlockRows:
    """Rows that are loaded block by block in every epoch, in a random order of the blocks and within each of them.

    `load` returns the standardized rows of a block; blocks should have many thousand rows.
    """

    def __init__(self, load: "BlockLoader", basis: Basis, streams: Streams, members: Sequence[MemberKey]) -> None:
        self._load, self._basis, self._streams, self._members = load, basis, streams, list(members)
        self.n_rows, self.total_weight = load.n_rows, load.total_weight

    def epoch(self, number: int) -> Iterator[FloatRows]:
        """Yield all rows, a block at a time; the weights of members are drawn again, to the same bits."""

        def generator(block: int) -> np.random.Generator:
            return self._streams.generator(labeling=0, chain=0, sweep=number, step=ORDER, block=block)

        for block in generator(0).permutation(self._load.n_blocks):
            rows = FloatRows.from_dataset(self._load(int(block)), self._basis)
            drawn = np.empty((rows.n_rows, len(self._members)), dtype=np.float32)
            fill_member_weights(drawn, rows.row_weights, self._streams, self._members, int(block))
            yield replace(rows, member_weights=drawn).take(generator(int(block) + 1).permutation(rows.n_rows))


class BlockLoader(Protocol):
    """Blocks of rows that live elsewhere."""

    n_blocks: int
    n_rows: int
    total_weight: float

    def __call__(self, block: int) -> InMemoryDataset:
        """Return the rows of a block."""
        ...


def hold_out(
    data: InMemoryDataset, n_held_out: int, streams: Streams, step: int = HELD_OUT
) -> tuple[IndexArray, IndexArray]:
    """Return the rows to train with and those to hold out; rows that differ only in their label stay together.

    Rows in canonical order are in the order of their hashes, so any run of them is a random sample.
    """
    if n_held_out == 0:
        return np.arange(data.n_rows), np.arange(0)
    rng = streams.generator(labeling=0, chain=0, sweep=0, step=step, block=0)
    first = int(rng.integers(data.n_rows))
    order = np.roll(np.arange(data.n_rows), -first)
    last = n_held_out
    while 0 < last < data.n_rows and _are_equal(data.design, int(order[last - 1]), int(order[last])):
        last += 1
    if last >= data.n_rows:  # all rows are equal
        return np.arange(data.n_rows), np.arange(0)
    begin = 0
    while begin < last and _are_equal(data.design, int(order[begin - 1]), int(order[begin])):
        begin += 1
    return np.sort(np.concatenate([order[:begin], order[last:]])), np.sort(order[begin:last])


def _are_equal(design: Design, first: int, second: int) -> bool:
    if isinstance(design, sparse.csr_array):
        ends = design.indptr
        one, other = slice(ends[first], ends[first + 1]), slice(ends[second], ends[second + 1])
        return all(np.array_equal(part[one], part[other]) for part in (design.indices, design.data))
    return bool((design[first] == design[second]).all())
