"""Checks of the arrays and numbers in a model file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.exceptions import ModelFileError

Header = dict[str, Any]  # of JSON values
Arrays = dict[str, NDArray[Any]]


def check(is_right: bool, message: str) -> None:  # noqa: FBT001  # a condition is what it is about
    """Raise a ModelFileError unless a condition holds."""
    if not is_right:
        raise ModelFileError(message)


def get_array(arrays: Arrays, name: str, dtype: str, n_dimensions: int) -> NDArray[Any]:
    """Return an array of the expected type and number of dimensions."""
    array = arrays[name]
    is_right = array.dtype.name == dtype and array.ndim == n_dimensions
    check(is_right, f"array {name!r} does not have {n_dimensions} dimensions of type {dtype}.")
    return array


def get_finite(arrays: Arrays, name: str, dtype: str, n_dimensions: int) -> NDArray[Any]:
    """Return an array of the expected type and number of dimensions; raise unless all its numbers are finite."""
    array = get_array(arrays, name, dtype, n_dimensions)
    check(dtype != "float64" or bool(np.isfinite(array).all()), f"array {name!r} holds numbers that are not finite.")
    return array


def get_log_weights(arrays: Arrays, name: str) -> FloatArray:
    """Return logarithms of weights, which may be minus infinity but neither infinity nor NaN."""
    array: FloatArray = get_array(arrays, name, "float64", 1)
    check(bool((array < np.inf).all()), f"array {name!r} holds numbers that are not logarithms.")
    return array


def get_integer(value: object, minimum: int, name: str) -> int:
    """Return an integer of at least `minimum`."""
    if type(value) is not int or value < minimum:
        raise ModelFileError(f"{name} is not an integer of at least {minimum}.")
    return value


def check_starts(starts: NDArray[np.int64], total: int, *, minimum: int) -> None:
    """Raise unless `starts` divides `total` items, in order, into parts of at least `minimum` items."""
    has_ends = len(starts) >= 1 and starts[0] == 0 and starts[-1] == total
    # Compared one by one, because differences of hostile numbers would wrap around.
    is_ordered = has_ends and bool(((starts >= 0) & (starts <= total)).all())
    check(is_ordered and bool((starts[1:] - starts[:-1] >= minimum).all()), "the parts of an array do not match.")
