"""Offsets of criteria against high precision and by what they mean."""

import mpmath
import numpy as np
import pytest

from softpolytope.geometry._bounds import criterion_offsets, log_expm1, needed_rate
from softpolytope.geometry._regions import log_contributions_at


def plain_offsets(weight, threshold, n_layers):
    """The recursions of g and h, as the paper has them, with 60 digits."""
    with mpmath.workdps(60):
        h = [(1 - mpmath.mpf(threshold)) ** (-1 / mpmath.mpf(weight)) - 1]
        g = [mpmath.mpf(1)]
        for _ in range(n_layers - 1):
            h.append(mpmath.exp(h[-1]) - 1)
            g.append(mpmath.log(1 + g[-1]))
        return [float(mpmath.log(a) - mpmath.log(b)) for a, b in zip(h[::-1], g, strict=True)]


@pytest.mark.parametrize("weight", [1e-2, 0.3, 1.0, 1e3])
@pytest.mark.parametrize("threshold", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("n_layers", [1, 2])
def test_offsets_follow_the_recursions(weight, threshold, n_layers):
    """log h - log g as printed."""
    expected = plain_offsets(weight, threshold, n_layers)
    np.testing.assert_allclose(criterion_offsets([weight], threshold, n_layers)[0], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n_layers", [1, 2, 4])
def test_one_layer_alone_reaches_the_threshold(n_layers):
    """At the offset, with all other predictors at zero, an expert just reaches the threshold."""
    offsets = criterion_offsets([2.0], 0.3, n_layers)[0]
    predictors = np.diag(offsets)[None]  # one row per layer
    reached = np.exp(log_contributions_at(predictors, np.array([2.0])))
    np.testing.assert_allclose(reached, needed_rate(0.3), rtol=1e-10)


def test_what_no_row_can_meet_is_infinite():
    """Towers beyond every double, and experts without weight, are +inf and no error."""
    offsets = criterion_offsets([0.1, 1e-6, 0.0], 0.5, 4)
    assert np.isinf(offsets[0, :2]).all()
    assert np.isinf(offsets[1, :3]).all()
    assert np.isinf(offsets[2]).all()
    assert np.isfinite(offsets[0, 2:]).all()


@pytest.mark.parametrize("value", [1e-300, 1e-8, 0.5, 29.9, 30.1, 800.0])
def test_log_expm1(value):
    """The inverse of softplus, at all sizes."""
    with mpmath.workdps(400):
        expected = float(mpmath.log(mpmath.expm1(mpmath.mpf(value))))
    np.testing.assert_allclose(log_expm1(value), expected, rtol=1e-13)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -1.0, 2.0, float("nan")])
def test_threshold_is_a_probability(threshold):
    """0, 1 and beyond are refused."""
    with pytest.raises(ValueError, match="threshold must be a number between 0 and 1, both excluded"):
        needed_rate(threshold)
