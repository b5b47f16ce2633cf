"""The prior of a fitted regression, and the columns that it is a prior for."""

from dataclasses import dataclass

from softpolytope._typing import FloatArray
from softpolytope.model._prior import Prior


@dataclass(frozen=True, slots=True)
class FittedPrior:
    """Prior of a fitted regression, on the columns z = (x - center) / scale that it was fitted with."""

    prior: Prior
    max_experts: int
    fit_weight: bool
    center: FloatArray  # (columns,), that of the intercept is 0
    scale: FloatArray  # (columns,), that of the intercept is 1
    mode_rates: FloatArray | None = None  # (modes,)  precision rates of modes; None for chains
