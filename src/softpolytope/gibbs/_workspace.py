"""Arrays that are needed within one step only."""

import math
import threading

import numpy as np

from softpolytope._typing import FloatArray


class Workspace(threading.local):
    """Arrays that each thread reuses from step to step.

    Where freed memory returns to the system at once, as in Dask's workers, new arrays of a block's size would take a
    sixth of the time of a sweep of the paper's scan.

    Examples
    --------
    >>> from softpolytope.gibbs._workspace import Workspace
    >>> space = Workspace()
    >>> space.empty("sums", (2, 3)).shape
    (2, 3)
    """

    def empty(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """Return an array with arbitrary contents, valid until this thread requests the same name again."""
        size = math.prod(shape)
        array: FloatArray | None = vars(self).get(name)
        if array is None or array.size < size:
            array = vars(self)[name] = np.empty(size)
        return array[:size].reshape(shape)
