"""Representatives: one mode of each labeling in the place of all members."""

import numpy as np
import pytest
from optimize.searches import ring
from scipy.special import expit

from softpolytope.data import InMemoryDataset, identity_transform
from softpolytope.model import mean_log_odds
from softpolytope.optimize._fit import DEFAULT_PRIOR, approximate_posterior, find_modes
from softpolytope.optimize._mode import FoundMode, Mode, ModeSettings, ModesResult, poisson_rates
from softpolytope.optimize._representative import _agreement, nearest_members

BOTH = (0, 1)
SETTINGS = ModeSettings(4, 1, DEFAULT_PRIOR, 6, bootstrap=True)


@pytest.fixture(scope="module")
def data():
    """A hundred and sixty rows of a ring."""
    return InMemoryDataset.from_arrays(*ring())


@pytest.fixture(scope="module")
def result(data):
    """Six members of each labeling."""
    return find_modes(data, SETTINGS, 0, BOTH)


def log_odds_of(modes, data):
    """Return the pooled log odds of the modes of both labelings."""
    return mean_log_odds([np.stack([poisson_rates(mode, data) for mode in own]) for own in modes])


def test_representatives_decide_as_the_members(result, data):
    """On most rows; those of the opposite labels do not."""
    target = log_odds_of([[found.mode for found in own] for own in result.modes], data)
    other = find_modes(InMemoryDataset.from_arrays(data.design, ~data.labels), SETTINGS, 0, BOTH)
    for found, is_alike in ((result, True), (other, False)):
        together = log_odds_of([[mode.mode] for mode in found.representatives], data)
        assert (((together > 0.0) == (target > 0.0)).mean() > 0.85) == is_alike


def test_representatives_are_as_certain_as_members(result, data):
    """Nearer to all members than the nearest ones, though one labeling has no shape for the boundary of a ring."""
    target = expit(log_odds_of([[found.mode for found in own] for own in result.modes], data))
    nearest = nearest_members(result, data, BOTH)

    def divergence(modes):
        found = expit(log_odds_of([[mode] for mode in modes], data))
        return float((target * np.log(target / found) + (1.0 - target) * np.log((1.0 - target) / (1.0 - found))).mean())

    assert divergence([found.mode for found in result.representatives]) < divergence(nearest.modes)


def test_agreement_is_that_of_held_out_rows(result, data):
    """Nearly that of all rows, and not of rows whose decisions are turned around."""
    together = expit(log_odds_of([[found.mode] for found in result.representatives], data))
    target = expit(log_odds_of([[found.mode for found in own] for own in result.modes], data))
    overall = _agreement(together, target, data.row_weights)
    assert 0.0 < result.agreement <= 1.0
    # A fold has 32 of the rows.
    assert abs(result.agreement - overall) < 0.2
    assert _agreement(1.0 - together, target, data.row_weights) == pytest.approx(1.0 - overall)


def test_agreement_weighs_rows():
    """By their weights; where they all agree it is one, however the weights are rounded."""
    target, weights = np.array([0.9, 0.2, 0.7]), np.array([1.0, 2.0, 1.0])
    assert _agreement(np.array([0.7, 0.3, 0.3]), target, weights) == 0.75
    assert _agreement(np.array([0.3, 0.7, 0.3]), target, weights) == 0.0
    assert _agreement(np.zeros(0), np.zeros(0), np.zeros(0)) == 1.0
    rng = np.random.default_rng(0)
    for _ in range(200):
        found, uneven = rng.random(137), rng.gamma(0.3, size=137)
        assert _agreement(found, found, uneven) == 1.0


def test_the_nearest_member_is_found_in_each_labeling(data):
    """That with the probabilities of all together, where the others err to both sides."""

    def shifted(intercept, sign):
        mode = Mode(np.array([[[intercept, 2.0 * sign, 0.0]]]), np.zeros(1))
        return FoundMode(mode, 0.0, mode)

    modes = [[shifted(shift, sign) for shift in shifts] for shifts, sign in (((-3, 0, 3), 1.0), ((3, -3, 0), -1.0))]
    found = nearest_members(ModesResult(modes, np.ones((2, 3)), {}, is_complete=True), data, BOTH)
    assert found.modes[0] is modes[0][1].mode
    assert found.modes[1] is modes[1][2].mode
    assert found.agreement > 0.9


def test_the_posterior_predicts_with_representatives(result, data):
    """The estimate "best" is theirs, "mean" that of all members, and the pool is that of log odds."""
    posterior = approximate_posterior(result, identity_transform(data.n_columns), DEFAULT_PRIOR)
    assert (posterior.pool, posterior.agreement) == ("logarithmic", result.agreement)
    rows = np.ascontiguousarray(data.design[:, 1:])
    alone = expit(log_odds_of([[found.mode] for found in result.representatives], data))
    all_together = expit(log_odds_of([[found.mode for found in own] for own in result.modes], data))
    np.testing.assert_allclose(posterior.probabilities(rows, "best")[0], alone, rtol=1e-9)
    np.testing.assert_allclose(posterior.probabilities(rows, "mean")[0], all_together, rtol=1e-9)
    assert not np.allclose(alone, all_together, rtol=1e-3)


def test_plain_modes_have_none(data):
    """Their best draw is a mode, and the pool is linear."""
    plain = find_modes(data, ModeSettings(4, 1, DEFAULT_PRIOR, 2), 0, BOTH)
    assert (plain.representatives, plain.agreement) == ((), None)
    posterior = approximate_posterior(plain, identity_transform(data.n_columns), DEFAULT_PRIOR)
    assert (posterior.pool, posterior.agreement) == ("linear", None)
