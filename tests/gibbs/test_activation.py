"""Linear predictors: every sum in its order, to the last bit."""

import numpy as np
import pytest
from products import SHAPES, one_by_one, thin

from softpolytope.gibbs._kernels import activation as _activation


@pytest.mark.parametrize(("n_rows", "n_columns", "n_experts"), SHAPES)
def test_predictors_add_columns_in_order(n_rows, n_columns, n_experts, rng):
    """x'beta has the bits of a plain loop over the columns, dense or sparse, whatever experts are asked for."""
    design = rng.normal(size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.7)
    coefficients = 10.0 ** rng.uniform(-8, 8, (n_columns, n_experts))
    expected = np.array([one_by_one(row, coefficients, n_experts) for row in design])
    dense, scattered, alone = (
        np.full((n_rows, n_experts), np.nan),
        np.full((n_rows, n_experts), np.nan),
        np.ones((n_rows, 1)),
    )
    _activation.predict_dense(design, coefficients, dense)
    _activation.predict_sparse(*thin(design), coefficients, scattered)
    _activation.predict_dense(design, np.ascontiguousarray(coefficients[:, -1:]), alone)
    assert np.array_equal(dense, expected)
    assert np.array_equal(scattered, expected)
    assert np.array_equal(alone[:, 0], expected[:, -1])


def test_another_order_has_other_bits(rng):
    """The control: the numbers are such that a library's product, which adds in another order, is told apart."""
    design, coefficients = rng.normal(size=(130, 23)), 10.0 ** rng.uniform(-8, 8, (23, 20))
    ours = np.empty((130, 20))
    _activation.predict_dense(design, coefficients, ours)
    backwards = np.empty((130, 20))
    _activation.predict_dense(
        np.ascontiguousarray(design[:, ::-1]), np.ascontiguousarray(coefficients[::-1]), backwards
    )
    assert not np.array_equal(ours, backwards)
    assert ours == pytest.approx(backwards, rel=1e-9, abs=1e-3)
