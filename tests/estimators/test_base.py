"""Fits of a classifier: continued, checkpointed, failed, and chains that disagree."""

import copy

import numpy as np
import pytest
from sklearn.datasets import make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from softpolytope import (
    Prior,
    SoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)
from softpolytope.exceptions import CheckpointError

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 60, "max_experts": 4, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


def test_warm_start_continues(moons):
    """More sweeps later are the sweeps of one long run, and their draws are added to those kept before."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SHORT, warm_start=True, n_draws=20).fit(X, y)
    assert model.predict_proba_draws(X).shape[0] == 80  # 20 a chain, two chains of each labeling
    model.set_params(n_sweeps=100).fit(X, y)
    assert model.predict_proba_draws(X).shape[0] == 160
    unbroken = SumStackSoftplusClassifier(**{**SHORT, "n_sweeps": 100}, n_burn_in=30).fit(X, y)
    for ours, theirs in zip(model.log_likelihood_, unbroken.log_likelihood_, strict=True):
        assert np.array_equal(ours, theirs)
    with pytest.warns(UserWarning, match="nothing to do"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="not the ones they sampled with"):
        model.set_params(n_sweeps=120).fit(X + 1.0, y)


def test_warm_start_keeps_to_its_model(moons):
    """Other parameters or columns are refused, also with nothing to do; with no chains kept it starts from scratch."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SHORT, warm_start=True).fit(X, y)
    before = model.predict_proba(X)
    for changed in (
        {"standardize": False},
        {"n_layers": 2},
        {"n_chains": 3},
        {"symmetric": False},
        {"prior": Prior(2.0)},
    ):
        other = copy.deepcopy(model).set_params(**changed)
        with pytest.raises(ValueError, match="rows, labels, weights or parameters"):
            other.fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.fit(np.column_stack([X, X]), y)
    with pytest.raises(ValueError, match="rows, labels, weights or parameters"):
        model.fit(X, 1 - y)
    assert np.array_equal(model.predict_proba(X), before)
    cold = SumStackSoftplusClassifier(**SHORT).fit(X, y).set_params(warm_start=True)
    with pytest.warns(UserWarning, match="starts from scratch"):
        cold.fit(X, y)


def test_warm_start_with_checkpoints(moons, tmp_path):
    """The first fit and the one that continues have files of their own: the same script again gives the same result."""
    X, y = moons

    def script():
        model = SumStackSoftplusClassifier(**SHORT, warm_start=True, checkpoint=tmp_path).fit(X, y)
        model.set_params(n_sweeps=80).fit(X, y)
        return model

    first = script()
    assert first.log_likelihood_[0].shape[1] == 80
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.npz")}
    assert np.array_equal(script().predict_proba(X), first.predict_proba(X))
    assert set(before) == set(tmp_path.rglob("*.npz"))
    with pytest.raises(ValueError, match="checkpoint needs an integer random_state"):
        SumStackSoftplusClassifier(inference="gibbs", checkpoint=tmp_path).fit(X, y)


def test_continued_chains_are_not_taken_for_fresh_ones(moons, tmp_path):
    """Thirty sweeps and then thirty more have the schedule of sixty, but other draws."""
    X, y = moons
    few = SHORT | {"n_sweeps": 30}
    warm = SumStackSoftplusClassifier(**few, warm_start=True, checkpoint=tmp_path / "warm").fit(X, y)
    warm.set_params(n_sweeps=60).fit(X, y)
    longer = SHORT | {"n_sweeps": 60}
    with pytest.raises(CheckpointError, match="other data, settings, start or seed"):
        SumStackSoftplusClassifier(**longer, checkpoint=tmp_path / "warm").fit(X, y)
    fresh = SumStackSoftplusClassifier(**longer, checkpoint=tmp_path / "fresh").fit(X, y)
    assert np.array_equal(fresh.predict_proba(X), SumStackSoftplusClassifier(**longer).fit(X, y).predict_proba(X))


def test_a_checkpoint_of_another_start_is_refused(moons, tmp_path):
    """Chains from random places are not those from modes."""
    X, y = moons
    SumStackSoftplusClassifier(**SHORT, checkpoint=tmp_path).fit(X, y)
    with pytest.raises(CheckpointError, match="other data, settings, start or seed"):
        SumStackSoftplusClassifier(**SHORT | {"start": "map"}, checkpoint=tmp_path).fit(X, y)


def test_diagnostics_after_another_inference(moons):
    """Chains after modes are diagnosed after their own burn-in."""
    X, y = moons
    model = SumStackSoftplusClassifier(max_experts=3, random_state=0, n_sweeps=1000, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match="starts from scratch"):
        model.set_params(inference="gibbs", n_sweeps=60, start="random").fit(X, y)
    assert model._n_burn_in == 30
    assert any("log-likelihood" in item.name for item in model.diagnostics())


def test_blocks_on_threads_can_go_on(moons):
    """The counts of the paper's scan are fetched from all blocks while there are threads for it."""
    X, y = moons
    few = {"scan": "paper", "n_chains": 1, "symmetric": False, "warm_start": True, "n_sweeps": 20}
    fits = [SumStackSoftplusClassifier(**SHORT | few, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 4)]
    for model in fits:
        model.set_params(n_sweeps=30).fit(X, y)
    assert np.array_equal(fits[0].predict_proba(X), fits[1].predict_proba(X))


def test_a_failed_fit_leaves_no_model(moons):
    """Nothing of the last fit answers for rows of another width."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SHORT).fit(X, y)
    wide = np.column_stack([X] * 30)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(wide, np.zeros(len(y)))
    with pytest.raises(NotFittedError):
        model.predict(wide)


def test_checkpoint_resumes(moons, tmp_path):
    """A fit that was stopped, and one that was not, end alike."""
    X, y = moons
    plain = SumStackSoftplusClassifier(**SHORT).fit(X, y)
    first = SumStackSoftplusClassifier(**SHORT, checkpoint=tmp_path / "c").fit(X, y)
    again = SumStackSoftplusClassifier(**SHORT, checkpoint=tmp_path / "c").fit(X, y)
    for model in (first, again):
        assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert len(list((tmp_path / "c").rglob("*.npz"))) == 4


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_disagreement_about_probabilities_is_a_warning(rng):
    """It has the largest R-hat of `diagnostics`; of well-mixed chains nothing is said (but of 1 % of them)."""
    X, y = make_circles(200, factor=0.35, noise=0.08, random_state=0)
    short = SumSoftplusClassifier(inference="gibbs", start="random", n_sweeps=24, max_experts=6, random_state=0)
    with pytest.warns(ConvergenceWarning, match="about the probabilities they predict") as caught:
        short.fit(X, y)
    worst = max(item.r_hat for item in short.diagnostics() if "probability" in item.name)
    assert f"R-hat is up to {worst:.2f}" in str(caught[0].message)
    assert caught[0].filename == __file__
    X = rng.standard_normal((100, 1))
    SoftplusClassifier(inference="gibbs", n_sweeps=400, random_state=0).fit(X, rng.random(100) < 0.5)


def test_disagreement_is_said_in_words(moons):
    """Chains too short to agree give a warning; diagnostics have R-hat and effective draws."""
    model = SumStackSoftplusClassifier(inference="gibbs", start="random", n_sweeps=100, random_state=0).fit(*moons)
    names = [item.name for item in model.diagnostics()]
    assert "log-likelihood, labeling 0" in names
    assert "number of experts, labeling 1" in names
    assert sum(name.startswith("probability at training row") for name in names) == 20  # ten of each labeling
    with pytest.warns(ConvergenceWarning, match="chains disagree about the log-likelihood"):
        SumStackSoftplusClassifier(inference="gibbs", start="random", n_sweeps=20, n_burn_in=0, random_state=0).fit(
            *moons
        )


SMALL = {"max_experts": 6, "inference": "map", "n_restarts": 3, "random_state": 0}


def test_warm_start_optimizes_further(moons):
    """On other rows too, from where it was."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SMALL, warm_start=True).fit(X, y)
    rates = model.precision_rates_[0]
    before = model.predict_proba(X)
    model.fit(X[:150], y[:150])
    assert np.array_equal(model.precision_rates_[0], rates)
    assert not np.array_equal(model.predict_proba(X), before)
    assert abs(model.predict_proba(X) - before).mean() < 0.1
    with pytest.raises(ValueError, match="which had n_restarts=3, but n_restarts is 2 now"):
        model.set_params(n_restarts=2).fit(X, y)


@pytest.mark.parametrize(
    "changes",
    [
        {"max_experts": 4},
        {"n_layers": 2},
        {"symmetric": False},
        {"n_restarts": 4},
        {"prior": Prior(precision_rate=1e-6)},
    ],
)
@pytest.mark.parametrize("what", ["warm_start", "partial_fit"])
def test_modes_of_another_model_do_not_go_on(changes, what, moons):
    """A changed parameter is named, not ignored."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SMALL, warm_start=True).fit(X[:60], y[:60]).set_params(**changes)
    with pytest.raises(ValueError, match=f"{what} continues .* had {next(iter(changes))}="):
        (model.fit if what == "warm_start" else model.partial_fit)(X[:60], y[:60])


def test_warm_start_with_columns_changed_in_another_way(moons):
    """Modes are the same hyperplanes, whether columns are standardized or not."""
    X, y = moons
    far = X + 100.0
    model = SumStackSoftplusClassifier(**SMALL, warm_start=True).fit(far, y)
    before = model.predict_proba(far)
    model.set_params(standardize=False, random_state=0).fit(far, y)
    assert abs(model.predict_proba(far) - before).mean() < 0.05


def test_warm_start_does_not_mix_chains_and_modes(moons):
    """It starts from scratch, and says so."""
    X, y = moons
    model = SumStackSoftplusClassifier(max_experts=3, n_members=2, random_state=0, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match="warm_start starts from scratch: the last fit had inference 'bootstrap'"):
        model.set_params(inference="gibbs", n_chains=1, n_sweeps=4, n_members=20).fit(X, y)
    assert model.inference_ == "gibbs"
