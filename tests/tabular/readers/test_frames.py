"""Data frames of several libraries and dicts of columns."""

import numpy as np
import pytest

from softpolytope.tabular import open_table


@pytest.mark.parametrize("library", ["pandas", "polars", "dict"])
def test_frames(library):
    """Data frames of two libraries, and plain dicts."""
    columns = {"n": [1.5, None, 3.0], "t": ["x", None, "y"], "b": [True, False, True]}
    frame = columns if library == "dict" else pytest.importorskip(library).DataFrame(columns)
    (chunk,) = open_table(frame).chunks()
    assert chunk.numbers("n").tolist()[::2] == [1.5, 3.0]
    assert np.isnan(chunk.numbers("n")[1])
    assert chunk.texts("t") == ["x", "", "y"]
    assert chunk.texts("b") == ["True", "False", "True"]


LONG = [1234567890123456789, 1234567890123456788, -(2**63), 7]


@pytest.mark.parametrize("library", ["pandas", "polars", "dict"])
def test_long_whole_numbers_keep_their_digits_in_frames(library):
    """As texts, though as numbers they are rounded."""
    frame = {"n": LONG} if library == "dict" else pytest.importorskip(library).DataFrame({"n": LONG})
    (chunk,) = open_table(frame).chunks()
    assert chunk.texts("n") == [str(number) for number in LONG]
    assert chunk.numbers("n")[0] == chunk.numbers("n")[1] == float(LONG[0])
    assert chunk.select([1]).texts("n") == ["1234567890123456788"]
