"""Checkpoint files, from which a run continues: named arrays without code."""

import hashlib
import shutil
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope._files import atomic_write, remove_leftovers
from softpolytope.exceptions import CheckpointError

# Increase it when the same rows, settings and seed give other results, or files have other contents.
VERSION = 2
# Pattern of the names of checkpoints; other files in the same folder are left alone.
FILE_NAMES = r"(?:labeling\d+-chain\d+|modes)\.npz"
# Share of the time that writing may take.
MAX_TIME_SHARE = 0.05


def make_fingerprint(*parts: object) -> str:
    """Return a hash of everything that determines the contents of a file, by the repr of each part."""
    return hashlib.sha256(repr((VERSION, *parts)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class CheckpointPlan:
    """Folder and frequency of checkpoints: one file for each chain, written after so many sweeps or seconds.

    A search for modes writes one file with all finished optimizations, about once a second. Files are written less
    often if writing would take more than a twentieth of the time.
    """

    folder: Path
    every_sweeps: int | None = None
    every_seconds: float | None = 60.0

    def open_folder(self, folder: str) -> "CheckpointFolder":
        """Return the files of a run, in a folder inside the plan's."""
        return CheckpointFolder(self, folder)


class CheckpointFolder:
    """Folder with the checkpoints of one run; temporary files of killed runs are removed from it."""

    def __init__(self, plan: CheckpointPlan, folder: str) -> None:
        self.path = plan.folder / folder
        self._plan = plan
        self._start, self._n_synced, self._lock = time.monotonic(), 0, threading.Lock()
        self.path.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self.path, FILE_NAMES)

    def for_chain(self, labeling: int, chain: int) -> "Checkpoint":
        """Return the file of a chain."""
        return self.file(f"labeling{labeling}-chain{chain}")

    def file(self, name: str) -> "Checkpoint":
        """Return the file of a name."""
        return Checkpoint(self.path / f"{name}.npz", self._plan, self._may_sync)

    def _may_sync(self) -> bool:
        """Return whether to wait for the disk, which can take longer than a short run.

        There is one wait a second on average, so that every file of a long run is flushed.
        """
        with self._lock:
            is_in_time = self._n_synced <= time.monotonic() - self._start
            self._n_synced += is_in_time
            return is_in_time


class Checkpoint:
    """Checkpoint of one chain or one search."""

    def __init__(self, path: Path, plan: CheckpointPlan, may_sync: Callable[[], bool]) -> None:
        self.path = path
        self.last_sweep = 0  # last sweep in the file, as far as this process knows
        self._plan, self._may_sync = plan, may_sync
        self._last_time, self._seconds_to_write = time.monotonic(), 0.0

    def is_due(self, sweep: int) -> bool:
        """Return whether it is time to write again."""
        if self._plan.every_sweeps is not None and sweep - self.last_sweep >= self._plan.every_sweeps:
            return True
        if self._plan.every_seconds is None:
            return False
        elapsed = time.monotonic() - self._last_time
        return elapsed >= max(self._plan.every_seconds, self._seconds_to_write / MAX_TIME_SHARE)

    def write(self, arrays: dict[str, NDArray[Any]], fingerprint: str, sweep: int, start: float | None = None) -> None:
        """Replace the file; a crash at any moment leaves the old one or the new one.

        `start` is when the work for it began, by `time.monotonic`, if that was before this call.
        """
        start = time.monotonic() if start is None else start
        with atomic_write(self.path, fsync=self._may_sync()) as file:
            np.savez(file, allow_pickle=False, fingerprint=np.array(fingerprint), **arrays)
        self.last_sweep, self._last_time = sweep, time.monotonic()
        self._seconds_to_write = self._last_time - start

    def counts_folder(self, sweep: int) -> Path:
        """Return the folder of the counts after a sweep, if several processes write them."""
        return self.path.with_suffix("") / f"counts{sweep}"

    def remove_other_counts(self, sweep: int) -> None:
        """Remove the counts after other sweeps than this one, which are written before the file refers to them."""
        for folder in self.path.with_suffix("").glob("counts*"):
            if folder != self.counts_folder(sweep):
                shutil.rmtree(folder)

    def read(self, fingerprint: str) -> dict[str, NDArray[Any]] | None:
        """Return the arrays written last; None if there are none. Raise CheckpointError if they are of another run."""
        # A power cut can leave an empty file in the place of one that did not wait for the disk.
        if not self.path.exists() or self.path.stat().st_size == 0:
            return None
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
            raise CheckpointError(
                f"{self.path} is not a readable checkpoint: {error}. Remove it to start from scratch."
            ) from error
        found = str(arrays.pop("fingerprint", ""))
        if found != fingerprint:
            raise CheckpointError(
                f"{self.path} was written by a run with other data, settings, start or seed, or by another version. "
                "Use another folder, or remove the file to start from scratch."
            )
        return arrays
