import numpy as np
from numpy.random import BitGenerator
from numpy.typing import NDArray

from softpolytope._typing import FloatArray

def collapsed(
    bit_generator: BitGenerator,
    labels: NDArray[np.uint8],
    row_weights: FloatArray,
    log_weights: FloatArray,
    log_activations: FloatArray,
    activations: FloatArray,
    counts: FloatArray,
    copies: FloatArray,
    scratch: FloatArray,
) -> None: ...
def given_rates(
    bit_generator: BitGenerator,
    labels: NDArray[np.uint8],
    log_rates: FloatArray,
    fallback: FloatArray,
    counts: FloatArray,
    scratch: FloatArray,
) -> None: ...
