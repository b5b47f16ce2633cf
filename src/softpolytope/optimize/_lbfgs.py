"""One optimization: L-BFGS on the collapsed log posterior, from a position to a higher one."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from softpolytope._typing import FloatArray
from softpolytope.model import FlatLogPosterior

# Loss where the likelihood cannot be computed: finite, but so high that no line search accepts the point.
UNREACHABLE_LOSS = 1e300
# Pairs of steps and gradients that L-BFGS remembers. This is SciPy's default; other values were not tried.
MEMORY = 10


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """Limits of an optimization: a number of steps, and the relative gain below which a step is the last."""

    n_steps: int
    tolerance: float


def maximize(
    target: FlatLogPosterior,
    position: FloatArray,
    rule: StoppingRule,
    unit: FloatArray | float = 1.0,
    is_stopped: Callable[[], bool] = bool,
) -> FloatArray:
    """Return a position whose log posterior is at least that of the given one.

    `unit` is the unit of each coordinate, on which the path of L-BFGS depends. Once `is_stopped` returns True, the
    current position is returned.
    """

    def loss(scaled: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = target.value_and_gradient(scaled * unit)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return UNREACHABLE_LOSS, np.zeros_like(scaled)
        return -value, -gradient * unit

    def stop(xk: FloatArray) -> None:  # noqa: ARG001 -- the name that SciPy looks for
        if is_stopped():
            raise StopIteration

    result = minimize(
        loss,
        position / unit,
        jac=True,
        method="L-BFGS-B",
        callback=stop,
        options={
            "maxiter": rule.n_steps,
            "maxfun": 2 * rule.n_steps + 20,
            "maxcor": MEMORY,
            "ftol": rule.tolerance,
            "gtol": 1e-7,
        },
    )
    return np.ascontiguousarray(result.x * unit)
