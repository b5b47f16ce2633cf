"""Draws from the prior of fitted models; laws at a level of 1e-4, with controls that must be rejected."""

import numpy as np
import pytest
from model_fixtures import FIXTURES
from scipy import stats
from sklearn.datasets import load_iris, make_moons

from softpolytope import Prior, SoftplusClassifier, SumStackSoftplusClassifier, load_model
from softpolytope.gibbs._state import prior_state
from softpolytope.model import positive_probability

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LEVEL = 1e-4
PROPER = Prior(3.0, 1.5, 3.0, 2.0, 4.0, "learned")
CHAINS = {"inference": "gibbs", "start": "random", "n_sweeps": 4, "max_experts": 3, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 60 rows."""
    return make_moons(60, noise=0.2, random_state=0)


def simulated(prior, row, n_draws, rng):
    """P(y = 1) of a row under states that chains would be started from."""
    found = []
    for _ in range(n_draws):
        state = prior_state(3, 2, 3, prior, rng)
        predictor = state.coefficients @ np.array([[1.0], [row[0]], [row[1]]])
        found.append(positive_probability(predictor, np.exp(state.log_weights))[0])
    return np.array(found)


def test_draws_are_those_of_the_prior_of_chains(moons, rng):
    """P at a row has the law that the states of the sampler's own prior give it; under another prior it has not."""
    model = SumStackSoftplusClassifier(**CHAINS, n_layers=2, prior=PROPER, standardize=False, symmetric=False)
    model.fit(*moons)
    row = np.array([0.7, -1.2])
    drawn = model.sample_prior(row[None], n_draws=3000, random_state=1)[:, 0]
    assert stats.ks_2samp(drawn, simulated(PROPER, row, 3000, rng)).pvalue > LEVEL
    other = Prior(6.0, 1.5, 3.0, 2.0, 4.0, "learned")
    assert stats.ks_2samp(drawn, simulated(other, row, 3000, rng)).pvalue < LEVEL


def test_a_normal_prior_of_logistic_regression(moons):
    """With weight one and normal coefficients, the logit of P is normal, with the variance of x'beta."""
    normal = Prior(precision_shape=1e6, precision_rate=1e6)
    model = SoftplusClassifier(fit_weight=False, prior=normal, standardize=False, symmetric=False, random_state=0)
    drawn = model.fit(*moons).sample_prior([[2.0, 1.0]], n_draws=3000, random_state=2)[:, 0]
    logits = np.log(drawn / (1.0 - drawn))
    assert stats.kstest(logits, stats.norm(scale=np.sqrt(6.0)).cdf).pvalue > LEVEL
    assert stats.kstest(logits, stats.norm(scale=np.sqrt(2.0)).cdf).pvalue < LEVEL


def test_the_prior_is_that_of_standardized_columns(moons):
    """Other units and another origin change nothing; without standardization they do."""
    X, y = moons
    moved = 1000.0 * X + 50.0
    for standardize, is_same in ((True, True), (False, False)):
        model = SumStackSoftplusClassifier(**CHAINS, prior=PROPER, standardize=standardize)
        plain, other = (model.fit(rows, y).sample_prior(rows, n_draws=20, random_state=3) for rows in (X, moved))
        assert np.allclose(plain, other, atol=1e-9) == is_same


def test_the_labelings_are_a_mixture(moons):
    """The second half of the draws, those of the flipped labels, has the law of the first half, flipped."""
    model = SumStackSoftplusClassifier(**CHAINS, prior=PROPER).fit(*moons)
    drawn = model.sample_prior(moons[0][:1], n_draws=4001, random_state=4)[:, 0]
    first, second = drawn[:2001], drawn[2001:]
    assert stats.ks_2samp(first, 1.0 - second).pvalue > LEVEL
    assert stats.ks_2samp(first, second).pvalue < LEVEL


def test_modes_have_the_rates_of_their_restarts(moons):
    """A draw has the precision rate of a restart: loose rates give steep boundaries."""
    model = SumStackSoftplusClassifier(random_state=0, inference="map", n_restarts=2).fit(*moons)
    assert model.prior_[0].precision_rate == "learned"
    rows = moons[0]
    steepness = []
    for rate in (1e-3, 1e3):
        model.precision_rates_[0][:] = rate
        drawn = model.sample_prior(rows, n_draws=200, random_state=5)
        steepness.append(np.abs(drawn[:, 0] - drawn[:, 1]).mean())
    assert steepness[1] > 3.0 * steepness[0]


def test_three_classes_and_saved_models(tmp_path):
    """Probabilities of three classes sum to one; a loaded model gives the same bits; an integer makes a seed."""
    X, y = load_iris(return_X_y=True)
    model = SumStackSoftplusClassifier(**CHAINS, prior=PROPER).fit(X, y)
    drawn = model.sample_prior(X[:5], n_draws=8, random_state=6)
    assert drawn.shape == (8, 5, 3)
    assert drawn.sum(axis=2) == pytest.approx(1.0)
    model.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").sample_prior(X[:5], n_draws=8, random_state=6), drawn)
    assert not np.array_equal(model.sample_prior(X[:5], n_draws=8), drawn)


def test_impossible_numbers_and_old_files(moons):
    """Errors say what was found; a file of an earlier version has no prior."""
    model = SumStackSoftplusClassifier(**CHAINS).fit(*moons)
    with pytest.raises(ValueError, match="at least 2, one for each labeling; got 1"):
        model.sample_prior(moons[0], n_draws=1)
    with pytest.raises(ValueError, match=r"n_draws must be an integer; got 2\.5"):
        model.sample_prior(moons[0], n_draws=2.5)
    old = load_model(FIXTURES / "gibbs.softpolytope")
    assert old.prior_ == [None]
    with pytest.raises(ValueError, match="does not know its prior"):
        old.sample_prior(np.zeros((1, old.n_features_in_)))
