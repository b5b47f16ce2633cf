"""Types of rows and labels in annotations of this room."""

from typing import Any, TypeAlias

from numpy.typing import NDArray
from scipy import sparse

from softpolytope._typing import FloatArray

Rows: TypeAlias = FloatArray | sparse.csr_array
Labels: TypeAlias = NDArray[Any]  # numbers or strings, as scikit-learn takes them
