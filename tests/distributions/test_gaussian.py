"""Gaussian draws from a precision matrix and a linear term."""

import numpy as np
import pytest
from numpy.random import Generator, Philox

from softpolytope.distributions._kernels import gaussian as _gaussian


def draws(precision, linear, seed=0):
    """One draw of each expert, and which expert has none."""
    n_experts, n_columns = linear.shape
    out, scratch = np.full((n_experts, n_columns), np.nan), np.empty(n_columns * (n_columns + 4))
    failed = _gaussian.draw_gaussians(Philox(seed), precision, linear, out, scratch)
    return out, failed


# Around the four rows that are factorised together, and much wider.
@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 5, 8, 11, 23, 64, 130])
def test_draws_are_the_mean_and_a_factor_times_normals(n_columns, rng):
    """S^-1 h + (U D)^-1 z, with S = D U'U D and z the next normals of the stream, for columns of any scale."""
    rows, scale = rng.normal(size=(3, 2 * n_columns + 1, n_columns)), 10.0 ** rng.uniform(-6, 6, n_columns)
    precision = np.ascontiguousarray(rows.transpose(0, 2, 1) @ rows * np.outer(scale, scale))
    linear = rng.normal(size=(3, n_columns)) * scale
    found, failed = draws(precision, linear)
    assert failed == -1
    normals = Generator(Philox(0)).standard_normal((3, n_columns))
    for expert in range(3):
        unit = precision[expert] / np.outer(scale, scale)
        factor = np.linalg.cholesky(unit).T
        expected = np.linalg.solve(unit, linear[expert] / scale) + np.linalg.solve(factor, normals[expert])
        condition = np.linalg.cond(unit)
        assert found[expert] * scale == pytest.approx(expected, rel=1e-14 * condition, abs=1e-13 * condition)


def test_nearly_singular_precisions_are_repaired(rng):
    """A matrix of rank one is drawn from, once a little is added to its diagonal."""
    x = rng.normal(size=7)
    found, failed = draws(np.outer(x, x)[None], np.zeros((1, 7)))
    assert failed == -1
    assert np.isfinite(found).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 0.0])
def test_what_has_no_factor_is_told(value):
    """The first expert whose matrix is not one of precisions is named, those before it are drawn."""
    precision = np.stack([np.eye(5)] * 3)
    precision[1, 2, 2] = value
    found, failed = draws(precision, np.zeros((3, 5)))
    assert failed == 1
    assert np.isfinite(found[0]).all()


def test_an_indefinite_matrix_is_told():
    """Off the diagonal too."""
    precision = np.eye(6)[None].copy()
    precision[0, 1, 4] = precision[0, 4, 1] = 3.0
    assert draws(precision, np.zeros((1, 6)))[1] == 0
