"""Processor time of a fit, counted across interruptions."""

import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from softpolytope._files import atomic_write_text


class Stopwatch:
    """Processor seconds of this process since the start, plus those of earlier processes with the same file.

    With a file, the time is written every few seconds, for a fit that continues from a checkpoint.
    """

    WRITE_SECONDS = 5.0

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._earlier = 0.0 if path is None else _read_seconds(path)
        self._start = time.process_time()
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def seconds(self) -> float:
        """Seconds of all processes together."""
        return self._earlier + time.process_time() - self._start

    def restart(self) -> None:
        """Count from zero."""
        self._earlier, self._start = 0.0, time.process_time()

    def __enter__(self) -> Self:
        self._start = time.process_time()
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._thread = threading.Thread(target=self._write_regularly, args=(self._path,), daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        if self._path is not None and self._thread is not None:
            self._thread.join()
            self._write(self._path)

    def _write_regularly(self, path: Path) -> None:
        while not self._is_over.wait(self.WRITE_SECONDS):
            self._write(path)

    def _write(self, path: Path) -> None:
        # A full disk, or a folder that another process has removed, must not end the fit.
        with suppress(OSError), atomic_write_text(path) as file:
            file.write(f"{self.seconds:.3f}")


def _read_seconds(path: Path) -> float:
    """Return the seconds in a file, zero if there are none."""
    try:
        return float(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0.0
