"""Record of a chain: a few numbers of every sweep, the retained draws, and the best draw."""

from dataclasses import dataclass, field, fields
from typing import Self

import numpy as np

from softpolytope._typing import BoolArray, FloatArray

# An expert without counts and of less weight than this is left out of a draw: lambda misses at most this times its
# activation.
NEGLIGIBLE_WEIGHT = 1e-10


@dataclass(frozen=True, slots=True)
class Schedule:
    """Length of a chain, and the sweeps after which it retains draws and deletes experts."""

    n_sweeps: int = 1000
    n_burn_in: int = 500  # first sweeps, in which the step size is tuned and nothing is retained
    n_draws: int = 100  # retained, evenly spaced over the other sweeps
    prune_at: tuple[int, ...] = ()  # sweeps (from 1) after which experts without counts are deleted

    def __post_init__(self) -> None:
        if not 0 <= self.n_burn_in < self.n_sweeps:
            raise ValueError(
                f"n_burn_in must be from 0 to n_sweeps - 1; got {self.n_burn_in} with n_sweeps={self.n_sweeps}."
            )
        if not 1 <= self.n_draws <= self.n_sweeps - self.n_burn_in:
            raise ValueError(
                f"n_draws must be from 1 to the {self.n_sweeps - self.n_burn_in} sweeps after burn-in; "
                f"got {self.n_draws}."
            )

    def is_kept(self, sweep: int) -> bool:
        """Return whether the draw of a sweep (from 0) is retained, as that of the last sweep always is."""
        length = self.n_sweeps - self.n_burn_in
        number = sweep - self.n_burn_in
        if number < 0:
            return False
        return (number + 1) * self.n_draws // length > number * self.n_draws // length


@dataclass(frozen=True, slots=True)
class Draw:
    """Parameters after a sweep, as prediction needs them."""

    sweep: int
    log_likelihood: float
    coefficients: FloatArray  # (experts, layers, columns)
    log_weights: FloatArray  # (experts,)
    counts: FloatArray  # (levels, experts)  sums over the rows; only the top level if no others were drawn

    @property
    def n_active(self) -> int:
        """Number of experts with counts."""
        return int((self.counts[-1] > 0.0).sum())

    @property
    def is_needed(self) -> BoolArray:
        """Whether prediction needs each expert."""
        return np.asarray((self.counts[-1] > 0.0) | (np.exp(self.log_weights) >= NEGLIGIBLE_WEIGHT))


@dataclass(slots=True)
class Trace:
    """Record of a chain so far."""

    log_likelihood: list[float] = field(default_factory=list)
    n_active: list[float] = field(default_factory=list)
    mass: list[float] = field(default_factory=list)
    concentration: list[float] = field(default_factory=list)
    acceptance: list[float] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    best: Draw | None = None  # the draw of highest log likelihood after burn-in

    @property
    def n_sweeps(self) -> int:
        """Number of sweeps recorded."""
        return len(self.log_likelihood)

    def record(self, draw: Draw, mass: float, concentration: float, acceptance: float, schedule: Schedule) -> None:
        """Append the numbers of a sweep, and retain its draw if the schedule says so or it is the best."""
        self.log_likelihood.append(draw.log_likelihood)
        self.n_active.append(draw.n_active)
        self.mass.append(mass)
        self.concentration.append(concentration)
        self.acceptance.append(acceptance)
        if schedule.is_kept(draw.sweep):
            self.draws.append(draw)
        is_best = self.best is None or draw.log_likelihood > self.best.log_likelihood
        if draw.sweep >= schedule.n_burn_in and is_best:
            self.best = draw

    def to_arrays(self) -> dict[str, FloatArray]:
        """Return the record as named arrays."""
        arrays = {name: np.array(getattr(self, name)) for name in _SERIES}
        for label, draw in [(f"draw{i}", draw) for i, draw in enumerate(self.draws)] + [("best", self.best)]:
            if draw is not None:
                for item in fields(Draw):
                    arrays[f"{label}.{item.name}"] = np.asarray(getattr(draw, item.name))
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, FloatArray]) -> Self:
        """Return the trace that `to_arrays` was called on."""
        trace = cls(**{name: arrays[name].tolist() for name in _SERIES})
        n_draws = sum(name.startswith("draw") and name.endswith(".sweep") for name in arrays)
        trace.draws = [_draw_from(arrays, f"draw{i}") for i in range(n_draws)]
        trace.best = _draw_from(arrays, "best") if "best.sweep" in arrays else None
        return trace


_SERIES = ("log_likelihood", "n_active", "mass", "concentration", "acceptance")


def _draw_from(arrays: dict[str, FloatArray], label: str) -> Draw:
    """Return the draw whose arrays have a label."""
    return Draw(
        int(arrays[f"{label}.sweep"]),
        float(arrays[f"{label}.log_likelihood"]),
        arrays[f"{label}.coefficients"],
        arrays[f"{label}.log_weights"],
        arrays[f"{label}.counts"],
    )
