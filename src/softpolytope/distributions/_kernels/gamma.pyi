from numpy.random import BitGenerator

from softpolytope._typing import FloatArray

def fill(bit_generator: BitGenerator, shape: FloatArray, out: FloatArray) -> None: ...
