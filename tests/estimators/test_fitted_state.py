"""A fitted model answers for how it was fitted, whatever its parameters are set to afterwards."""

from copy import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

from softpolytope import SumStackSoftplusClassifier, load_model
from softpolytope.export._archive import read_archive, write_archive
from softpolytope.inspection.displays import DecisionDisplay
from softpolytope.report._summary import ReportOptions, summarize_model

X, y = make_moons(120, noise=0.2, random_state=0)
NARROW = "much narrower than the posterior"


@pytest.fixture(scope="module")
def plain():
    """Plain modes."""
    return SumStackSoftplusClassifier(max_experts=4, inference="map", n_restarts=2, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def bootstrapped(plain):
    """Bootstrapped modes."""
    return clone(plain).set_params(inference="bootstrap", n_restarts=5, n_members=4).fit(X, y)


def test_bootstrap_is_that_of_the_fit(plain, bootstrapped):
    """Setting the parameter after `fit` changes neither warnings, nor explanations, nor the report."""
    plain, bootstrapped = after_fit(plain, inference="bootstrap"), after_fit(bootstrapped, inference="map")
    assert (plain.bootstrap_, bootstrapped.bootstrap_) == (False, True)
    with pytest.warns(UserWarning, match=NARROW):
        plain.predict_uncertainty(X)
    bootstrapped.predict_uncertainty(X)
    assert "rate_low" not in plain.explain(X[:2]).rows
    assert "rate_low" in bootstrapped.explain(X[:2]).rows
    assert [
        summarize_model(model, X, y, ReportOptions()).model.has_posterior_spread for model in (plain, bootstrapped)
    ] == [
        False,
        True,
    ]


def after_fit(model, **parameters):
    """A copy with other parameters set after the fit."""
    return copy(model).set_params(**parameters)


def test_batches_are_as_the_fit_was(plain, bootstrapped):
    """`partial_fit` moves members under weights of their own, and plain modes with the same rows."""
    model = clone(bootstrapped).fit(X, y).set_params(inference="map").partial_fit(X, y)
    assert (model.bootstrap_, model.inference_) == (True, "bootstrap")
    model.predict_uncertainty(X)
    model = clone(plain).fit(X, y).set_params(inference="auto").partial_fit(X, y)
    assert (model.bootstrap_, model.inference_) == (False, "map")
    with pytest.warns(UserWarning, match=NARROW):
        model.predict_uncertainty(X)


def test_chains_are_not_bootstrapped():
    """Nor are they modes: the parameter has no part in what they say."""
    model = SumStackSoftplusClassifier(inference="gibbs", n_chains=1, n_sweeps=8, max_experts=2, random_state=0)
    assert model.fit(X, y).bootstrap_ is False
    model.predict_uncertainty(X)


def test_model_files_keep_it(plain, bootstrapped, tmp_path):
    """Files say how the model was fitted; in older ones, which do not, the parameter has to do."""
    for model, was in ((plain, False), (bootstrapped, True)):
        path = tmp_path / f"{was}.softpolytope"
        after_fit(model, inference="map" if was else "bootstrap").save(path)
        again = load_model(path)
        assert (again.bootstrap_, again.inference) == (was, "map" if was else "bootstrap")
        model.save(path)
        header, arrays = read_archive(path)
        assert header.pop("bootstrap") is was
        # Earlier versions knew bootstrapped modes by the parameter alone.
        header |= {"inference": "map", "parameters": header["parameters"] | {"bootstrap": was}}
        write_archive(path, header, arrays)
        assert load_model(path).bootstrap_ is was


CALLS = {
    "predict": lambda model: model.predict(X),
    "predict_proba": lambda model: model.predict_proba(X),
    "predict_log_proba": lambda model: model.predict_log_proba(X),
    "decision_function": lambda model: model.decision_function(X),
    "counterfactual": lambda model: model.counterfactual(X[:1]),
    "to_sql": lambda model: model.to_sql(["a", "b"]),
    "to_python_source": lambda model: model.to_python_source(),
    "to_onnx": lambda model: model.to_onnx(),
    "save": lambda model: model.save("nowhere"),
    "report": lambda model: summarize_model(model, X, y, ReportOptions()),
    "display": lambda model: DecisionDisplay.from_estimator(model, X, y),
}


@pytest.mark.parametrize("estimate", ["bogus", None, np.array(["mean", "best"])], ids=["bogus", "None", "array"])
@pytest.mark.parametrize("name", CALLS)
def test_estimate_is_checked_on_use(plain, name, estimate, tmp_path, monkeypatch):
    """It may be changed after `fit`, to "mean" or "best"; with anything else nothing is predicted or written."""
    monkeypatch.chdir(tmp_path)
    pytest.importorskip({"to_onnx": "onnx", "display": "matplotlib"}.get(name, "numpy"))
    with pytest.raises(ValueError, match="estimate must be one of 'mean', 'best'; got"):
        CALLS[name](after_fit(plain, estimate=estimate))
    assert list(tmp_path.iterdir()) == []


def test_estimate_of_a_lazy_prediction_is_checked_at_once(plain):
    """Before anything is computed."""
    array = pytest.importorskip("dask.array")
    model = after_fit(plain, estimate="bogus")
    with pytest.raises(ValueError, match="estimate must be one of 'mean', 'best'; got 'bogus'"):
        model.predict_proba(array.from_array(X))


def test_estimate_may_be_changed_after_fit(plain):
    """The other estimate is that of a model fitted with it."""
    best = clone(plain).set_params(estimate="best").fit(X, y).predict_proba(X)
    assert np.array_equal(after_fit(plain, estimate="best").predict_proba(X), best)
    assert not np.array_equal(plain.predict_proba(X), best)
