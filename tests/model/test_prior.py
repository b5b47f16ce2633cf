"""The hyperparameters."""

import pytest

from softpolytope.model.prior import Prior


@pytest.mark.parametrize("name", ["mass_shape", "mass_rate", "concentration_rate", "precision_shape", "precision_rate"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "big", None])
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
