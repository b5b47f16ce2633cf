"""What a fit is asked to do, and how."""

from dataclasses import dataclass

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.model.collapsed import Design
from softpolytope.parallel.tasks import Callback


@dataclass(frozen=True, slots=True)
class Task:
    """One label against the rest."""

    design: Design  # (rows, 1 + features), the intercept first
    is_positive: BoolArray
    row_weights: FloatArray
    seed: tuple[int, ...]
    folder: str  # of its checkpoints, inside the user's


@dataclass(frozen=True, slots=True)
class How:
    """How a fit is carried out; none of it changes a draw."""

    n_threads: int
    callback: Callback | None
    keeps_states: bool
