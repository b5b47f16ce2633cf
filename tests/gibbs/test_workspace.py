"""Arrays that threads write anew at every use."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from softpolytope.gibbs._workspace import Workspace


def test_names_and_threads_have_arrays_of_their_own():
    """What one writes the other does not see; a smaller shape is a part of what was there."""
    space = Workspace()
    large = space.empty("a", (3, 4))
    assert np.shares_memory(large, space.empty("a", (2, 2)))
    assert not np.shares_memory(large, space.empty("b", (3, 4)))
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(space.empty, "a", (3, 4)).result()
    assert not np.shares_memory(large, other)
    larger = space.empty("a", (5, 5))
    assert larger.shape == (5, 5)
    assert not np.shares_memory(large, larger)
