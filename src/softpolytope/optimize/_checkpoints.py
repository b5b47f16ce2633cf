"""Finished optimizations of a search, so that a search that was stopped does not repeat them."""

import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope.optimize._mode import Mode
from softpolytope.parallel import Checkpoint, CheckpointPlan

# An optimization that finished less than this long before a crash is repeated.
SECONDS_BETWEEN_WRITES = 1.0


@dataclass(frozen=True, slots=True)
class OptimizedMode:
    """Result of one optimization."""

    mode: Mode
    log_likelihood: float
    n_experts: int  # that the rows need


class ModeCheckpoints:
    """Finished optimizations by name, in memory and, if a plan is given, in a file. Safe to share between threads."""

    def __init__(self, plan: CheckpointPlan | None, folder: str, fingerprint: Callable[[], str]) -> None:
        """Use the file in `folder`, a path within the folder of the plan.

        `fingerprint` returns a hash of everything that determines the modes. It reads all rows, and is called only when
        the file is read or written.
        """
        self._folder, self._fingerprint = folder, cache(fingerprint)
        self._user_folder = plan.folder if plan is not None else None
        self._file = self._open(plan) if plan is not None else None
        self._is_read = False
        self._done: dict[str, OptimizedMode] = {}
        self._n_written = 0
        self._lock = threading.Lock()

    def _open(self, plan: CheckpointPlan) -> Checkpoint:
        often = replace(plan, every_sweeps=None, every_seconds=SECONDS_BETWEEN_WRITES)
        return often.open_folder(self._folder).file("modes")

    def find(self, name: str) -> OptimizedMode | None:
        """Return the result of an optimization, if it has finished before."""
        with self._lock:
            if self._file is not None and not self._is_read:
                self._done.update(_unpack(self._file.read(self._fingerprint()) or {}))
                self._n_written, self._is_read = len(self._done), True
            return self._done.get(name)

    def add(self, name: str, optimized: OptimizedMode) -> None:
        """Keep the result of an optimization."""
        with self._lock:
            self._done[name] = optimized
            if self._file is not None and self._file.is_due(0):
                self._write(self._file)

    def close(self) -> None:
        """Write all results that the file lacks, if there is a file."""
        with self._lock:
            if self._file is not None and len(self._done) > self._n_written:
                self._write(self._file)

    def save_progress(self) -> str:
        """Write all results to a file, a temporary one if no plan was given, and return a sentence that says where."""
        if self._user_folder is None:
            self._user_folder = Path(tempfile.mkdtemp(prefix="softpolytope-"))
            self._file = self._open(CheckpointPlan(self._user_folder))
        self.close()
        return (
            f"Finished optimizations are saved in {self._user_folder}. To continue, repeat the fit with this folder as "
            "checkpoint."
        )

    def _write(self, file: Checkpoint) -> None:
        file.write(_pack(self._done), self._fingerprint(), 0)
        self._n_written = len(self._done)


def _pack(done: dict[str, OptimizedMode]) -> dict[str, NDArray[Any]]:
    """Concatenate all modes, because every array in a file takes much longer to write than the numbers of a mode."""
    results = list(done.values())
    return {
        "names": np.array(list(done)),
        "shapes": np.array([result.mode.coefficients.shape for result in results]),
        "coefficients": np.concatenate([result.mode.coefficients.reshape(-1) for result in results]),
        "log_weights": np.concatenate([result.mode.log_weights for result in results]),
        "log_likelihoods": np.array([result.log_likelihood for result in results]),
        "n_experts": np.array([result.n_experts for result in results]),
    }


def _unpack(arrays: dict[str, NDArray[Any]]) -> dict[str, OptimizedMode]:
    """Return the results that `_pack` was given; no arrays mean no results."""
    if not arrays:
        return {}
    shapes = arrays["shapes"]
    coefficients = np.split(arrays["coefficients"], np.cumsum(shapes.prod(axis=1))[:-1])
    log_weights = np.split(arrays["log_weights"], np.cumsum(shapes[:, 0])[:-1])
    modes = (
        Mode(flat.reshape(shape).copy(), weights.copy())
        for flat, shape, weights in zip(coefficients, shapes, log_weights, strict=True)
    )
    numbers = zip(modes, arrays["log_likelihoods"], arrays["n_experts"], strict=True)
    results = [OptimizedMode(mode, float(value), int(n_experts)) for mode, value, n_experts in numbers]
    return dict(zip(arrays["names"].tolist(), results, strict=True))
