"""Standardized columns, and coefficients in the user's units."""

import numpy as np
import pytest
from scipy import sparse

from softpolytope.data._dataset import InMemoryDataset
from softpolytope.data._moments import Moments
from softpolytope.data._standardization import ColumnTransform, PartitionUnits, identity_transform, standardized_data


def dataset(rng, make=np.asarray):
    """Return weighted rows with an intercept, columns of different sizes and a constant column."""
    X = rng.normal(size=(50, 3)) * [1.0, 1e4, 0.0] + [5.0, 0.0, 3.0]
    design = np.column_stack([np.ones(50), X])
    return InMemoryDataset.from_arrays(make(design), rng.random(50) < 0.5, rng.integers(1, 4, 50).astype(float))


def test_dense_columns_get_mean_zero_and_variance_one(rng):
    """Constant columns become zero, and the intercept stays."""
    data, _ = standardized_data(dataset(rng))
    shares = data.row_weights / data.total_weight
    np.testing.assert_allclose(shares @ data.design, [1.0, 0.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(shares @ data.design**2, [1.0, 1.0, 1.0, 0.0], atol=1e-12)


def test_sparse_columns_keep_their_zeros(rng):
    """Sparse columns are not centered and get mean square one."""
    before = dataset(rng, sparse.csr_array)
    data, transform = standardized_data(before)
    assert data.design.nnz == before.design.nnz
    assert not transform.center.any()
    np.testing.assert_allclose(data.root_mean_square(), np.ones(4), atol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_transform_repeats_the_standardization(make, rng):
    """Applying the transform to the rows gives the standardized rows, except for constant columns."""
    before = dataset(rng, make)
    data, transform = standardized_data(before)
    dense = [
        rows.toarray() if sparse.issparse(rows) else rows for rows in (data.design, transform.apply(before).design)
    ]
    np.testing.assert_allclose(dense[0][:, :3], dense[1][:, :3], rtol=1e-9, atol=1e-12)
    assert identity_transform(4).apply(before) is before


def test_coefficients_survive_a_round_trip(rng):
    """Linear predictors are the same in both units, and the two directions are inverse."""
    before = dataset(rng)
    data, transform = standardized_data(before)
    coefficients = rng.normal(size=(2, 1, 4))
    original = transform.to_original(coefficients)
    np.testing.assert_allclose(transform.to_transformed(original), coefficients, rtol=1e-9)
    coefficients[..., 3] = 0.0  # of the constant column, which is zero inside
    original = transform.to_original(coefficients)
    np.testing.assert_allclose(before.design @ original[0, 0], data.design @ coefficients[0, 0], rtol=1e-9, atol=1e-9)


def test_overflowing_coefficients_raise():
    """The error names the column whose units are too small."""
    transform = ColumnTransform(np.zeros(3), np.array([1.0, 1.0, 1e-300]))
    with pytest.raises(ValueError, match="column 1 of X overflow"):
        transform.to_original(np.full((1, 1, 3), 1e30))


@pytest.mark.parametrize("is_sparse", [False, True])
def test_units_of_partitions_agree_with_memory(is_sparse, rng):
    """Center, scale and sizes from moments agree with those of rows in memory."""
    data = dataset(rng, sparse.csr_array if is_sparse else np.asarray)
    inside, transform = standardized_data(data)
    features = sparse.csr_array(data.design)[:, 1:] if is_sparse else data.design[:, 1:]
    moments = Moments.from_rows(features, data.row_weights)
    units = PartitionUnits.from_moments(moments, standardize=True, is_sparse=is_sparse)
    np.testing.assert_allclose(units.transform.scale, transform.scale, rtol=1e-9)
    np.testing.assert_allclose(units.transform.center, transform.center, rtol=1e-9, atol=1e-9)
    largest, size = units.sizes(moments)
    np.testing.assert_allclose(largest, inside.column_size(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(size, inside.root_mean_square(), rtol=1e-9, atol=1e-9)
