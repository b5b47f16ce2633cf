import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import IndexArray

FloatArray32 = NDArray[np.float32]
Int32Array = NDArray[np.int32]
ByteArray = NDArray[np.uint8]

PADDING: int

class ModelGroup:
    def __init__(
        self,
        starts: Int32Array,
        is_flipped: ByteArray,
        coefficients: FloatArray32,
        log_weights: FloatArray32,
        prior_scale: FloatArray32,
        inverse_squares: FloatArray32,
        averages: FloatArray32,
        weight_averages: FloatArray32,
        basis: FloatArray32 | None = None,
    ) -> None: ...
    def use_version(self, version: int) -> int: ...
    def fill_rates(
        self, values: FloatArray32, indices: Int32Array | None, indptr: Int32Array | None, out: FloatArray32
    ) -> None: ...
    def add_gradient(
        self,
        values: FloatArray32,
        indices: Int32Array | None,
        indptr: Int32Array | None,
        labels: ByteArray,
        row_weights: FloatArray32,
    ) -> None: ...
    def train(
        self,
        values: FloatArray32,
        indices: Int32Array | None,
        indptr: Int32Array | None,
        labels: ByteArray,
        row_weights: FloatArray32,
        batches: IndexArray,
        steps: FloatArray32,
        prior: tuple[float, float, float, bool],
    ) -> None: ...
