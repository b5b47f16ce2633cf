"""Checks that all parts of a model file share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope.exceptions import ModelFileError

Arrays = dict[str, NDArray[Any]]


def check(is_right: bool, message: str) -> None:  # noqa: FBT001  # a condition is what it is about
    """Raise a ModelFileError unless a condition holds."""
    if not is_right:
        raise ModelFileError(message)


def typed(arrays: Arrays, name: str, dtype: str, n_dimensions: int) -> NDArray[Any]:
    """Return an array of the type and number of dimensions expected, all of its numbers finite."""
    array = shaped(arrays, name, dtype, n_dimensions)
    check(dtype != "float64" or bool(np.isfinite(array).all()), f"array {name!r} holds numbers that are not finite.")
    return array


def shaped(arrays: Arrays, name: str, dtype: str, n_dimensions: int) -> NDArray[Any]:
    """Return an array of the type and number of dimensions expected, whatever its numbers."""
    array = arrays[name]
    check(array.dtype.name == dtype and array.ndim == n_dimensions, f"array {name!r} is not what it should be.")
    return array


def log_weights(arrays: Arrays, name: str) -> NDArray[np.float64]:
    """Return logarithms of weights: real numbers, or minus infinity for a weight of zero."""
    array = shaped(arrays, name, "float64", 1)
    check(not np.isnan(array).any() and not np.isposinf(array).any(), f"array {name!r} holds what is no logarithm.")
    return array


def check_starts(starts: NDArray[np.int64], n_in_all: int, *, least: int) -> None:
    """Raise unless `starts` cuts so many things into parts of at least `least`, in their order."""
    has_ends = len(starts) >= 1 and starts[0] == 0 and starts[-1] == n_in_all
    # Compared one by one: differences of hostile numbers would wrap around.
    is_ordered = has_ends and bool(((starts >= 0) & (starts <= n_in_all)).all())
    check(is_ordered and bool((starts[1:] - starts[:-1] >= least).all()), "parts of an array do not match.")


def integer(value: Any, least: int, what: str) -> int:
    """Return a whole number of at least `least`."""
    check(type(value) is int and value >= least, f"{what} is not a whole number of at least {least}.")
    return int(value)
