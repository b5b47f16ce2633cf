import numpy as np
from numpy.random import BitGenerator
from numpy.typing import NDArray

from softpolytope._typing import FloatArray

def draw_rates(
    bit_generator: BitGenerator,
    counts: FloatArray,
    above: FloatArray,
    copies: FloatArray,
    weights: FloatArray,
    linear_predictor: FloatArray,
    log_activation: FloatArray,
    activation_above: FloatArray,
    log_least_activation: float,
    experts: NDArray[np.intc],
    out: FloatArray,
    is_log: bool,
) -> None: ...
