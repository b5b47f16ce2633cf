"""The collapsed posterior as a function of one flat array, which is what moves and climbs need."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.model._kernels import prior as _prior


@dataclass(frozen=True, slots=True)
class FlatPrior:
    """The collapsed prior's parameters, as the compiled code takes them."""

    precision_rates: FloatArray  # (experts, layers)
    precision_shape: float
    weight_shape: float  # mass / K
    concentration: float


class FlatLogPosterior:
    """Log posterior of coefficients and log weights that stand one after the other in one array.

    `of_rows` gives the log likelihood and its gradient, `RowBlock.gradient` added over all blocks of rows.
    """

    def __init__(
        self,
        of_rows: Callable[[FloatArray, FloatArray], FloatArray],
        shape: tuple[int, int, int],
        prior: FlatPrior,
        *,
        moves_weights: bool = True,
    ) -> None:
        self._of_rows = of_rows
        self._shape = shape
        self._prior = (prior.precision_rates, prior.precision_shape, prior.weight_shape, prior.concentration)
        self._moves_weights = moves_weights
        self._n_coefficients = int(np.prod(shape))

    def parts(self, position: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (experts, layers, columns) and log weights (experts,), as views."""
        return position[: self._n_coefficients].reshape(self._shape), position[self._n_coefficients :]

    def value_and_gradient(self, position: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient, which is zero where weights are held."""
        coefficients, log_weights = self.parts(position)
        total = self._of_rows(coefficients, log_weights)
        slope = total[1:]
        slopes, weight_slopes = self.parts(slope)
        value = float(total[0]) + _prior.add_prior(coefficients, log_weights, *self._prior, slopes, weight_slopes)
        if not self._moves_weights:
            weight_slopes[:] = 0.0
        return value, slope
