import numpy as np
from numpy.random import BitGenerator
from numpy.typing import NDArray

from softpolytope._typing import FloatArray

def draw_pg_weights(
    bit_generator: BitGenerator,
    counts: FloatArray,
    above: FloatArray,
    copies: FloatArray,
    weights: FloatArray,
    linear_predictor: FloatArray,
    log_activation: FloatArray,
    experts: NDArray[np.intc],
    pg_weights: FloatArray,
    slopes: FloatArray,
    terms: int,
) -> None: ...
def draw_table_counts(
    bit_generator: BitGenerator,
    counts: FloatArray,
    above: FloatArray,
    copies: FloatArray,
    weights: FloatArray,
    out: FloatArray,
) -> None: ...
