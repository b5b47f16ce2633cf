"""Numbers as an unevaluated sum of two doubles: a value and its rounding error."""

from typing import NamedTuple

import numpy as np

from softpolytope._typing import FloatArray


class DoubleDouble(NamedTuple):
    """value + rest, with rest below half a unit in the last place of value."""

    value: FloatArray
    rest: FloatArray

    def to_double(self) -> FloatArray:
        """Return the nearest double."""
        return self.value + self.rest


def two_sum(left: FloatArray, right: FloatArray) -> DoubleDouble:
    """Return left + right and the exact rounding error of that sum (Knuth)."""
    total = left + right
    shadow = total - left
    return DoubleDouble(total, (left - (total - shadow)) + (right - shadow))


def two_product(left: FloatArray, right: FloatArray) -> DoubleDouble:
    """Return left * right and the exact rounding error of that product (Dekker)."""
    product = left * right
    left_high, right_high = _upper_half(left), _upper_half(right)
    left_low, right_low = left - left_high, right - right_high
    rest = ((left_high * right_high - product) + left_high * right_low + left_low * right_high) + (left_low * right_low)
    # Splitting overflows above 1e300, where the plain product has to do.
    return DoubleDouble(product, np.where(np.isfinite(rest), rest, 0.0))


def _upper_half(number: FloatArray) -> FloatArray:
    """Keep the upper 26 bits of each double."""
    scaled = 134217729.0 * number  # 2**27 + 1
    result: FloatArray = scaled - (scaled - number)
    return result
