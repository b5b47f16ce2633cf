"""The hyperparameters."""

from dataclasses import fields
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from softpolytope.model._prior import Prior


@pytest.mark.parametrize("name", ["mass_shape", "mass_rate", "concentration_rate", "precision_shape", "precision_rate"])
@pytest.mark.parametrize(
    "value",
    [
        *(0.0, -1.0, float("nan"), float("inf"), "big", None, 0, -3, True, np.True_, 2 + 0j, np.array([2.0])),
        *(10**400, Fraction(1, 10**400), Fraction(-1, 2), Decimal(0), Decimal("Infinity"), Decimal("sNaN")),
    ],
    ids=lambda value: str(value)[:12],
)
def test_bad_values_are_named(name, value):
    """A hyperparameter that is not a finite positive number raises an error with its name."""
    with pytest.raises(ValueError, match=f"^{name} must be finite and > 0"):
        Prior(**{name: value})


def test_learned_rate_is_a_choice():
    """The precision rate may be a number or "learned"."""
    assert Prior(precision_rate="learned").precision_rate == "learned"
    assert Prior(precision_rate=1e-6).precision_rate == 1e-6


def test_prior_is_frozen():
    """Settings do not change."""
    with pytest.raises(AttributeError):
        Prior().mass_shape = 3.0


@pytest.mark.parametrize(
    "value",
    [6, np.int8(6), np.uint64(6), np.float32(6), np.float16(6), np.longdouble(6), Fraction(12, 2), Decimal("6.0")],
    ids=lambda value: type(value).__name__,
)
def test_numbers_of_any_type_become_floats(value):
    """Every hyperparameter is a Python float, so that equal priors are equal down to their repr."""
    names = [field.name for field in fields(Prior)]
    prior = Prior(**dict.fromkeys(names, value))
    assert all(type(getattr(prior, name)) is float for name in names)
    assert repr(prior) == repr(Prior(**dict.fromkeys(names, 6.0)))
