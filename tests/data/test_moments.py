"""Column moments: sums over partitions, extreme columns, integer columns."""

import numpy as np
import pytest
from scipy import sparse

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.data._moments import FeatureSummary, Moments, integer_columns, power_of_two


def table(rng, n_rows=60):
    """Return rows with an extreme, an integer and a constant column, and weights of which some are zero."""
    X = np.column_stack([rng.normal(size=n_rows), 1e180 * rng.normal(size=n_rows), rng.integers(0, 3, n_rows)])
    return np.column_stack([X, np.full(n_rows, 7.0)]), rng.integers(0, 3, n_rows).astype(float)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_moments_of_parts_add_up(make, rng):
    """The sum of the moments of parts agrees with the moments of all rows."""
    X, weights = table(rng)
    whole = Moments.from_rows(make(X), weights)
    parts = [Moments.from_rows(make(X[rows]), weights[rows]) for rows in (slice(0, 5), slice(5, 40), slice(40, 60))]
    total = parts[0] + parts[1] + parts[2]
    assert (total.n_given, total.n_rows, total.weight) == (whole.n_given, whole.n_rows, whole.weight)
    for name in ("mean", "deviation"):
        # The deviation of the constant column is a rounding error.
        found, expected = (getattr(moments, name) * moments.unit for moments in (total, whole))
        np.testing.assert_allclose(found[:3], expected[:3], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(total.lower, whole.lower)
    np.testing.assert_array_equal(total.upper, whole.upper)
    assert total.is_integer.tolist() == whole.is_integer.tolist() == [False, False, True, True]


def test_rows_without_weight_change_nothing(rng):
    """Moments of no rows are neutral, and a factor of zero removes all weight."""
    X, weights = table(rng)
    whole, nothing = Moments.from_rows(X, weights), Moments.from_rows(X, np.zeros(len(X)))
    total = whole + nothing
    np.testing.assert_array_equal(total.mean, whole.mean)
    np.testing.assert_array_equal(total.square, whole.square)
    assert total.n_rows == whole.n_rows
    assert whole.times(0.0).weight == 0.0
    assert whole.times(2.0).weight == 2.0 * whole.weight


def test_summaries_from_rows_and_from_moments_agree(rng):
    """The summary of features is the same from rows in memory and from moments."""
    X, weights = table(rng)
    design = np.column_stack([np.ones(len(X)), X])
    rows = FeatureSummary.from_rows(InMemoryDataset.from_arrays(design, rng.random(len(X)) < 0.5, weights))
    moments = FeatureSummary.from_moments(Moments.from_rows(X, weights))
    assert rows.weight == moments.weight
    for name in ("mean", "deviation", "lower", "upper"):
        np.testing.assert_allclose(getattr(rows, name), getattr(moments, name), rtol=1e-9, atol=1e-12)
    assert rows.is_integer.tolist() == moments.is_integer.tolist()


def test_powers_of_two_are_for_extreme_sizes():
    """Ordinary sizes are left alone, extreme ones get a power of two near them, and zero gets zero."""
    assert power_of_two(np.array([0.0, 1e-3, 1.0, 1e20])).tolist() == [0.0, 1.0, 1.0, 1.0]
    scale = power_of_two(np.array([1e200, 1e-200]))
    assert ((np.array([1e200, 1e-200]) / scale >= 1.0) & (np.array([1e200, 1e-200]) / scale < 2.0)).all()


def test_integer_columns_depend_on_their_scale():
    """A column of halves is integer after it was divided by one half, and numbers from 2^53 on are not."""
    X = np.array([[0.5, 1.0, 2.0**53], [1.5, 2.5, 1.0]])
    assert integer_columns(X).tolist() == [False, False, False]
    assert integer_columns(X, np.array([2.0, 2.0, 1.0])).tolist() == [True, True, False]
