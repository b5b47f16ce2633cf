import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray

def fill_rates_dense(
    X: FloatArray,
    slopes: FloatArray,
    intercepts: FloatArray,
    weights: FloatArray,
    starts: NDArray[np.intp],
    out: FloatArray,
) -> None: ...
def fill_rates_sparse(
    data: FloatArray,
    indices: NDArray[np.intc],
    indptr: NDArray[np.intc],
    slopes: FloatArray,
    intercepts: FloatArray,
    weights: FloatArray,
    starts: NDArray[np.intp],
    out: FloatArray,
) -> None: ...
def add_mean_probabilities(rates: FloatArray, share: float, event: FloatArray, survival: FloatArray) -> None: ...
def multiply_odds(rates: FloatArray, limit: float, product: FloatArray) -> None: ...
