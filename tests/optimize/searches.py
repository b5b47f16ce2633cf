"""Searches that several test files compare."""

from itertools import chain, count

import numpy as np

from softpolytope.datasets import make_circle
from softpolytope.optimize._fit import DEFAULT_PRIOR
from softpolytope.optimize._mode import ModeSettings

SETTINGS = ModeSettings(6, 2, DEFAULT_PRIOR, n_restarts=3)


def ring(n_rows=160, seed=0):
    """Return a ring around a disc, as a design and labels."""
    X, y = make_circle(n_rows, random_state=seed)
    return np.column_stack([np.ones(len(y)), X]), y.astype(bool)


def assert_same(first, second):
    """Assert that two results are equal bit by bit."""
    assert np.array_equal(first.precision_rates, second.precision_rates)
    assert first.held_out_loss == second.held_out_loss
    for one, other in zip(chain(*first.modes), chain(*second.modes), strict=True):
        assert np.array_equal(one.mode.position(), other.mode.position())
        assert one.log_likelihood == other.log_likelihood


def stop_after(n_calls):
    """Return a callback that asks to stop from its n-th call on."""
    seen = count()
    return lambda _: next(seen) >= n_calls
