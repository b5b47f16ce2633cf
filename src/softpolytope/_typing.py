"""Array aliases used in annotations throughout the package."""

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

FloatArray: TypeAlias = NDArray[np.float64]
CountArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
IndexArray: TypeAlias = NDArray[np.intp]
# Validated rows: dense C-ordered doubles, or compressed by rows.
Rows: TypeAlias = "FloatArray | csr_array[np.float64] | csr_matrix[np.float64]"
