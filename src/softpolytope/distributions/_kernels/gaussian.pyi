from numpy.random import BitGenerator

from softpolytope._typing import FloatArray

def draw_gaussians(
    bit_generator: BitGenerator, precision: FloatArray, linear: FloatArray, out: FloatArray, scratch: FloatArray
) -> int: ...
