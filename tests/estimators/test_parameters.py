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
    ({"n_layers": "3"}, "n_layers must be an integer >= 1 or \"auto\"; got '3'"),
    ({"n_chains": True}, "n_chains must be an integer >= 1; got True"),
    ({"n_sweeps": 1}, "n_sweeps must be an integer >= 2; got 1"),
    ({"n_burn_in": 60}, "n_burn_in must be from 0 to n_sweeps - 1; got 60 with n_sweeps=60"),
    ({"n_draws": 31}, "n_draws must be from 1 to the 30 sweeps after burn-in; got 31"),
    ({"inference": "nuts"}, "inference must be one of 'auto', 'bootstrap', 'gibbs', 'map'; got 'nuts'"),
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


OWN_OPTIONS = {"bootstrap": {"n_members": 2}, "map": {"n_restarts": 1}}
DOES = {"bootstrap": "bootstraps modes of the posterior", "map": "finds plain modes"}


@pytest.mark.parametrize("inference", ["auto", "bootstrap", "map"])
def test_options_of_chains_are_not_ignored_in_silence(moons, inference):
    """Each that was given is named where modes are found, and why; with defaults nobody is warned."""
    X, y = moons
    found = "bootstrap" if inference == "auto" else inference
    model = SumSoftplusClassifier(inference=inference, max_experts=2, random_state=0, **OWN_OPTIONS[found]).fit(X, y)
    assert model.inference_ == found
    expected = model.predict_proba(X)
    for name, value in CHAIN_OPTIONS.items():
        message = f'^{name} is not used: this fit {DOES[found]}.* Set inference="gibbs" to run chains'
        with pytest.warns(UserWarning, match=message) as told:
            changed = clone(model).set_params(**{name: value}).fit(X, y)
        assert np.array_equal(changed.predict_proba(X), expected)
        assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="^n_sweeps, n_chains, n_burn_in, n_draws, scan and start are not used: "):
        clone(model).set_params(**CHAIN_OPTIONS).fit(X, y)


@pytest.mark.parametrize(
    ("inference", "given", "message"),
    [
        ("bootstrap", {"n_restarts": 7}, 'n_restarts is not used: .* Set inference="map" to find plain modes'),
        ("auto", {"n_restarts": 7}, 'n_restarts is not used: .* Set inference="map" to find plain modes'),
        ("map", {"n_members": 7}, 'n_members is not used: .* Set inference="bootstrap" to bootstrap them'),
    ],
)
def test_options_of_other_modes_are_not_ignored_in_silence(moons, inference, given, message):
    """Members have no restarts, and plain modes no members."""
    X, y = moons
    own = OWN_OPTIONS["map" if inference == "map" else "bootstrap"]
    model = SumSoftplusClassifier(inference=inference, max_experts=2, random_state=0, **own, **given)
    with pytest.warns(UserWarning, match=message) as told:
        model.fit(X, y)
    assert told[0].filename == __file__
    assert len(model.posterior_.labelings[0].draws) == 1


def test_options_of_modes_are_not_ignored_in_silence(moons):
    """Each that was given is named where chains are run."""
    X, y = moons
    model = SumSoftplusClassifier(inference="gibbs", n_sweeps=4, n_chains=1, max_experts=2, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    message = "^n_members and bootstrap are not used: this fit runs chains that draw"
    with pytest.warns(UserWarning, match=message):
        changed = clone(model).set_params(n_members=3, bootstrap=True).fit(X, y)
    assert np.array_equal(changed.predict_proba(X), expected)
    with pytest.warns(UserWarning, match="^n_members and n_restarts are not used: this fit runs chains that draw"):
        clone(model).set_params(n_members=3, n_restarts=7).fit(X, y)


@pytest.mark.parametrize("inference", ["auto", "bootstrap", "map"])
def test_the_old_parameter_is_deprecated(moons, inference):
    """It gives `n_restarts` members per labeling, and says where the user called what to give instead."""
    X, y = moons
    small = {"max_experts": 2, "random_state": 0}
    with pytest.warns(FutureWarning, match='bootstrap=True is deprecated: give inference="bootstrap"') as told:
        old = SumSoftplusClassifier(inference=inference, n_restarts=2, bootstrap=True, **small).fit(X, y)
    assert told[0].filename == __file__
    assert old.inference_ == "bootstrap"
    new = SumSoftplusClassifier(n_members=4, **small).fit(X, y)
    assert np.array_equal(old.predict_proba_draws(X), new.predict_proba_draws(X))


def test_members_are_those_of_both_labelings(moons):
    """An odd number is rounded up; one labeling has all of them."""
    X, y = moons
    for n_members, is_symmetric, expected in ((3, True, [2, 2]), (4, True, [2, 2]), (3, False, [3])):
        model = SumSoftplusClassifier(max_experts=2, n_members=n_members, symmetric=is_symmetric, random_state=0)
        assert [len(labeling.draws) for labeling in model.fit(X, y).posterior_.labelings] == expected


def test_batches_name_what_they_do_not_use(moons):
    """In the first call only."""
    X, y = moons
    model = SumSoftplusClassifier(max_experts=2, n_members=2, random_state=0, n_sweeps=50, n_restarts=2)
    message = "^n_sweeps and n_restarts are not used: partial_fit updates modes"
    with pytest.warns(UserWarning, match=message) as told:
        model.partial_fit(X, y, classes=[0, 1])
    assert told[0].filename == __file__
    model.partial_fit(X, y)


@pytest.mark.parametrize("n_rows", [20, 49, 200])
def test_auto_bootstraps_any_number_of_rows(moons, n_rows):
    """Few or many, to the bits of `inference="bootstrap"`."""
    X, y = (item[:n_rows] for item in moons)
    models = [
        SumStackSoftplusClassifier(inference=inference, max_experts=2, n_members=2, random_state=0).fit(X, y)
        for inference in ("auto", "bootstrap")
    ]
    assert [model.inference_ for model in models] == ["bootstrap", "bootstrap"]
    assert np.array_equal(*(model.predict_proba_draws(X) for model in models))


def test_layers_are_chosen_on_held_out_rows(rng):
    """A disc takes more than one layer; a warm start keeps the choice."""
    X = rng.standard_normal((300, 2))
    kept = {"max_experts": 4, "n_members": 2, "n_layers": "auto", "random_state": 0}
    disc = SumStackSoftplusClassifier(**kept).fit(X, (X**2).sum(axis=1) < 1.0)
    assert disc.n_layers_ > 1
    with pytest.raises(ValueError, match="n_layers must be an integer >= 1 or \"auto\"; got 'many'"):
        SumStackSoftplusClassifier(n_layers="many").fit(X, X[:, 0] > 0.0)
    again = clone(disc).set_params(warm_start=True).fit(X, (X**2).sum(axis=1) < 1.0)
    assert again.fit(X, (X**2).sum(axis=1) < 1.0).n_layers_ == disc.n_layers_
