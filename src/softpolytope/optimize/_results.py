"""What is searched for, and what was found."""

from dataclasses import dataclass

import numpy as np

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.model import Prior
from softpolytope.optimize._mode import Mode


@dataclass(frozen=True, slots=True)
class ModeSettings:
    """What is climbed, and how often."""

    max_experts: int
    n_layers: int
    prior: Prior
    n_restarts: int = 5
    fit_weights: bool = True
    bootstrap: bool = False  # whether the last climb of every restart has random weights of its own for the rows
    keeps_idle: bool = False  # whether experts the rows do not need stay, for rows still to come


@dataclass(frozen=True, slots=True)
class FoundMode:
    """A mode without idle experts, its log likelihood, and the mode with all it had, to climb on from."""

    mode: Mode
    log_likelihood: float
    whole: Mode


@dataclass(frozen=True, slots=True)
class ModesResult:
    """Modes by labeling and restart."""

    modes: list[list[FoundMode]]
    precision_rates: FloatArray  # (restarts,)
    held_out_loss: dict[float, float]  # mean -log P of held-out rows by precision rate; empty if it was given
    is_complete: bool  # False if it was stopped early
    is_interrupted: bool = False  # whether Ctrl-C was pressed; who asked for the search raises KeyboardInterrupt

    def is_of_best_rate(self) -> BoolArray:
        """Whether each restart has the rate that was best for all held-out rows; if none has, all may stand for it."""
        if not self.held_out_loss:
            return np.ones(len(self.precision_rates), dtype=bool)
        best = min(self.held_out_loss, key=self.held_out_loss.__getitem__)
        is_best = np.asarray(self.precision_rates == best)
        return is_best if is_best.any() else ~is_best
