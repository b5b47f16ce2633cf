import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray

def add_dense(design: FloatArray, pg_weights: FloatArray, out: FloatArray) -> None: ...
def add_sparse(
    data: FloatArray,
    indices: NDArray[np.intc],
    indptr: NDArray[np.intc],
    n_columns: int,
    pg_weights: FloatArray,
    out: FloatArray,
) -> None: ...
def unpack(pairs: FloatArray, out: FloatArray) -> None: ...
def add_linear_dense(design: FloatArray, slopes: FloatArray, out: FloatArray) -> None: ...
def add_linear_sparse(
    data: FloatArray, indices: NDArray[np.intc], indptr: NDArray[np.intc], slopes: FloatArray, out: FloatArray
) -> None: ...
