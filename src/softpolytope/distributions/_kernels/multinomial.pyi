from numpy.random import BitGenerator

from softpolytope._typing import CountArray, FloatArray

def fill(bit_generator: BitGenerator, count: CountArray, log_rates: FloatArray, out: CountArray) -> int: ...
