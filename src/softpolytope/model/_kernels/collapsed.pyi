import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray

def add_likelihood_dense(
    design: FloatArray,
    coefficients: FloatArray,
    log_weights: FloatArray,
    labels: NDArray[np.uint8],
    row_weights: FloatArray,
    offset: FloatArray,
    slopes: FloatArray,
    weight_slopes: FloatArray,
) -> float: ...
def is_wide(n_columns: int) -> bool: ...
def add_likelihood_sparse(
    data: FloatArray,
    indices: NDArray[np.intc],
    indptr: NDArray[np.intc],
    coefficients: FloatArray,
    log_weights: FloatArray,
    labels: NDArray[np.uint8],
    row_weights: FloatArray,
    offset: FloatArray,
    slopes: FloatArray,
    weight_slopes: FloatArray,
    n_columns: int,
) -> float: ...
