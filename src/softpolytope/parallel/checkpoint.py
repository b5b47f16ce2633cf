"""Files from which a run goes on: named arrays, no code inside, replaced as a whole or not at all."""

import hashlib
import os
import shutil
import tempfile
import time
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from softpolytope._typing import FloatArray

# Another number when the same rows, settings and seed lead elsewhere, or files have other contents than before.
VERSION = 2


def fingerprint_of(*parts: object) -> str:
    """A hash of all that decides what is in a file: numbers, texts and what prints as they do."""
    return hashlib.sha256(repr((VERSION, *parts)).encode()).hexdigest()


class CheckpointError(RuntimeError):
    """A checkpoint cannot be used."""


@dataclass(frozen=True, slots=True)
class CheckpointPlan:
    """Where, and how often, the chains of a run are written: one file each, after so many sweeps or seconds.

    Climbs to modes have a file each too, written when they are done.
    """

    folder: Path
    every_sweeps: int | None = None
    every_seconds: float | None = 60.0

    def within(self, folder: str) -> "CheckpointPlan":
        """The same, in a folder inside this one."""
        return replace(self, folder=self.folder / folder)

    def for_chain(self, labelling: int, chain: int) -> "Checkpoint":
        """The file of a chain."""
        return self.file(f"labelling{labelling}-chain{chain}")

    def file(self, name: str) -> "Checkpoint":
        """The file of a name."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return Checkpoint(self.folder / f"{name}.npz", self)


class Checkpoint:
    """The file of one chain, or one climb."""

    def __init__(self, path: Path, plan: CheckpointPlan) -> None:
        self.path = path
        self._plan = plan
        self._last_sweep = 0
        self._last_time = time.monotonic()

    def is_due(self, sweep: int) -> bool:
        """Whether it is time to write again."""
        by_sweeps = self._plan.every_sweeps is not None and sweep - self._last_sweep >= self._plan.every_sweeps
        elapsed = time.monotonic() - self._last_time
        by_time = self._plan.every_seconds is not None and elapsed >= self._plan.every_seconds
        return by_sweeps or by_time

    def write(self, arrays: dict[str, FloatArray], fingerprint: str, sweep: int) -> None:
        """Replace the file; a crash at any moment leaves the old one or the new one."""
        self._last_sweep, self._last_time = sweep, time.monotonic()
        # A file of the same folder can be renamed over the old one in a single step.
        descriptor, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                np.savez(file, allow_pickle=False, fingerprint=np.array(fingerprint), **arrays)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(self.path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def counts_folder(self, sweep: int) -> Path:
        """Where the counts after a sweep are put, if many write them."""
        return self.path.with_suffix("") / f"counts{sweep}"

    def forget_counts(self, but_of: int) -> None:
        """Remove the counts after other sweeps; those of a sweep are there before the file names it."""
        for folder in self.path.with_suffix("").glob("counts*"):
            if folder != self.counts_folder(but_of):
                shutil.rmtree(folder)

    def read(self, fingerprint: str) -> dict[str, FloatArray] | None:
        """The arrays last written; None if there are none, an error if they are of another run."""
        if not self.path.exists():
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
