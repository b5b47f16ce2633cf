"""Random row weights of the weighted likelihood bootstrap (Newton and Raftery 1994)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri

from softpolytope._typing import FloatArray
from softpolytope.model import mix_bits

# The likelihood of a row must not vanish.
MIN_WEIGHT = 1e-300
# A Gamma law of a larger shape is normal to all the digits that matter here, and its quantiles are slow.
MAX_SHAPE = 1e6


@dataclass(frozen=True, slots=True)
class RandomWeights:
    """Random weights of rows: a row of weight w gets one ~ Gamma(concentration w, rate=concentration), of mean w.

    Such laws add up, so a row given twice is the same as a row of weight two. A weight is a function of `key` and of
    the identifier of its row, and of nothing else: it does not matter where, or how often, it is computed.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.data import RandomWeights
    >>> weights = RandomWeights(key=7, concentration=1.0).draw(np.arange(100_000, dtype=np.uint64), np.ones(100_000))
    >>> print(f"{weights.mean():.1f} {weights.var():.1f}")
    1.0 1.0
    """

    key: int  # of 64 bits
    concentration: float = 1.0

    def draw(self, identifiers: NDArray[np.uint64], row_weights: FloatArray) -> FloatArray:
        """Return the random weights of rows."""
        bits = mix_bits(mix_bits(identifiers) ^ np.uint64(self.key))
        uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        shape = self.concentration * row_weights
        if (row_weights == 1.0).all() and self.concentration == 1.0:
            drawn = -np.log1p(-uniform)
        else:
            drawn = gammaincinv(np.minimum(shape, MAX_SHAPE), uniform) / self.concentration
            is_large = shape > MAX_SHAPE
            drawn[is_large] = row_weights[is_large] * (1.0 + ndtri(uniform[is_large]) / np.sqrt(shape[is_large]))
        return np.asarray(np.maximum(drawn, MIN_WEIGHT))
