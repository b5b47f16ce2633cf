"""Calls that return nothing wait for one that does."""

import copy
import threading
from typing import Any

from softpolytope.parallel._partition_cache import Call, Kind


class DeferredCalls:
    """For homes that pay for every visit of a block: with reading its rows, or with a message.

    A call that returns nothing is made in the same visit as the next one that returns something. Its arguments are
    copied, since who called it may go on to change them.
    """

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._lock = threading.Lock()

    def add(self, method: str, arguments: tuple[Any, ...]) -> None:
        """Let a call wait."""
        with self._lock:
            self._calls.append(("each", method, copy.deepcopy(arguments)))

    def and_then(self, kind: Kind, method: str, arguments: tuple[Any, ...]) -> list[Call]:
        """The calls that waited, and one more; they wait no longer."""
        return [*self.taken(), (kind, method, arguments)]

    def taken(self) -> list[Call]:
        """The calls that waited; they wait no longer."""
        with self._lock:
            calls, self._calls = self._calls, []
        return calls
