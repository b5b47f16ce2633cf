"""Classifiers in files and pickles."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_moons

from softpolytope import (
    SumStackSoftplusClassifier,
    load_model,
)

SMALL = {"max_experts": 6, "inference": "map", "n_restarts": 3, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Two half circles, 200 rows."""
    return make_moons(200, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    """A fit of them."""
    return SumStackSoftplusClassifier(**SMALL).fit(*moons)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol(fitted, moons, protocol):
    """The oldest protocols too, whose rules for slots are those of skops."""
    again = pickle.loads(pickle.dumps(fitted, protocol))  # noqa: S301
    assert np.array_equal(again.predict_proba(moons[0]), fitted.predict_proba(moons[0]))


def test_files_and_pickles(fitted, moons, tmp_path):
    """Predict the same."""
    X, _ = moons
    fitted.save(tmp_path / "model.softpolytope")
    again = load_model(tmp_path / "model.softpolytope")
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.inference_ == "map"
    pickled = pickle.dumps(fitted)
    assert len(pickled) < 60_000
    assert np.array_equal(pickle.loads(pickled).predict_proba(X), fitted.predict_proba(X))  # noqa: S301


@pytest.mark.parametrize("labels", [[3, 2**63 + 5], [True, False], ["yes", "no"], [1.0, -2.0]])
def test_labels_of_any_kind_are_saved(labels, moons, tmp_path):
    """Unsigned numbers past those with a sign too, and labels that are Python objects."""
    X, y = moons
    given = np.array(labels, dtype=np.uint64 if labels[0] == 3 else None)[y]
    model = SumStackSoftplusClassifier(**SMALL).fit(X, given)
    model.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict(X), model.predict(X))
    again = SumStackSoftplusClassifier(**SMALL).fit(X, given.astype(object))
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_labels_that_no_file_can_hold(moons, tmp_path):
    """NumPy drops a NUL at the end of a text: nothing is written that would be read as another label."""
    X, y = moons
    model = SumStackSoftplusClassifier(**SMALL).fit(X, np.array(["a\x00", "b"], dtype=object)[y])
    with pytest.raises(ValueError, match=r"cannot be saved.*a label would be another one"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_precision_rates_are_saved(fitted, tmp_path):
    """Those of every restart."""
    fitted.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").precision_rates_, fitted.precision_rates_)


def test_large_columns_are_saved(moons, tmp_path):
    """A model of columns as large as 1e200 can be read again, explained, and asked for counterfactuals."""
    X, y = moons
    large = np.column_stack([X * [1.0, 1e200], np.full(len(X), 1e200)])
    model = SumStackSoftplusClassifier(**SMALL).fit(large, y)
    model.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict_proba(large), model.predict_proba(large))
    with pytest.raises(ValueError, match="Row 0 of X has values so large"):
        model.predict_proba_draws(np.full((1, 3), 1.7e308))
