"""Regressions that a fit consists of, and options of a fit."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from softpolytope.data import LabeledRows
from softpolytope.estimators._parameters import MIN_ROWS_FOR_MODES
from softpolytope.parallel import Callback

Rows_co = TypeVar("Rows_co", bound=LabeledRows, covariant=True)


@dataclass(frozen=True, slots=True)
class BinaryProblem(Generic[Rows_co]):
    """Regression of one class against the rest."""

    rows: Rows_co
    seed: tuple[int, ...]  # of all its random numbers
    folder: str  # of its checkpoints, inside the user's

    def auto_inference(self) -> Literal["gibbs", "map"]:
        """Return the inference that "auto" stands for: chains for few rows, modes for many."""
        return "map" if self.rows.has_many_rows(MIN_ROWS_FOR_MODES) else "gibbs"


@dataclass(frozen=True, slots=True)
class How:
    """How a fit is carried out; none of it changes a draw."""

    n_threads: int
    callback: Callback | None
    keeps_states: bool
