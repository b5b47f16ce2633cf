"""Encoded rows of a partition."""

import numpy as np
import pytest

from softpolytope.data import RowEncoding


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16, bool])
@pytest.mark.parametrize("n_rows", [0, 1, 70])
def test_dense_rows_are_centered_and_divided(kind, n_rows, rng):
    """Columns of any type are standardized to the bits of NumPy's operations."""
    X = (10.0 * rng.standard_normal((n_rows, 5))).astype(kind)
    y = rng.integers(0, 2, n_rows)
    center = np.concatenate([[0.0], rng.standard_normal(5)])
    scale = np.concatenate([[1.0], rng.gamma(2.0, size=5)])
    is_constant = np.array([False, False, True, False, False, False])
    ready = RowEncoding(np.arange(2), np.ones(2), center, scale, np.ones(6), is_constant).encode((X, y, None))
    expected = np.column_stack([np.ones(n_rows), (X.astype(np.float64) - center[1:]) / scale[1:]])
    expected[:, 2] = 0.0
    np.testing.assert_array_equal(ready.design, expected)
    np.testing.assert_array_equal(ready.codes, y)
