"""Checks of parameters, and what follows from them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

from softpolytope import (
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 60, "max_experts": 4, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


BAD = [
    ({"max_experts": 0}, "max_experts must be an integer >= 1; got 0"),
    ({"max_experts": 2.5}, "max_experts must be an integer >= 1; got 2.5"),
    ({"n_layers": "3"}, "n_layers must be an integer >= 1; got '3'"),
    ({"n_chains": True}, "n_chains must be an integer >= 1; got True"),
    ({"n_sweeps": 1}, "n_sweeps must be an integer >= 2; got 1"),
    ({"n_burn_in": 60}, "n_burn_in must be from 0 to n_sweeps - 1; got 60 with n_sweeps=60"),
    ({"n_draws": 31}, "n_draws must be from 1 to the 30 sweeps after burn-in; got 31"),
    ({"inference": "nuts"}, "inference must be one of 'auto', 'gibbs', 'map'; got 'nuts'"),
    ({"scan": None}, "scan must be one of 'auto', 'paper', 'collapsed'; got None"),
    ({"estimate": "median"}, "estimate must be one of 'mean', 'best'; got 'median'"),
    ({"symmetric": 1}, "symmetric must be True or False; got 1"),
    ({"standardize": "yes"}, "standardize must be True or False; got 'yes'"),
    ({"prior": 3.0}, "prior must be a softpolytope.Prior or None; got 3.0"),
    ({"checkpoint": 5}, "checkpoint must be a folder, a CheckpointPlan or None; got 5"),
    ({"random_state": -1}, "random_state must be from 0 to 2\\*\\*32 - 1; got -1"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD)
def test_bad_parameters_are_named(parameters, message, moons):
    """With what was seen."""
    with pytest.raises(ValueError, match=message):
        SumStackSoftplusClassifier(**{**SHORT, **parameters}).fit(*moons)


CHAIN_OPTIONS = {"n_sweeps": 50, "n_chains": 3, "n_burn_in": 2, "n_draws": 4, "scan": "paper", "start": "random"}


@pytest.mark.parametrize("inference", ["auto", "map"])
def test_options_of_chains_are_not_ignored_in_silence(moons, inference):
    """Each that was given is named where modes are found, and why; with defaults nobody is warned."""
    X, y = moons
    model = SumSoftplusClassifier(inference=inference, max_experts=2, n_restarts=1, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    for name, value in CHAIN_OPTIONS.items():
        with pytest.warns(UserWarning, match=f"^{name} is not used: this fit finds modes.* Set inference=") as told:
            changed = clone(model).set_params(**{name: value}).fit(X, y)
        assert np.array_equal(changed.predict_proba(X), expected)
        assert ('inference="auto"' in str(told[0].message)) is (inference == "auto")
        assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="^n_sweeps, n_chains, n_burn_in, n_draws, scan and start are not used: "):
        clone(model).set_params(**CHAIN_OPTIONS).fit(X, y)


def test_options_of_modes_are_not_ignored_in_silence(moons):
    """Each that was given is named where chains are run, whoever chose them."""
    X, y = moons
    chains = {"n_sweeps": 4, "n_chains": 1, "max_experts": 2, "random_state": 0}
    for inference, rows in (("gibbs", slice(None)), ("auto", slice(40))):
        model = SumSoftplusClassifier(inference=inference, **chains).fit(X[rows], y[rows])
        expected = model.predict_proba(X)
        with pytest.warns(UserWarning, match="^n_restarts and bootstrap are not used: this fit draws") as told:
            changed = clone(model).set_params(n_restarts=7, bootstrap=True).fit(X[rows], y[rows])
        assert np.array_equal(changed.predict_proba(X), expected)
        assert ('inference="auto"' in str(told[0].message)) is (inference == "auto")


def test_batches_name_what_they_do_not_use(moons):
    """In the first call only."""
    X, y = moons
    model = SumSoftplusClassifier(max_experts=2, n_restarts=1, random_state=0, n_sweeps=50, bootstrap=True)
    with pytest.warns(UserWarning, match="^n_sweeps and bootstrap are not used: partial_fit updates modes") as told:
        model.partial_fit(X, y, classes=[0, 1])
    assert told[0].filename == __file__
    model.partial_fit(X, y)


@pytest.mark.filterwarnings("ignore:.* not used")
def test_auto_counts_rows_by_weight(moons):
    """Chains below fifty rows, modes from there on; copies and weights count alike, many light rows are many."""
    X, y = moons
    short = {"n_sweeps": 4, "n_chains": 1, "n_restarts": 1, "max_experts": 2, "random_state": 0}

    def inference_of(rows, weights=None, **parameters):
        model = SumStackSoftplusClassifier(**short, **parameters)
        return model.fit(X[rows], y[rows], sample_weight=weights).inference_

    assert inference_of(slice(0, 49)) == "gibbs"
    assert inference_of(slice(0, 50)) == "map"
    assert inference_of(slice(0, 30), np.full(30, 2.0)) == inference_of(np.repeat(np.arange(30), 2)) == "map"
    assert inference_of(np.repeat(np.arange(30), 2), np.full(60, 0.5)) == "gibbs"
    assert inference_of(slice(0, 200), np.full(200, 0.1)) == "map"
    assert inference_of(slice(0, 30), inference="map") == "map"
    assert inference_of(slice(0, 200), inference="gibbs") == "gibbs"
