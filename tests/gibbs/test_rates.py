"""Latent rates of extreme shapes and scales."""

import numpy as np
import pytest
from scipy import special, stats

from softpolytope.gibbs._kernels import rates as _rates


def latent_rates(bits, shape, n_rows, log_scale, log_activation=-1e4, log_least=-np.inf):
    """Rates of the top level with a shape and a scale, drawn by the kernel."""
    ones, rates = np.ones((n_rows, 1)), np.empty((n_rows, 1))
    _rates.draw_rates(
        bits, 0.0 * ones, np.empty((0, 0)), ones[:, 0], np.array([shape]), log_scale * ones,
        log_activation * ones, 0.0 * ones, log_least, np.zeros(1, dtype=np.intc), rates, is_log=False,
    )  # fmt: skip
    return rates[:, 0]


def test_rates_above_small_activations_are_divided(rng):
    """A rate is theta q / max(epsilon, q), whose size decides whether there is one: no variate is drawn in vain."""
    shape, seed = 1e-3, int(rng.integers(2**63))
    bits, plain = np.random.Philox(seed), np.random.Generator(np.random.Philox(seed))
    rates = latent_rates(bits, shape, 2000, 900.0, -870.0, np.log(1e-6))
    for rate in rates:
        # The scale is 1 / q where the logit, 900 - 870, is large.
        log_power = -plain.standard_exponential() / shape
        log_rate = 870.0 + log_power - 870.0 - np.log(1e-6)
        if log_power < -800.0:
            assert rate == 0.0
        else:
            expected = plain.standard_gamma(1.0 + shape) * np.exp(log_rate)
            assert rate == pytest.approx(min(expected, 1e100), rel=1e-9, abs=1e-300)
    assert 0.2 < np.mean(rates == 0.0) < 0.7
    assert bits.random_raw() == plain.bit_generator.random_raw()


def test_rates_of_small_shapes_and_large_scales(rng):
    """A factor that underflows alone may not do so times its scale; level 1e-4, and cut off alone it is rejected.

    The chance of a gamma variate of so small a shape a to be below g is g^a / Gamma(1 + a), but for g near one.
    Rates below 1e-170 may be zero.
    """
    shape, log_scale, n_rows = 1e-3, 900.0, 20_000
    rates = latent_rates(np.random.Philox(int(rng.integers(2**63))), shape, n_rows, log_scale)

    def is_the_law(rates):
        share_below = np.exp(shape * (np.log(1e-170) - log_scale)) / special.gamma(1.0 + shape)
        below = stats.binomtest(int(np.sum(rates < 1e-170)), n_rows, share_below).pvalue
        inside = rates[(rates > 1e-170) & (rates < 1e99)]
        low, high, found = (np.exp(shape * np.log(bound)) for bound in (1e-170, 1e99, inside))
        return min(below, stats.kstest(found, stats.uniform(low, high - low).cdf).pvalue) > 0.5e-4

    assert is_the_law(rates)
    assert not is_the_law(np.where(rates < np.exp(log_scale - 800.0), 0.0, rates))
