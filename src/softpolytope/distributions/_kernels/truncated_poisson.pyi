from numpy.random import BitGenerator

from softpolytope._typing import CountArray, FloatArray

def fill(bit_generator: BitGenerator, rate: FloatArray, out: CountArray) -> None: ...
