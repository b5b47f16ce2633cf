"""Models in the files of skops and MLflow."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softpolytope import Prior, SumSoftplusClassifier, TableClassifier, skops_trusted_types

QUICK = {"max_experts": 3, "random_state": 0}


def fitted(kind, moons):
    """Models of every kind of fit, and rows for them."""
    X, y = moons
    if kind == "modes":
        return SumSoftplusClassifier(prior=Prior(), **QUICK).fit(X, y), X
    if kind == "batches":
        return SumSoftplusClassifier(**QUICK).partial_fit(X, y, classes=[0, 1]), X
    if kind == "three classes":
        return SumSoftplusClassifier(**QUICK).fit(X, np.array(["a", "b", "c"])[y + (X[:, 2] > 0.8)]), X
    if kind == "chains":
        chains = SumSoftplusClassifier(inference="gibbs", start="random", warm_start=True, n_sweeps=20, **QUICK)
        return chains.fit(X, y), X
    if kind == "pipeline":
        return make_pipeline(StandardScaler(), SumSoftplusClassifier(**QUICK)).fit(X, y), X
    table = {"x": X[:, 0].tolist(), "side": np.where(X[:, 1] > 0.0, "up", "down").tolist(), "y": y.tolist()}
    return TableClassifier(SumSoftplusClassifier(**QUICK)).fit(table, "y"), table


KINDS = ("modes", "batches", "three classes", "chains", "pipeline", "table")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_skops_round_trip(kind, moons):
    """The same probabilities, with no types to trust but those of this library."""
    skops = pytest.importorskip("skops.io")
    model, rows = fitted(kind, moons)
    data = skops.dumps(model)
    assert set(skops.get_untrusted_types(data=data)) <= set(skops_trusted_types())
    again = skops.loads(data, trusted=skops_trusted_types())
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_skops_file_goes_on(moons):
    """A model from a skops file takes up its chains and its batches as the model itself does."""
    skops = pytest.importorskip("skops.io")
    X, y = moons
    for kind in ("chains", "batches"):
        model, _ = fitted(kind, moons)
        again = skops.loads(skops.dumps(model), trusted=skops_trusted_types())
        for one in (model, again):
            _ = one.set_params(n_sweeps=40).fit(X, y) if kind == "chains" else one.partial_fit(X[:80], y[:80])
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_mlflow(moons, tmp_path):
    """MLflow saves in its default format, and loads what predicts the same."""
    sklearn_flavor = pytest.importorskip("mlflow.sklearn")
    model, X = fitted("modes", moons)
    path = str(tmp_path / "model")
    sklearn_flavor.save_model(model, path, skops_trusted_types=skops_trusted_types(), pip_requirements=[])
    again = sklearn_flavor.load_model(path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
