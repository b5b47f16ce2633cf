import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray

def predict_dense(design: FloatArray, coefficients: FloatArray, out: FloatArray) -> None: ...
def predict_sparse(
    data: FloatArray, indices: NDArray[np.intc], indptr: NDArray[np.intc], coefficients: FloatArray, out: FloatArray
) -> None: ...
def advance(
    predictor_columns: FloatArray,
    experts: NDArray[np.intc],
    linear_predictor: FloatArray,
    below: FloatArray,
    log_above: FloatArray,
    above: FloatArray,
) -> None: ...
def log_likelihood(
    activation: FloatArray,
    log_activation: FloatArray,
    log_weights: FloatArray,
    labels: NDArray[np.uint8],
    row_weights: FloatArray,
) -> float: ...
