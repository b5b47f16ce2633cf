"""Sums and products of doubles with their exact rounding errors."""

from fractions import Fraction

import numpy as np

from softpolytope.model._double_double import two_product, two_sum


def is_exact(result, truth):
    """Whether value + rest is the exact result in every entry."""
    return [Fraction(value) + Fraction(rest) == exact for value, rest, exact in zip(*result, truth, strict=True)]


def test_sums_are_exact(rng):
    """Also where one term vanishes beside the other; the plain sum is not exact."""
    left, right = rng.normal(size=500), rng.normal(size=500) * 10.0 ** rng.uniform(-20, 20, 500)
    truth = [Fraction(a) + Fraction(b) for a, b in zip(left, right, strict=True)]
    assert all(is_exact(two_sum(left, right), truth))
    assert not all(is_exact((left + right, np.zeros(500)), truth))


def test_products_are_exact(rng):
    """For factors of any moderate size; the plain product is not exact."""
    left, right = rng.normal(size=500), rng.normal(size=500) * 10.0 ** rng.uniform(-20, 20, 500)
    truth = [Fraction(a) * Fraction(b) for a, b in zip(left, right, strict=True)]
    assert all(is_exact(two_product(left, right), truth))
    assert not all(is_exact((left * right, np.zeros(500)), truth))


def test_products_of_huge_factors_are_finite():
    """Where splitting overflows the plain product is returned."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = two_product(np.array([1e301]), np.array([3.0]))
    assert (result.value.tolist(), result.rest.tolist()) == ([3e301], [0.0])
