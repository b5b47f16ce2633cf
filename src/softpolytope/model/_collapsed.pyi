import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray

def value_and_slopes(
    predictor: FloatArray,
    log_weights: FloatArray,
    labels: NDArray[np.uint8],
    row_weights: FloatArray,
    offset: FloatArray,
    weight_slopes: FloatArray,
    scratch: FloatArray,
) -> float: ...
