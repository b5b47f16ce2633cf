"""Files from which a run goes on: named arrays, no code inside, replaced as a whole or not at all."""

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

from softpolytope.exceptions import CheckpointError
from softpolytope.parallel._whole_files import remove_leftovers, replacing

# Another number when the same rows, settings and seed lead elsewhere, or files have other contents than before.
VERSION = 2
# A pattern of their names; other files in the same folder are none of our business.
OUR_FILES = r"(?:labeling\d+-chain\d+|modes)\.npz"
# Writing may take this share of it.
MAX_OF_THE_TIME = 0.05


def make_fingerprint(*parts: object) -> str:
    """A hash of all that decides what is in a file: numbers, texts and what prints as they do."""
    return hashlib.sha256(repr((VERSION, *parts)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class CheckpointPlan:
    """Where, and how often, the chains of a run are written: one file each, after so many sweeps or seconds.

    Searches for modes have a file each too, with all finished optimizations, written about once a second. Files are
    written less often than that where writing would take more than a twentieth of the time.
    """

    folder: Path
    every_sweeps: int | None = None
    every_seconds: float | None = 60.0

    def opened(self, folder: str) -> "CheckpointFolder":
        """Return the files of a run, in a folder inside the plan's."""
        return CheckpointFolder(self, folder)


class CheckpointFolder:
    """The files of one run, in a folder without what killed runs have left of theirs."""

    def __init__(self, plan: CheckpointPlan, folder: str) -> None:
        self.path = plan.folder / folder
        self._plan = plan
        self._start, self._n_synced, self._lock = time.monotonic(), 0, threading.Lock()
        self.path.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self.path, OUR_FILES)

    def for_chain(self, labeling: int, chain: int) -> "Checkpoint":
        """Return the file of a chain."""
        return self.file(f"labeling{labeling}-chain{chain}")

    def file(self, name: str) -> "Checkpoint":
        """Return the file of a name."""
        return Checkpoint(self.path / f"{name}.npz", self._plan, self._may_sync)

    def _may_sync(self) -> bool:
        """Count one more wait for the disk, which can take longer than a short run; False if it is one too many.

        One a second is the average, so that all files of long runs have theirs.
        """
        with self._lock:
            is_in_time = self._n_synced <= time.monotonic() - self._start
            self._n_synced += is_in_time
            return is_in_time


class Checkpoint:
    """The file of one chain, or one search."""

    def __init__(self, path: Path, plan: CheckpointPlan, may_sync: Callable[[], bool]) -> None:
        self.path = path
        self.last_sweep = 0  # that the file has, as far as is known here
        self._plan, self._may_sync = plan, may_sync
        self._last_time, self._seconds_to_write = time.monotonic(), 0.0

    def is_due(self, sweep: int) -> bool:
        """Whether it is time to write again."""
        if self._plan.every_sweeps is not None and sweep - self.last_sweep >= self._plan.every_sweeps:
            return True
        if self._plan.every_seconds is None:
            return False
        elapsed = time.monotonic() - self._last_time
        return elapsed >= max(self._plan.every_seconds, self._seconds_to_write / MAX_OF_THE_TIME)

    def write(
        self, arrays: dict[str, NDArray[Any]], fingerprint: str, sweep: int, begun_at: float | None = None
    ) -> None:
        """Replace the file; a crash at any moment leaves the old one or the new one.

        `begun_at` is when the work for it began, by `time.monotonic`, if that was before this call.
        """
        start = time.monotonic() if begun_at is None else begun_at
        with replacing(self.path, is_synced=self._may_sync()) as file:
            np.savez(file, allow_pickle=False, fingerprint=np.array(fingerprint), **arrays)
        self.last_sweep, self._last_time = sweep, time.monotonic()
        self._seconds_to_write = self._last_time - start

    def counts_folder(self, sweep: int) -> Path:
        """Where the counts after a sweep are put, if many write them."""
        return self.path.with_suffix("") / f"counts{sweep}"

    def forget_counts(self, but_of: int) -> None:
        """Remove the counts after other sweeps; those of a sweep are there before the file names it."""
        for folder in self.path.with_suffix("").glob("counts*"):
            if folder != self.counts_folder(but_of):
                shutil.rmtree(folder)

    def read(self, fingerprint: str) -> dict[str, NDArray[Any]] | None:
        """The arrays last written; None if there are none, an error if they are of another run."""
        # A power cut can leave an empty file in the place of one that did not wait for the disk.
        if not self.path.exists() or self.path.stat().st_size == 0:
            return None
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
            raise CheckpointError(
                f"{self.path} is not a readable checkpoint: {error}. Remove it to start again."
            ) from error
        found = str(arrays.pop("fingerprint", ""))
        if found != fingerprint:
            raise CheckpointError(
                f"{self.path} was written by a run with other data, settings, start or seed, or by another version. "
                "Give another file, or remove it to start again."
            )
        return arrays
