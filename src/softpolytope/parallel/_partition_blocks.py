"""Where partitions of rows live in this process: read when visited, kept as far as memory allows."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from softpolytope.parallel._block_state import read_saved_state, saved_state_file, write_saved_state
from softpolytope.parallel._blocks import Blocks
from softpolytope.parallel._deferred_calls import DeferredCalls
from softpolytope.parallel._memory import allowance
from softpolytope.parallel._partition_cache import BlockFactory, Call, PartitionCache
from softpolytope.parallel._reduction import Node, merged
from softpolytope.parallel._sources import Source


@runtime_checkable
class StatefulBlocks(Blocks, Protocol):
    """A home of blocks that are made of partitions, and whose remnants can be put into files."""

    def save(self, folder: Path) -> None:
        """Write the remnants of every partition into a folder that all who have partitions can see."""
        ...

    def load(self, folder: Path) -> None:
        """Go on from the remnants in a folder."""
        ...


class PartitionStore(Protocol):
    """Partitions of rows, and homes for the blocks made of them."""

    n_partitions: int
    n_tasks: int  # that may be given to it at once with profit

    def home(self, recipe: BlockFactory) -> StatefulBlocks:
        """A home for the blocks that a recipe makes."""
        ...

    def close(self) -> None:
        """Forget all rows and blocks."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def open_partition_store(source: Source, client: Any, max_memory: int | None, n_threads: int) -> PartitionStore:
    """Workers of a Dask cluster if there is a client, otherwise this process."""
    if client is None and source.is_dask and max_memory is None:
        client = import_module("softpolytope.parallel.dask._cluster").default_client()
    if client is None:
        return LocalPartitionStore(source, max_memory, n_threads)
    place: PartitionStore = import_module("softpolytope.parallel.dask._placement").DaskPartitionStore(
        source, client, max_memory
    )
    return place


class LocalPartitionStore:
    """Partitions in this process, visited by threads."""

    n_tasks = 1

    def __init__(self, source: Source, max_memory: int | None, n_threads: int) -> None:
        self.n_partitions = source.n_partitions
        allowed = None if max_memory is None else allowance(max_memory, source.largest_bytes, n_threads)
        self.keeper = PartitionCache(source.load, allowed, source.largest_bytes * source.n_partitions)
        self.pool = ThreadPoolExecutor(n_threads if allowed is None else allowed.n_in_flight)
        self._numbers = itertools.count()

    def home(self, recipe: BlockFactory) -> "PartitionBlocks":
        """A home for the blocks that a recipe makes."""
        return PartitionBlocks(self, recipe, str(next(self._numbers)))

    def close(self) -> None:
        """Forget all rows and blocks."""
        self.pool.shutdown()
        self.keeper.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PartitionBlocks:
    """Blocks of the partitions in this process."""

    def __init__(self, place: LocalPartitionStore, recipe: BlockFactory, name: str) -> None:
        self._place, self._recipe, self._name = place, recipe, name
        self._waiting = DeferredCalls()

    def map(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every block; results in block order."""
        calls = self._waiting.and_then("map", method, arguments)
        return [result for results in self._run(calls) for result in results]

    def each(self, method: str, *arguments: Any) -> None:
        """Call a method of every block that returns nothing, before anything else is asked of them."""
        self._waiting.add(method, arguments)

    def total(self, method: str, *arguments: Any) -> Any:
        """Call a method of every block; the sum of the results."""
        nodes: dict[Node, Any] = {}
        for partition, result in enumerate(self._run(self._waiting.and_then("total", method, arguments))):
            nodes[0, partition] = result
            nodes = merged(nodes, self._place.n_partitions)
        (total,) = nodes.values()
        return total

    def begin_anew(self, method: str, *arguments: Any) -> None:
        """Blocks in this process are never lost."""

    def secure(self) -> None:
        """Blocks in this process are never lost."""

    def save(self, folder: Path) -> None:
        """Write the remnants of every partition into a folder."""
        self._catch_up()
        folder.mkdir(parents=True, exist_ok=True)
        for partition in range(self._place.n_partitions):
            write_saved_state(saved_state_file(folder, partition), self._place.keeper.remnants(self._name, partition))

    def load(self, folder: Path) -> None:
        """Go on from the remnants in a folder."""
        self._catch_up()
        for partition in range(self._place.n_partitions):
            self._place.keeper.restore(self._name, partition, read_saved_state(saved_state_file(folder, partition)))

    def leave(self) -> None:
        """Give up the blocks."""
        self._place.keeper.leave(self._name)

    def _catch_up(self) -> None:
        """Make the calls that wait."""
        calls = self._waiting.taken()
        if calls:
            for _ in self._run(calls):
                pass

    def _run(self, calls: list[Call]) -> Iterator[Any]:
        keeper = self._place.keeper

        def work(partition: int) -> Any:
            keeper.take_once(self._name, partition, self._recipe)
            return keeper.run(self._name, partition, calls)

        return self._place.pool.map(work, range(self._place.n_partitions))
