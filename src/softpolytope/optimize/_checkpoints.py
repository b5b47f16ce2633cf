"""Climbs that are done, so that a search that was stopped goes on behind them."""

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

# Climbs that ended less than this ago are made again after a kill.
SECONDS_BETWEEN_WRITES = 1.0


@dataclass(frozen=True, slots=True)
class OptimizedMode:
    """What a climb reached."""

    mode: Mode
    log_likelihood: float
    n_experts: int  # of any weight


class ModeCheckpoints:
    """What the climbs of a search reached, by name, in a file if there is a plan for it; threads may share it."""

    def __init__(self, plan: CheckpointPlan | None, folder: str, fingerprint: Callable[[], str]) -> None:
        """`folder` is where the file is within what a user gives, `fingerprint` a hash of all that decides it.

        The hash is of all rows, and asked for when the file is to be read or written.
        """
        self._folder, self._fingerprint = folder, cache(fingerprint)
        self._user_folder = plan.folder if plan is not None else None
        self._file = self._opened(plan) if plan is not None else None
        self._is_read = False
        self._done: dict[str, OptimizedMode] = {}
        self._n_written = 0
        self._lock = threading.Lock()

    def _opened(self, plan: CheckpointPlan) -> Checkpoint:
        often = replace(plan, every_sweeps=None, every_seconds=SECONDS_BETWEEN_WRITES)
        return often.opened(self._folder).file("climbs")

    def find(self, name: str) -> OptimizedMode | None:
        """What a climb reached, if it was made before."""
        with self._lock:
            if self._file is not None and not self._is_read:
                self._done.update(_unpacked(self._file.read(self._fingerprint()) or {}))
                self._n_written, self._is_read = len(self._done), True
            return self._done.get(name)

    def add(self, name: str, climbed: OptimizedMode) -> None:
        """Keep what a climb reached."""
        with self._lock:
            self._done[name] = climbed
            if self._file is not None and self._file.is_due(0):
                self._write(self._file)

    def close(self) -> None:
        """Have all climbs in the file, if there is one."""
        with self._lock:
            if self._file is not None and len(self._done) > self._n_written:
                self._write(self._file)

    def rescued(self) -> str:
        """Have all climbs in a file, and say where."""
        if self._user_folder is None:
            self._user_folder = Path(tempfile.mkdtemp(prefix="softpolytope-"))
            self._file = self._opened(CheckpointPlan(self._user_folder))
        self.close()
        return (
            f"The climbs that were done are saved in {self._user_folder}: the same fit, with this folder as "
            "checkpoint, goes on from there."
        )

    def _write(self, file: Checkpoint) -> None:
        file.write(_packed(self._done), self._fingerprint(), 0)
        self._n_written = len(self._done)


def _packed(done: dict[str, OptimizedMode]) -> dict[str, NDArray[Any]]:
    """Climbs as a few arrays: each takes longer to write than a climb has numbers."""
    climbs = list(done.values())
    return {
        "names": np.array(list(done)),
        "shapes": np.array([climbed.mode.coefficients.shape for climbed in climbs]),
        "coefficients": np.concatenate([climbed.mode.coefficients.reshape(-1) for climbed in climbs]),
        "log_weights": np.concatenate([climbed.mode.log_weights for climbed in climbs]),
        "log_likelihoods": np.array([climbed.log_likelihood for climbed in climbs]),
        "n_experts": np.array([climbed.n_experts for climbed in climbs]),
    }


def _unpacked(arrays: dict[str, NDArray[Any]]) -> dict[str, OptimizedMode]:
    """The climbs of such arrays; none of none."""
    if not arrays:
        return {}
    shapes = arrays["shapes"]
    coefficients = np.split(arrays["coefficients"], np.cumsum(shapes.prod(axis=1))[:-1])
    log_weights = np.split(arrays["log_weights"], np.cumsum(shapes[:, 0])[:-1])
    modes = (
        Mode(flat.reshape(shape).copy(), weights.copy())
        for flat, shape, weights in zip(coefficients, shapes, log_weights, strict=True)
    )
    reached = zip(modes, arrays["log_likelihoods"], arrays["n_experts"], strict=True)
    climbs = [OptimizedMode(mode, float(value), int(number)) for mode, value, number in reached]
    return dict(zip(arrays["names"].tolist(), climbs, strict=True))
