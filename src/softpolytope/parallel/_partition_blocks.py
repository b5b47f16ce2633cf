"""Blocks made of partitions of rows, in this process: rows are read when visited and cached as far as memory allows."""

import copy
import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Concatenate, Generic, Protocol, cast, runtime_checkable

import numpy as np

from softpolytope.parallel._block_state import BlockFactory, Raw, read_saved_state, saved_state_file, write_saved_state
from softpolytope.parallel._blocks import Block, Block_co, Blocks, Call, Kind, P, Result, merge_siblings
from softpolytope.parallel._memory import allowance
from softpolytope.parallel._partition_cache import PartitionCache


class Source(Protocol):
    """Source of rows in partitions, which can be sent to another process."""

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        ...

    @property
    def n_features(self) -> int:
        """Number of columns."""
        ...

    @property
    def names(self) -> list[str] | None:
        """Names of the columns; None if they have none."""
        ...

    @property
    def largest_bytes(self) -> int:
        """Size of the largest partition as doubles; 0 if it is unknown."""
        ...

    @property
    def delayed(self) -> list[Any] | None:
        """Delayed partitions of a Dask collection, which workers compute; None if they can call `load`."""
        ...

    def load(self, partition: int) -> Raw:
        """Return rows, labels and weights (or None) of a partition."""
        ...


@runtime_checkable
class StatefulBlocks(Blocks[Block_co], Protocol[Block_co]):
    """Blocks made of partitions, whose state can be saved in files."""

    def save(self, folder: Path) -> None:
        """Write the state of every partition into a folder that every process with partitions can see."""
        ...

    def load(self, folder: Path) -> None:
        """Continue from the state saved in a folder."""
        ...


class PartitionStore(Protocol):
    """Partitions of rows, and the blocks made of them."""

    n_partitions: int
    n_tasks: int  # calls that can usefully run at once

    def blocks(self, factory: BlockFactory[Any, Block]) -> StatefulBlocks[Block]:
        """Return the blocks that a factory makes of the partitions."""
        ...

    def close(self) -> None:
        """Release all rows and blocks."""
        ...


@contextmanager
def open_partition_store(
    source: Source, client: object, max_memory: int | None, n_threads: int
) -> Iterator[PartitionStore]:
    """Open the workers of a Dask cluster if there is a client, otherwise partitions in this process."""
    if client is None and source.delayed is not None and max_memory is None:
        client = import_module("softpolytope.parallel.dask._cluster").default_client()
    store: PartitionStore
    if client is None:
        store = LocalPartitionStore(source, max_memory, n_threads)
    else:
        store = import_module("softpolytope.parallel.dask._placement").DaskPartitionStore(source, client, max_memory)
    try:
        yield store
    finally:
        store.close()


class LocalPartitionStore:
    """Partitions in this process, visited by threads."""

    n_tasks = 1

    def __init__(self, source: Source, max_memory: int | None, n_threads: int) -> None:
        self.n_partitions = source.n_partitions
        allowed = None if max_memory is None else allowance(max_memory, source.largest_bytes, n_threads)
        self.cache = PartitionCache(source.load, allowed, source.largest_bytes * source.n_partitions)
        self.pool = ThreadPoolExecutor(n_threads if allowed is None else allowed.n_in_flight)
        self._numbers = itertools.count()

    def blocks(self, factory: BlockFactory[Any, Block]) -> "PartitionBlocks[Block]":
        """Return the blocks that a factory makes of the partitions."""
        return PartitionBlocks(self, factory, str(next(self._numbers)))

    def close(self) -> None:
        """Release all rows and blocks."""
        self.pool.shutdown()
        self.cache.close()


class DeferringBlocks(ABC, Generic[Block]):
    """Blocks of partitions, where every visit costs the reading of rows or a message.

    A broadcast waits, and is made in the same visit as the next call that has a result. Its arguments are copied,
    because the caller may change them in the meantime.
    """

    def __init__(self, n_partitions: int) -> None:
        self._n_partitions = n_partitions
        self._deferred: list[Call] = []
        self._deferred_lock = threading.Lock()

    def map(self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs) -> list[Result]:
        """Call a method on every block and return the results in block order."""
        results = self._run([*self._take_deferred(), Call("map", method, args, kwargs)])
        return [result for partition in sorted(results) for result in results[partition]]

    def sum(self, method: Callable[Concatenate[Block, P], Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """Call a method on every block and return the sum of the results."""
        results = self._run([*self._take_deferred(), Call("sum", method, args, kwargs)])
        (total,) = merge_siblings(results, self._n_partitions).values()
        # An array that a worker has sent may be read-only.
        is_locked = isinstance(total, np.ndarray) and not total.flags.writeable
        return cast("Result", total.copy() if is_locked else total)

    def broadcast(self, method: Callable[Concatenate[Block, P], object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call a method on every block before the next call that has a result."""
        call = Call("broadcast", method, *copy.deepcopy((args, kwargs)))
        with self._deferred_lock:
            self._deferred.append(call)

    def _take_deferred(self) -> list[Call]:
        with self._deferred_lock:
            calls, self._deferred = self._deferred, []
        return calls

    def _flush(self) -> None:
        """Make the calls that wait."""
        calls = self._take_deferred()
        if calls:
            self._run(calls)

    @abstractmethod
    def _run(self, calls: list[Call]) -> dict[Any, Any]:
        """Make calls in one visit of every block and return the results of the last one as `collect` does."""


def collect(kind: Kind, results: Iterable[tuple[int, Any]], n_partitions: int) -> dict[Any, Any]:
    """Return results by partition, or sums by node of the tree, added as soon as both siblings have come."""
    collected: dict[Any, Any] = {}
    for partition, result in results:
        if kind == "sum":
            collected[0, partition] = result
            collected = dict(merge_siblings(collected, n_partitions))
        else:
            collected[partition] = result
    return collected


class PartitionBlocks(DeferringBlocks[Block]):
    """Blocks of the partitions in this process."""

    def __init__(self, store: LocalPartitionStore, factory: BlockFactory[Any, Block], name: str) -> None:
        super().__init__(store.n_partitions)
        self._cache, self._pool, self._factory, self._name = store.cache, store.pool, factory, name

    def mark_replay_point(
        self, method: Callable[Concatenate[Block, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Do nothing: blocks of this process are never rebuilt."""

    def replicate(self) -> None:
        """Do nothing: blocks of this process are never lost."""

    def save(self, folder: Path) -> None:
        """Write the state of every partition into a folder."""
        self._flush()
        folder.mkdir(parents=True, exist_ok=True)
        for partition in range(self._n_partitions):
            write_saved_state(saved_state_file(folder, partition), self._cache.saved_state(self._name, partition))

    def load(self, folder: Path) -> None:
        """Continue from the state saved in a folder."""
        self._flush()
        for partition in range(self._n_partitions):
            self._cache.restore(self._name, partition, read_saved_state(saved_state_file(folder, partition)))

    def close(self) -> None:
        """Release the blocks."""
        self._cache.release(self._name)

    def _run(self, calls: list[Call]) -> dict[Any, Any]:
        def work(partition: int) -> object:
            self._cache.ensure(self._name, partition, self._factory)
            return self._cache.run(self._name, partition, calls)

        results = self._pool.map(work, range(self._n_partitions))
        return collect(calls[-1].kind, enumerate(results), self._n_partitions)
