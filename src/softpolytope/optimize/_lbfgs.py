"""One climb: L-BFGS on the collapsed posterior, from a position to a higher one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from softpolytope._typing import FloatArray
from softpolytope.model import FlatLogPosterior

# What a point is worth where the likelihood cannot be computed: too low to be climbed to, but a number.
OUT_OF_REACH = 1e300
# Pairs of steps and slopes that L-BFGS remembers; SciPy's own default, no other was tried.
MEMORY = 10


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When a climb ends: after so many steps, or where a step gains less than a share of the value."""

    n_steps: int
    tolerance: float


def climb(
    target: FlatLogPosterior,
    position: FloatArray,
    effort: StoppingRule,
    unit: FloatArray | float = 1.0,
    is_stopped: Callable[[], bool] = bool,
) -> FloatArray:
    """Return a position at least as high as the one given.

    `unit` is what one step of each coordinate is measured in; L-BFGS is not indifferent to it. A climb that is stopped
    ends where it is.
    """

    def loss(scaled: FloatArray) -> tuple[float, FloatArray]:
        value, slope = target.value_and_gradient(scaled * unit)
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return OUT_OF_REACH, np.zeros_like(scaled)
        return -value, -slope * unit

    def stop(_: FloatArray) -> None:
        if is_stopped():
            raise StopIteration

    search: Any = minimize  # its stubs do not know arrays of one dimension from others
    result = search(
        loss,
        position / unit,
        jac=True,
        method="L-BFGS-B",
        callback=stop,
        options={
            "maxiter": effort.n_steps,
            "maxfun": 2 * effort.n_steps + 20,
            "maxcor": MEMORY,
            "ftol": effort.tolerance,
            "gtol": 1e-7,
        },
    )
    reached: FloatArray = np.ascontiguousarray(result.x * unit)
    return reached
