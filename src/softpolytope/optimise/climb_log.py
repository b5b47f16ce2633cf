"""Climbs that are done, so that a search that was stopped goes on behind them."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from softpolytope.optimise.modes import Mode
from softpolytope.parallel.checkpoint import CheckpointPlan


@dataclass(frozen=True, slots=True)
class Climbed:
    """What a climb reached."""

    mode: Mode
    log_likelihood: float
    n_experts: int  # of any weight


class ClimbLog:
    """What the climbs of a search reached, by name, in files if there is a plan for them."""

    def __init__(self, plan: CheckpointPlan | None, folder: str, fingerprint: Callable[[], str]) -> None:
        """`folder` is where the files are within what a user gives, `fingerprint` a hash of all that decides them.

        The hash is of all rows, and asked for when there is a file to be read or written.
        """
        self._plan = plan.within(folder) if plan is not None else None
        self._user_folder = plan.folder if plan is not None else None
        self._folder, self._fingerprint = folder, cache(fingerprint)
        self._done: dict[str, Climbed] = {}

    def find(self, name: str) -> Climbed | None:
        """What a climb reached, if it was made before."""
        if name not in self._done and self._plan is not None:
            arrays = self._plan.file(name).read(self._fingerprint())
            if arrays is not None:
                mode = Mode(arrays["coefficients"], arrays["log_weights"])
                self._done[name] = Climbed(mode, float(arrays["log_likelihood"]), int(arrays["n_experts"]))
        return self._done.get(name)

    def add(self, name: str, climbed: Climbed) -> None:
        """Keep what a climb reached."""
        self._done[name] = climbed
        if self._plan is not None:
            self._write(name)

    def rescued(self) -> str:
        """Have all climbs in files, and say where."""
        if self._user_folder is None:
            self._user_folder = Path(tempfile.mkdtemp(prefix="softpolytope-"))
            self._plan = CheckpointPlan(self._user_folder).within(self._folder)
            for name in self._done:
                self._write(name)
        return (
            f"The climbs that were done are saved in {self._user_folder}: the same fit, with this folder as "
            "checkpoint, goes on from there."
        )

    def _write(self, name: str) -> None:
        if self._plan is None:
            return
        climbed = self._done[name]
        arrays = {
            "coefficients": climbed.mode.coefficients,
            "log_weights": climbed.mode.log_weights,
            "log_likelihood": np.array(climbed.log_likelihood),
            "n_experts": np.array(float(climbed.n_experts)),
        }
        self._plan.file(name).write(arrays, self._fingerprint(), 0)
