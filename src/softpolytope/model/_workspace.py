"""Arrays for what is needed within one call of a kernel."""

import math
import threading

import numpy as np

from softpolytope._typing import FloatArray


class Workspace(threading.local):
    """Arrays that every thread has for itself, and writes anew at every use.

    New arrays of a block's size would come from the system and go back to it where memory is given back at once, as in
    Dask's workers: that took a sixth of a sweep of the paper's scan.

    Examples
    --------
    >>> from softpolytope.model import Workspace
    >>> space = Workspace()
    >>> space.empty("sums", (2, 3)).shape
    (2, 3)
    """

    def __init__(self) -> None:
        self._arrays: dict[str, FloatArray] = {}

    def empty(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """An array with anything in it, valid until the same name is asked for again on this thread."""
        size = math.prod(shape)
        array = self._arrays.get(name)
        if array is None or array.size < size:
            array = self._arrays[name] = np.empty(size)
        return array[:size].reshape(shape)
