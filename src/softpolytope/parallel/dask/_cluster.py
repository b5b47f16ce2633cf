"""The workers of a Dask cluster: who is there, who is well, and answers that come or never will."""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any, NamedTuple

import distributed
from distributed import Client, Future
from distributed.comm import CommClosedError

from softpolytope.exceptions import BlocksLostError

# Seconds between two looks at the workers while an answer is awaited.
BETWEEN_LOOKS = 1.0
# A worker whose process has sent no sign of life for so long is taken for frozen; a busy one sends them all the same.
FROZEN_AFTER = 10.0
# A worker that is alive and does not answer is given up after so many times what the call has taken before, but not
# sooner than so many seconds; it gets no work for a while.
PATIENCE_FACTOR, MIN_PATIENCE = 20.0, 25.0
SHUNNED_FOR = 600.0
# An answer that takes longer while some worker is frozen may wait for what is on that worker, which is then removed.
STUCK_AFTER = 15.0
# How long the scheduler may be out of reach, and how long there may be no worker at all.
SCHEDULER_PATIENCE = 12.0
WORKER_PATIENCE = 18.0
# How long a worker may take to import the package before others begin without it, and how often all may take longer.
IMPORT_PATIENCE = 25.0
MAX_IMPORTS = 4
# Threads that wait for answers; those whose answer was given up may linger.
MAX_WAITING = 64


class Slot(NamedTuple):
    """A thread of a worker."""

    address: str
    thread: int


class _Lost:
    """Stands for an answer that will not come."""


LOST = _Lost()
# What Dask says of tasks whose worker or data is gone, as opposed to errors of the tasks themselves.
_INFRASTRUCTURE = ("KilledWorker", "FutureCancelledError", "CancelledError", "CommClosedError", "LostDataError")


def default_client() -> Client:
    """The client that is there without being named."""
    try:
        return distributed.get_client()
    except ValueError as error:
        raise ValueError(
            "the rows are in Dask collections, and there is no Dask client to compute them with. Start one, "
            "client = distributed.Client(...), or give max_memory to read them on this machine, part by part."
        ) from error


def check_client(client: Any) -> None:
    """Raise unless a client can be used."""
    if not isinstance(client, Client):
        raise ValueError(f"client must be a distributed.Client; got {type(client).__name__}.")
    if client.asynchronous:
        raise ValueError("client must not be asynchronous: fit waits for its answers.")
    if client.status != "running":
        raise ValueError(f"the Dask client is {client.status}; connect one that is running.")


class Cluster:
    """The workers a client can use."""

    def __init__(self, client: Client) -> None:
        check_client(client)
        self.client = client
        self.is_lost = False  # whether the scheduler was out of reach for too long
        self.errors: list[str] = []  # why answers did not come, the last ones
        self._signs: dict[str, tuple[float, float]] = {}
        self._shunned: dict[str, float] = {}  # until when
        self._frozen: set[str] = set()
        self._introduced: set[str] = set()  # workers that have the package imported
        self._threads = ThreadPoolExecutor(MAX_WAITING)

    def close(self) -> None:
        """Wait for nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def usable(self) -> dict[str, int]:
        """Threads of all workers that are well, by address; waits a while if there are none."""
        deadline = time.monotonic() + WORKER_PATIENCE
        while True:
            seen = self._seen()
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
                    f"the Dask cluster has had no worker that answers for {WORKER_PATIENCE:.0f} seconds; it knows of "
                    f"{seen or 'none'} (threads, seconds since the last sign of life, status)."
                )
            time.sleep(0.2)

    def known(self) -> set[str]:
        """Addresses of all workers the scheduler has, well or not."""
        return set(self._seen())

    def clients(self) -> set[str] | None:
        """Names of all clients that are connected; None if the scheduler does not say."""
        try:
            # A function without a name is sent whole: the scheduler need not have the package, nor wait for its import.
            found = self.client.sync(
                self.client.run_on_scheduler,
                lambda dask_scheduler: list(dask_scheduler.clients),
                callback_timeout=SCHEDULER_PATIENCE,
            )
        except Exception:  # what is asked for next says what is wrong
            return None
        return set(found) | {self.client.id}

    def introduced(self) -> dict[str, int]:
        """Threads of all workers that are well and have the package imported.

        A worker would import it to read its first task, in the thread that sends signs of life, and seem frozen. So a
        task that needs no import comes first, and imports it in a thread of its own.
        """
        for _ in range(MAX_IMPORTS):
            usable = self.usable()
            self._introduce([Slot(address, 0) for address in usable if address not in self._introduced])
            found = {address: usable[address] for address in usable if address in self._introduced}
            if found:
                return found
        raise BlocksLostError(
            f"no worker of the Dask cluster has imported softpolytope in {MAX_IMPORTS} times {IMPORT_PATIENCE:.0f} "
            f"seconds; they may be busy with other work. There are {sorted(usable)}."
        )

    def _introduce(self, new: list[Slot]) -> None:
        asked = [(slot, self.submit(slot, exec, "import softpolytope.parallel.dask._worker")) for slot in new]
        try:
            answers = self.gathered(asked, IMPORT_PATIENCE)
        except ImportError as error:
            raise ImportError(
                f"a worker cannot import softpolytope: {error}. Install it on all workers, in the version that the "
                'client has: pip install "softpolytope[dask]".'
            ) from error
        self._introduced.update(slot.address for slot, answer in zip(new, answers, strict=True) if answer is not LOST)

    def submit(self, slot: Slot, function: Callable[..., Any], *arguments: Any) -> Future | _Lost:
        """Send a task to a slot's worker, and to no other."""
        try:
            return self.client.submit(
                function, *arguments, workers=[slot.address], allow_other_workers=False, pure=False, retries=0
            )
        except (RuntimeError, OSError, CancelledError) as error:
            self._note(error)
            return LOST

    def gathered(self, futures: Sequence[tuple[Slot, Future | _Lost]], patience: float = math.inf) -> list[Any]:
        """Results in order, `LOST` where the worker is gone, frozen or silent; the tasks' own errors are raised."""
        start = time.monotonic()
        results: dict[int, Any] = {at: LOST for at, (_, future) in enumerate(futures) if future is LOST}
        while len(results) < len(futures):
            waiting = [at for at in range(len(futures)) if at not in results]
            # In a thread of its own: an answer that is given up is cancelled, and the thread then ends.
            gathering = self._threads.submit(self.client.gather, [futures[at][1] for at in waiting])
            results.update(self._answers(gathering, futures, waiting, (start, patience)))
        return [results[at] for at in range(len(futures))]

    def _answers(
        self, gathering: Any, futures: Sequence[tuple[Slot, Any]], waiting: list[int], limit: tuple[float, float]
    ) -> dict[int, Any]:
        """The answers that have come, or those that will not; `limit` is a beginning, and seconds from there."""
        start, patience = limit
        while True:
            try:
                values = gathering.result(timeout=BETWEEN_LOOKS)
                return dict(zip(waiting, values, strict=True))
            except Exception as error:  # Dask raises the tasks' own errors and its own alike
                if gathering.done():
                    self._note(error)
                    return self._failed(futures, waiting, error)
                elapsed = time.monotonic() - start
                gone = self._given_up(futures, waiting, is_late=elapsed > patience)
                if elapsed > STUCK_AFTER and self._frozen:
                    self._remove_frozen()
                if gone:
                    return gone

    def computed(self, slot: Slot, parts: list[Any]) -> list[Any]:
        """Futures of Dask partitions, on a slot's worker if it is well and elsewhere if not."""
        futures: list[Any] = self.client.compute(parts, workers=[slot.address], allow_other_workers=True)
        return futures

    def replicated(self, futures: list[Future]) -> None:
        """Have a second copy of results on another worker, if there is one."""
        if len(self.usable()) > 1 and futures:
            try:
                self.client.sync(self.client.replicate, futures, n=2, callback_timeout=SCHEDULER_PATIENCE)
            except Exception as error:  # one copy will have to do
                self._note(error)

    def alive(self, futures: list[Future]) -> set[Any]:
        """Keys of the results that some worker still has."""
        self.check_connection()
        usable = set(self.usable())
        try:
            found = self.client.sync(self.client.who_has, futures, callback_timeout=SCHEDULER_PATIENCE)
        except Exception as error:  # then they are as good as lost
            self._note(error)
            return set()
        return {key for key, workers in found.items() if usable & set(workers)}

    def _given_up(self, futures: Sequence[tuple[Slot, Any]], waiting: list[int], *, is_late: bool) -> dict[int, Any]:
        """What will not come, because its worker is gone or frozen, or is not waited for any longer."""
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

    def _failed(self, futures: Sequence[tuple[Slot, Any]], waiting: list[int], error: Exception) -> dict[int, Any]:
        """Raise an error that is the task's own; what Dask lost is lost."""
        self.check_connection()
        states = {at: futures[at][1].status for at in waiting}
        lost = [at for at, status in states.items() if status in ("cancelled", "lost")]
        for at in (at for at, status in states.items() if status == "error"):
            own = futures[at][1].exception(timeout=BETWEEN_LOOKS)
            if type(own).__name__ not in _INFRASTRUCTURE:
                raise own
            lost.append(at)
        if not lost and type(error).__name__ not in _INFRASTRUCTURE and not isinstance(error, OSError):
            raise error
        if not lost:
            time.sleep(0.1)
        return dict.fromkeys(lost, LOST)

    def _remove_frozen(self) -> None:
        """Let the scheduler give the tasks of frozen workers to others, as it would after its own, longer, limit."""
        frozen = sorted(self._frozen)

        # Sent whole, as above.
        async def remove(dask_scheduler: Any) -> None:
            for address in frozen:
                await dask_scheduler.remove_worker(
                    address=address, stimulus_id="softpolytope-frozen-worker", close=False
                )

        try:
            self.client.sync(self.client.run_on_scheduler, remove, callback_timeout=SCHEDULER_PATIENCE)
        except Exception as error:  # the look at the workers that follows says what is wrong
            self._note(error)

    def check_connection(self) -> None:
        """Wait a while for a lost scheduler to come back, then raise."""
        deadline = time.monotonic() + SCHEDULER_PATIENCE
        while self.client.status != "running":
            if time.monotonic() > deadline or self.client.status == "closed":
                raise self._lost_scheduler()
            time.sleep(0.1)

    def _lost_scheduler(self) -> BlocksLostError:
        self.is_lost = True
        return BlocksLostError("the Dask scheduler is out of reach; the rows on its workers are lost with it.")

    def _seen(self) -> dict[str, tuple[int, float, str]]:
        """Threads, seconds since the last sign of life and status of all workers."""
        self.check_connection()
        try:
            known = self.client.sync(self.client.scheduler.identity, callback_timeout=SCHEDULER_PATIENCE)["workers"]
        except (TimeoutError, distributed.TimeoutError, CommClosedError, OSError, RuntimeError) as error:
            self._note(error)
            raise self._lost_scheduler() from error
        # By this machine's clock, which need not agree with the scheduler's: when a sign of life was first seen here.
        now = time.monotonic()
        self._signs = {
            address: self._signs[address] if self._signs.get(address, (0,))[0] == worker["last_seen"] else sign
            for address, worker in known.items()
            for sign in [(worker["last_seen"], now)]
        }
        return {
            address: (worker["nthreads"], now - self._signs[address][1], worker.get("status", "running"))
            for address, worker in known.items()
        }

    def _note(self, error: BaseException) -> None:
        self.errors = [f"{type(error).__name__}: {error}"[:300]]
