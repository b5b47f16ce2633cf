"""Processor time of a fit, through interruptions."""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self


class Stopwatch:
    """Seconds of this process since it was started, and those of earlier processes that had the same file.

    With a file, what it shows is written there every few seconds, for a fit that goes on from a checkpoint.
    """

    EVERY = 5.0

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._earlier = 0.0 if path is None else _number_in(path)
        self._is_over = threading.Event()

    @property
    def seconds(self) -> float:
        """Of all processes together."""
        return self._earlier + time.process_time() - self._start

    def restart(self) -> None:
        """Count from now on."""
        self._earlier, self._start = 0.0, time.process_time()

    def __enter__(self) -> Self:
        self._start = time.process_time()
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._thread = threading.Thread(target=self._write_on, args=(self._path,), daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        if self._path is not None:
            self._thread.join()
            self._write(self._path)

    def _write_on(self, path: Path) -> None:
        while not self._is_over.wait(self.EVERY):
            self._write(path)

    def _write(self, path: Path) -> None:
        # A time is not worth a fit: on a full disk, or where another process has put the folder away, there is none.
        with suppress(OSError):
            temporary = path.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_text(f"{self.seconds:.3f}", encoding="utf-8")
            temporary.replace(path)


def _number_in(path: Path) -> float:
    """Zero where there is none."""
    try:
        return float(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0.0
