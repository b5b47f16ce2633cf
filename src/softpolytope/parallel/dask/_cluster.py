"""Workers of a Dask cluster: which of them respond, and results that arrive or are given up."""

import concurrent.futures
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias

import distributed
from distributed import Client, Future
from distributed.comm import CommClosedError

from softpolytope.exceptions import BlocksLostError

# Seconds between two checks of the workers while waiting for a result.
CHECK_INTERVAL = 1.0
# Seconds without a heartbeat after which a worker counts as frozen. A busy worker sends heartbeats too.
FROZEN_AFTER = 10.0
# A live worker is given up when a call takes so many times as long as before, but not before so many seconds. It then
# gets no work for a while.
PATIENCE_FACTOR, MIN_PATIENCE = 20.0, 25.0
SHUNNED_FOR = 600.0
# A result that takes longer while a worker is frozen may depend on that worker, which is then removed.
STUCK_AFTER = 15.0
# Seconds that the scheduler may be unreachable, and that there may be no worker at all.
SCHEDULER_PATIENCE = 12.0
WORKER_PATIENCE = 18.0
# Seconds that a worker may take to import the package before others start without it, and number of such waits.
IMPORT_PATIENCE = 25.0
MAX_IMPORTS = 4
# Threads that wait for results; those whose result was given up may linger.
MAX_WAITING = 64


class Slot(NamedTuple):
    """A thread of a worker."""

    address: str
    thread: int


class _Lost:
    """Placeholder of a result that will not arrive."""


LOST = _Lost()
Sent: TypeAlias = tuple[Slot, Any]  # a thread and the future of its task, or `LOST`
# Dask's errors for tasks whose worker or data is lost, as opposed to errors of the tasks themselves.
_INFRASTRUCTURE = ("KilledWorker", "FutureCancelledError", "CancelledError", "CommClosedError", "LostDataError")


def default_client() -> Client:
    """Return the current client of this process."""
    try:
        return distributed.get_client()
    except ValueError as error:
        raise ValueError(
            "X is a Dask collection, but there is no Dask client to compute it with. Start one with "
            "distributed.Client(...), or set max_memory to read the rows on this machine, partition by partition."
        ) from error


def check_client(client: object) -> None:
    """Raise ValueError unless a client is connected and synchronous."""
    if not isinstance(client, Client):
        raise ValueError(f"client must be a distributed.Client; got {type(client).__name__}.")
    if client.asynchronous:
        raise ValueError(
            "client must not be asynchronous, because fit waits for results. Use Client(asynchronous=False)."
        )
    if client.status != "running":
        raise ValueError(f"The Dask client is {client.status}. Use a client that is connected to a running scheduler.")


class Cluster:
    """Workers that a client can use."""

    def __init__(self, client: Client) -> None:
        check_client(client)
        self.client = client
        self.is_lost = False  # whether the scheduler was unreachable for too long
        self.errors: list[str] = []  # reasons of the last results that did not arrive
        self._heartbeats: dict[str, tuple[float, float]] = {}
        self._shunned: dict[str, float] = {}  # until when
        self._frozen: set[str] = set()
        self._ready: set[str] = set()  # workers that have imported the package
        self._threads = ThreadPoolExecutor(MAX_WAITING)

    def close(self) -> None:
        """Stop waiting for results."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def usable(self) -> dict[str, int]:
        """Return the threads of every responding worker, by address; wait a while if there is none."""
        deadline = time.monotonic() + WORKER_PATIENCE
        while True:
            seen = self._list_workers()
            self._frozen = {address for address, (_, age, _) in seen.items() if age >= FROZEN_AFTER}
            found = {
                address: threads
                for address, (threads, _, status) in seen.items()
                if address not in self._frozen and status in ("running", "paused")
            }
            if found:
                now = time.monotonic()
                return {item: found[item] for item in found if self._shunned.get(item, 0.0) < now} or found
            if time.monotonic() > deadline:
                raise BlocksLostError(
                    f"No worker of the Dask cluster has responded for {WORKER_PATIENCE:.0f} seconds. Known workers: "
                    f"{seen or 'none'} (threads, seconds since the last heartbeat, status)."
                )
            time.sleep(0.2)

    def known(self) -> set[str]:
        """Return the addresses of all workers of the scheduler, whether or not they respond."""
        return set(self._list_workers())

    def clients(self) -> set[str] | None:
        """Return the names of all connected clients; None if the scheduler does not answer."""
        try:
            # A lambda is pickled by value, so that the scheduler need not have the package or wait for its import.
            found = self.client.sync(
                self.client.run_on_scheduler,
                lambda dask_scheduler: list(dask_scheduler.clients),
                callback_timeout=SCHEDULER_PATIENCE,
            )
        except Exception:  # the next request will say what is wrong
            return None
        return set(found) | {self.client.id}

    def import_on_workers(self) -> dict[str, int]:
        """Import the package on new workers; return the number of threads of every worker that has imported it.

        To unpickle its first task, a worker would import the package in the thread that sends heartbeats, and seem
        frozen. A task that needs no import therefore comes first, and imports the package in a thread of its own.
        """
        for _ in range(MAX_IMPORTS):
            usable = self.usable()
            self._import_on([Slot(address, 0) for address in usable if address not in self._ready])
            found = {address: usable[address] for address in usable if address in self._ready}
            if found:
                return found
        raise BlocksLostError(
            f"No worker of the Dask cluster has imported softpolytope in {MAX_IMPORTS} times {IMPORT_PATIENCE:.0f} "
            f"seconds. They may be busy with other work. The workers are {sorted(usable)}."
        )

    def _import_on(self, new: list[Slot]) -> None:
        asked = [(slot, self.submit(slot, exec, "import softpolytope.parallel.dask._worker")) for slot in new]
        try:
            answers = self.gather(asked, IMPORT_PATIENCE)
        except ImportError as error:
            raise ImportError(
                f"A worker cannot import softpolytope: {error}. Install the version of the client on all workers: "
                'pip install "softpolytope[dask]".'
            ) from error
        self._ready.update(slot.address for slot, answer in zip(new, answers, strict=True) if answer is not LOST)

    def submit(self, slot: Slot, function: Callable[..., Any], *arguments: object) -> Future | _Lost:
        """Send a task to the worker of a slot only."""
        try:
            return self.client.submit(
                function, *arguments, workers=[slot.address], allow_other_workers=False, pure=False, retries=0
            )
        except (RuntimeError, OSError, CancelledError) as error:
            self._note(error)
            return LOST

    def gather(self, futures: Sequence[Sent], patience: float = math.inf) -> list[Any]:
        """Return results in order, `LOST` where a worker is gone, frozen or silent; raise errors of the tasks."""
        start = time.monotonic()
        results: dict[int, Any] = {at: LOST for at, (_, future) in enumerate(futures) if future is LOST}
        while len(results) < len(futures):
            waiting = [at for at in range(len(futures)) if at not in results]
            # In a thread of its own, which ends when a result that is given up is canceled.
            gathering = self._threads.submit(self.client.gather, [futures[at][1] for at in waiting])
            results.update(self._wait(gathering, futures, waiting, (start, patience)))
        return [results[at] for at in range(len(futures))]

    def _wait(
        self,
        gathering: concurrent.futures.Future[list[Any]],
        futures: Sequence[Sent],
        waiting: list[int],
        limit: tuple[float, float],
    ) -> dict[int, Any]:
        """Return results that have arrived, or those given up; `limit` is a start and seconds from there."""
        start, patience = limit
        while True:
            try:
                values = gathering.result(timeout=CHECK_INTERVAL)
                return dict(zip(waiting, values, strict=True))
            except Exception as error:  # of Dask or of a task
                if gathering.done():
                    self._note(error)
                    return self._find_lost(futures, waiting, error)
                elapsed = time.monotonic() - start
                gone = self._give_up(futures, waiting, is_late=elapsed > patience)
                if elapsed > STUCK_AFTER and self._frozen:
                    self._remove_frozen()
                if gone:
                    return gone

    def compute(self, slot: Slot, parts: Sequence[object]) -> list[Future]:
        """Return futures of Dask partitions, computed on the worker of a slot if possible."""
        futures: list[Future] = self.client.compute(parts, workers=[slot.address], allow_other_workers=True)
        return futures

    def replicate(self, futures: list[Future]) -> None:
        """Copy results to a second worker, if there is one."""
        if len(self.usable()) > 1 and futures:
            try:
                self.client.sync(self.client.replicate, futures, n=2, callback_timeout=SCHEDULER_PATIENCE)
            except Exception as error:  # one copy remains
                self._note(error)

    def find_alive(self, futures: list[Future]) -> set[str]:
        """Return the keys of results that some worker still has."""
        self.check_connection()
        usable = set(self.usable())
        try:
            found = self.client.sync(self.client.who_has, futures, callback_timeout=SCHEDULER_PATIENCE)
        except Exception as error:  # without an answer, all count as lost
            self._note(error)
            return set()
        return {key for key, workers in found.items() if usable & set(workers)}

    def _give_up(self, futures: Sequence[Sent], waiting: list[int], *, is_late: bool) -> dict[int, Any]:
        """Return results that will not arrive because their worker is gone or frozen, or the time is up."""
        usable = self.usable()
        gone = [at for at in waiting if futures[at][0].address not in usable]
        if is_late:
            silent = [at for at in waiting if at not in gone and futures[at][1].status == "pending"]
            until = time.monotonic() + SHUNNED_FOR
            self._shunned.update({futures[at][0].address: until for at in silent})
            gone.extend(silent)
        for at in gone:
            self.errors = [f"worker {futures[at][0].address} is gone, frozen or silent"]
            self._threads.submit(futures[at][1].cancel)
        return dict.fromkeys(gone, LOST)

    def _find_lost(self, futures: Sequence[Sent], waiting: list[int], error: Exception) -> dict[int, Any]:
        """Return results that Dask has lost; raise an error of a task."""
        self.check_connection()
        states = {at: futures[at][1].status for at in waiting}
        lost = [at for at, status in states.items() if status in ("cancelled", "lost")]
        for at in (at for at, status in states.items() if status == "error"):
            own = futures[at][1].exception(timeout=CHECK_INTERVAL)
            if type(own).__name__ not in _INFRASTRUCTURE:
                raise own
            lost.append(at)
        if not lost and type(error).__name__ not in _INFRASTRUCTURE and not isinstance(error, OSError):
            raise error
        if not lost:
            time.sleep(0.1)
        return dict.fromkeys(lost, LOST)

    def _remove_frozen(self) -> None:
        """Remove frozen workers from the scheduler, as it would do itself after a longer time."""
        frozen = sorted(self._frozen)

        # Pickled by value, as above.
        async def remove(dask_scheduler: distributed.Scheduler) -> None:
            for address in frozen:
                await dask_scheduler.remove_worker(
                    address=address, stimulus_id="softpolytope-frozen-worker", close=False
                )

        try:
            self.client.sync(self.client.run_on_scheduler, remove, callback_timeout=SCHEDULER_PATIENCE)
        except Exception as error:  # the next check of the workers will say what is wrong
            self._note(error)

    def check_connection(self) -> None:
        """Wait a while for a lost scheduler to come back, then raise BlocksLostError."""
        deadline = time.monotonic() + SCHEDULER_PATIENCE
        while self.client.status != "running":
            if time.monotonic() > deadline or self.client.status == "closed":
                raise self._lost_scheduler()
            time.sleep(0.1)

    def _lost_scheduler(self) -> BlocksLostError:
        self.is_lost = True
        return BlocksLostError("The Dask scheduler cannot be reached, so the rows on its workers are lost.")

    def _list_workers(self) -> dict[str, tuple[int, float, str]]:
        """Return threads, seconds since the last heartbeat and status of all workers, by address."""
        self.check_connection()
        try:
            known = self.client.sync(self.client.scheduler.identity, callback_timeout=SCHEDULER_PATIENCE)["workers"]
        except (TimeoutError, distributed.TimeoutError, CommClosedError, OSError, RuntimeError) as error:
            self._note(error)
            raise self._lost_scheduler() from error
        # The time when each heartbeat was first seen here, because the clock of the scheduler may differ.
        now = time.monotonic()
        self._heartbeats = {
            address: self._heartbeats[address]
            if self._heartbeats.get(address, (0,))[0] == worker["last_seen"]
            else sign
            for address, worker in known.items()
            for sign in [(worker["last_seen"], now)]
        }
        return {
            address: (worker["nthreads"], now - self._heartbeats[address][1], worker.get("status", "running"))
            for address, worker in known.items()
        }

    def _note(self, error: BaseException) -> None:
        self.errors = [f"{type(error).__name__}: {error}"[:300]]
