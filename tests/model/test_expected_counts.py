"""Means of the latent counts against a simulation of the generative model."""

import numpy as np
import pytest
from checks import LEVEL, mean_pvalue

from softpolytope.distributions import crt
from softpolytope.model._expected_counts import expected_counts

N_SIMULATED = 400_000
WEIGHTS = np.array([0.6, 1.5])
PREDICTOR = np.array([[0.5, -0.4, 0.3], [-1.0, 0.6, 0.2]])


def simulated_counts(predictor, weights, rng):
    """Counts (experts, levels, rows) of rows drawn from the model of MATH section 1, those with y = 1 only."""
    counts = []
    for beta, weight in zip(predictor, weights, strict=True):
        rates = [np.full(N_SIMULATED, weight)]
        for value in beta[::-1]:
            rates.append(rng.gamma(rates[-1]) * np.exp(value))
        levels = [rng.poisson(rates[-1])]
        for rate in rates[-2::-1]:
            levels.append(crt(levels[-1], np.maximum(rate, 1e-300), rng))
        counts.append(levels)
    counts = np.array(counts)
    return counts[:, :, counts[:, 0].sum(axis=0) > 0]


def test_means_are_those_of_the_model(rng):
    """Every expert and level has its mean (eight tests, a false alarm of 1e-4 each); a wrong model does not."""
    draws = simulated_counts(PREDICTOR, WEIGHTS, rng)
    right = expected_counts(PREDICTOR[:, :, None], WEIGHTS)[:, :, 0]
    wrong = expected_counts(PREDICTOR[:, :, None] + 0.05, WEIGHTS)[:, :, 0]
    for expert in range(2):
        for level in range(4):
            seen = draws[expert, level]
            assert mean_pvalue(seen, right[expert, level], seen.var()) > LEVEL
            assert mean_pvalue(seen, wrong[expert, level], seen.var()) < 1e-3 * LEVEL  # the test has teeth


def test_counts_do_not_grow_with_the_level(rng):
    """At any scale of the predictors, up to means that no double holds."""
    for scale in (0.1, 3.0, 50.0, 2000.0):
        counts = expected_counts(rng.normal(0.0, scale, (3, 6, 50)), rng.gamma(1.0, size=3))
        assert not np.isnan(counts).any()
        assert (counts[:, :-1] >= counts[:, 1:]).all()


def test_top_counts_add_up_to_at_least_one(rng):
    """A positive row has one count at least, also where the rate underflows."""
    for shift in (-2000.0, -50.0, 0.0, 50.0):
        top = expected_counts(rng.normal(shift, 1.0, (3, 2, 20)), np.array([0.3, 2.0, 1e-8]))[:, -1].sum(axis=0)
        assert (top >= 1.0 - 1e-12).all()
    far = expected_counts(np.full((2, 1, 1), -2000.0), [1.0, 3.0])
    np.testing.assert_allclose(far[:, -1, 0], [0.25, 0.75], rtol=1e-12)


def test_no_weight_has_no_counts():
    """Experts without weight count nothing, even if all are."""
    assert (expected_counts(np.ones((2, 2, 3)), [0.0, 1.0])[0] == 0.0).all()
    assert (expected_counts(np.ones((2, 2, 3)), [0.0, 0.0]) == 0.0).all()


def test_shapes_are_checked():
    """Errors are those of the rate."""
    with pytest.raises(ValueError, match="expert_weights"):
        expected_counts(np.ones((2, 2, 3)), [1.0])
