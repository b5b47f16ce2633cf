"""Arguments of the laws: validated once, broadcast, and flattened for the kernels.

The docstrings of the laws repeat the parameters `rng` and `size`, because each is a page of the reference.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.random import BitGenerator, Generator
from numpy.typing import ArrayLike, NDArray

from softpolytope._typing import BoolArray, CountArray, FloatArray

ScalarT = TypeVar("ScalarT", bound=np.generic)
Size = int | tuple[int, ...] | None

MAX_COUNT = np.iinfo(np.int64).max
# Far enough below 2**63 for every Poisson draw to fit an int64.
MAX_RATE = 2.0**62


class Moments(NamedTuple):
    """The first three cumulants of a law."""

    mean: FloatArray
    variance: FloatArray
    third_cumulant: FloatArray


def _check(name: str, values: FloatArray | CountArray, is_good: BoolArray, rule: str) -> None:
    """Raise a ValueError that shows the first value that breaks the rule."""
    if is_good.all():
        return
    index = tuple(int(i) for i in np.argwhere(~is_good)[0])
    where = f" at index {index}" if index else ""
    raise ValueError(f"{name} must be {rule}; got {values[index].item()!r}{where}.")


def validate_real(name: str, value: ArrayLike, rule: str, lower: float = -np.inf, upper: float = np.inf) -> FloatArray:
    """Return `value` as finite doubles with lower <= value < upper; `rule` words that condition for the error."""
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be {rule}; got {value!r}.") from error
    _check(name, values, np.isfinite(values) & (values >= lower) & (values < upper), rule)
    return values


def validate_count(name: str, value: ArrayLike) -> CountArray:
    """Return `value` as non-negative int64; doubles are accepted if they are integers."""
    rule = f"an integer from 0 to {MAX_COUNT}"
    values = np.asarray(value)
    if values.dtype.kind == "f":
        _check(name, values, (values >= 0) & (values < 2.0**63) & (values == np.floor(values)), rule)
    elif values.dtype.kind in "iu":
        _check(name, values, (values >= 0) & (values <= MAX_COUNT), rule)
    elif values.dtype.kind != "b":  # objects are Python integers of more than 64 bits, or not numbers
        raise ValueError(f"{name} must be {rule}; got {value!r}.")
    return values.astype(np.int64)


def validate_rng(rng: Generator) -> BitGenerator:
    """Return the source of random bits behind a Generator."""
    if not isinstance(rng, Generator):
        raise TypeError(
            f"rng must be a numpy.random.Generator; got {type(rng).__name__}. "
            "Make one with numpy.random.default_rng(seed)."
        )
    return rng.bit_generator


def flatten(values: NDArray[ScalarT], shape: tuple[int, ...]) -> NDArray[ScalarT]:
    """Broadcast to `shape` and return the entries as one contiguous row, as the kernels read them."""
    return np.ascontiguousarray(np.broadcast_to(values, shape)).reshape(-1)


def draw(
    fill: Callable[..., None],
    arguments: tuple[FloatArray | CountArray, ...],
    rng: Generator,
    size: Size,
    dtype: type[ScalarT],
    *options: int,
) -> NDArray[ScalarT]:
    """Broadcast the arguments of a law and let its kernel `fill` write one draw per entry, in the order of rows.

    `options` follow the arrays in the call of the kernel. A result without axes is returned as a scalar.
    """
    bit_generator = validate_rng(rng)
    shape = _result_shape(size, [values.shape for values in arguments])
    draws = np.empty(shape, dtype=dtype)
    fill(bit_generator, *(flatten(values, shape) for values in arguments), draws.reshape(-1), *options)
    result: NDArray[ScalarT] = draws[()]
    return result


def _result_shape(size: Size, shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return `size` or, if it is None, the shape to which all the arguments broadcast."""
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
