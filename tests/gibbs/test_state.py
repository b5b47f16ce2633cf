"""States of a chain: copies, deletion of experts, starts, and their invariants."""

from dataclasses import fields

import numpy as np
import pytest

from softpolytope.gibbs._state import InvalidStateError, check_state, initial_state, prior_state, state_at
from softpolytope.model import Prior

PRIOR = Prior(precision_shape=2.0, precision_rate=0.5)


def test_a_copy_shares_no_array(rng):
    """Changing every array of a state leaves its copy as it was."""
    state = prior_state(3, 2, 4, PRIOR, rng)
    before = state.copy()
    for item in fields(state):
        value = getattr(state, item.name)
        if isinstance(value, np.ndarray):
            kept = value.copy()
            value += 1.0
            assert np.array_equal(getattr(before, item.name), kept)


def test_deleted_experts_leave_every_array(rng):
    """The other experts keep their parameters."""
    state = prior_state(3, 2, 4, PRIOR, rng)
    before = state.copy()
    state.keep_experts(np.array([True, False, True]))
    assert (state.n_experts, state.n_layers) == (2, 2)
    for name in ("coefficients", "precisions", "precision_rates", "log_weights"):
        assert np.array_equal(getattr(state, name), getattr(before, name)[[0, 2]])


def test_a_start_is_filled_up_with_small_experts(rng):
    """The given experts come first; precisions are the means of their conditionals."""
    coefficients, log_weights = rng.normal(size=(2, 1, 3)), np.array([0.5, -0.5])
    state = state_at(coefficients, log_weights, 5, PRIOR, rng)
    assert np.array_equal(state.coefficients[:2], coefficients)
    assert state.log_weights.tolist() == [0.5, -0.5, -10.0, -10.0, -10.0]
    np.testing.assert_allclose(state.precisions, 2.5 / (0.5 + 0.5 * state.coefficients**2))
    check_state(state)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mass", -1.0, "mass must not be negative"),
        ("concentration", np.nan, "concentration must be finite"),
        ("coefficients", np.full((2, 1, 3), np.inf), "coefficients must be finite"),
        ("precisions", np.full((2, 1, 3), -1.0), "precisions must not be negative"),
        ("log_weights", np.array([0.0, np.nan]), "log_weights must be real or -inf"),
    ],
)
def test_invalid_states_are_named(name, value, message):
    """The parameter outside its range is in the message; a weight of zero is valid."""
    state = initial_state(2, 1, 3, PRIOR)
    state.log_weights[0] = -np.inf
    check_state(state)
    setattr(state, name, value)
    with pytest.raises(InvalidStateError, match=message):
        check_state(state)
