"""How the laws read their arguments: checked once, broadcast, and flat for the kernels."""

from typing import NamedTuple

import numpy as np
from numpy.random import BitGenerator, Generator
from numpy.typing import ArrayLike

from softpolytope._typing import BoolArray, CountArray, FloatArray

MAX_COUNT = np.iinfo(np.int64).max
# Everything above is rounded to 2**63 on its way to a double, which no int64 can hold.
MAX_RATE = 2.0**62


class Moments(NamedTuple):
    """The first three cumulants of a law."""

    mean: FloatArray
    variance: FloatArray
    third_cumulant: FloatArray


def _check(name: str, values: FloatArray | CountArray, is_good: BoolArray, rule: str) -> None:
    """Raise a ValueError that shows the first value which breaks the rule."""
    if is_good.all():
        return
    index = tuple(int(i) for i in np.argwhere(~is_good)[0])
    place = f" at index {index}" if index else ""
    raise ValueError(f"{name} must be {rule}; got {values[index].item()!r}{place}.")


def real_argument(name: str, value: ArrayLike, rule: str, lower: float = -np.inf, upper: float = np.inf) -> FloatArray:
    """Return finite doubles with lower <= value < upper; `rule` says so in words."""
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be {rule}; got {value!r}.") from error
    _check(name, values, np.isfinite(values) & (values >= lower) & (values < upper), rule)
    return values


def count_argument(name: str, value: ArrayLike) -> CountArray:
    """Return non-negative int64; whole doubles are taken, anything that would be cut is not."""
    rule = f"a whole number from 0 to {MAX_COUNT}"
    values = np.asarray(value)
    if values.dtype.kind == "f":
        _check(name, values, (values >= 0) & (values < 2.0**63) & (values == np.floor(values)), rule)
    elif values.dtype.kind in "iu":
        _check(name, values, (values >= 0) & (values <= MAX_COUNT), rule)
    elif values.dtype.kind != "b":  # objects are Python integers past 64 bits, or no numbers at all
        raise ValueError(f"{name} must be {rule}; got {value!r}.")
    return values.astype(np.int64)


def bit_generator_of(rng: Generator) -> BitGenerator:
    """Return the source of random bits behind a Generator."""
    if not isinstance(rng, Generator):
        raise TypeError(
            f"rng must be a numpy.random.Generator; got {type(rng).__name__}. "
            "Make one with numpy.random.default_rng(seed)."
        )
    return rng.bit_generator


def common_shape(size: int | tuple[int, ...] | None, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return `size` or, without one, the shape to which all the arguments broadcast."""
    shape = np.broadcast_shapes(*shapes)
    if size is None:
        return shape
    wanted = (size,) if isinstance(size, int | np.integer) else tuple(size)
    try:
        fits = np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"size {wanted} does not hold the arguments' common shape {shape}.")
    return wanted


def flat_reals(values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Broadcast to `shape` and lay the entries out in a row."""
    return np.ascontiguousarray(np.broadcast_to(values, shape)).reshape(-1)


def flat_counts(values: CountArray, shape: tuple[int, ...]) -> CountArray:
    """Broadcast to `shape` and lay the entries out in a row."""
    return np.ascontiguousarray(np.broadcast_to(values, shape)).reshape(-1)
