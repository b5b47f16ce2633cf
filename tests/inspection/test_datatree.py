"""The posterior as ArviZ takes it."""

import warnings
from dataclasses import replace
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris

from softpolytope import SumStackSoftplusClassifier
from softpolytope.inspection import _datatree as datatree
from softpolytope.inspection._leave_one_out import labeling_logs

xarray = pytest.importorskip("xarray")
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto"),  # a short run of a small set
    pytest.mark.filterwarnings("ignore:The inplace keyword"),  # of pandas, which ArviZ 0.23 uses
]


def group_names(data):
    """Return the names of the groups of a DataTree or InferenceData."""
    return set(data.children if isinstance(data, xarray.DataTree) else data.groups())


@pytest.fixture(scope="module", params=["binary", "three"])
def fitted(request):
    """A classifier of two or three classes, its rows and its labels."""
    X, y = load_iris(return_X_y=True)
    y = y if request.param == "three" else (y == 1).astype(int)
    model = SumStackSoftplusClassifier(
        inference="gibbs", start="random", n_sweeps=40, max_experts=4, random_state=0
    ).fit(X, y)
    return model, X, y


@pytest.fixture(scope="module")
def arviz():
    """ArviZ, if it is installed; 0.23 announces 1.0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("arviz")


def test_groups_and_shapes(fitted):
    """Chains and draws have the dimensions ArviZ expects; every row has a log-likelihood by both labelings."""
    model, X, y = fitted
    assert group_names(model.to_datatree()) == {"posterior", "sample_stats"}
    tree = model.to_datatree(X, y)
    predictive = {"log_likelihood", "posterior_predictive", "prior", "prior_predictive", "observed_data"}
    assert group_names(tree) == {"posterior", "sample_stats"} | predictive
    logs = tree["log_likelihood"]
    assert list(logs.data_vars) == ["y"]
    assert logs["y"].sizes == {"chain": 4, "draw": 20, "row": 150}
    assert logs["labeling"].values.tolist() == [0, 0, 1, 1]
    assert tree["posterior"].sizes == {"chain": 2, "draw": 20}
    for name in ("posterior_predictive", "prior_predictive"):
        assert tree[name]["y"].sizes == logs["y"].sizes
        assert set(np.unique(tree[name]["y"])) <= set(np.unique(y))
    assert tree["prior"].sizes == tree["posterior"].sizes
    assert set(tree["prior"].data_vars) < set(tree["posterior"].data_vars)
    assert np.array_equal(tree["observed_data"]["y"], y)
    with pytest.raises(ValueError, match="together"):
        model.to_datatree(X)
    with pytest.raises(ValueError, match="one of the classes"):
        model.to_datatree(X, y + 7)


def test_log_likelihood_is_that_of_the_chains(fitted):
    """The sum over rows equals what the chain recorded, up to experts too light to keep."""
    model, X, y = fitted
    for item in labeling_logs(model.posterior_, X, y):
        draws = model.posterior_.regressions[item.number].labelings[item.side].draws
        assert item.logs.sum(axis=1) == pytest.approx(draws.log_likelihood, abs=1e-6)


def test_predicted_labels_have_the_probabilities_of_the_draws(fitted):
    """Each draw's labels are drawn with its own probabilities, level 1e-4; with those of another row they are not."""
    model, X, y = fitted
    codes = np.asarray(model.to_datatree(X, y)["posterior_predictive"]["y"]).reshape(-1, len(y))
    given = model.predict_proba_draws(X)
    given = np.stack([1.0 - given, given], axis=2) if given.ndim == 2 else given
    for own, is_right in ((given, True), (given[:, ::-1], False)):
        # The log-likelihood of drawn labels is a sum of independent terms with known mean and variance.
        logs = np.log(np.maximum(own, 1e-12))
        mean = (own * logs).sum(axis=2)
        variance = (own * logs**2).sum(axis=2) - mean**2
        found = np.take_along_axis(logs, codes[..., None], axis=2)[..., 0]
        z = (found - mean).sum() / np.sqrt(variance.sum())
        assert (abs(z) < stats.norm.isf(0.5e-4)) == is_right
    again = np.asarray(model.to_datatree(X, y)["posterior_predictive"]["y"]).reshape(-1, len(y))
    assert np.array_equal(codes, again)


def test_a_model_without_prior_has_the_other_groups(fitted, monkeypatch):
    """Files of earlier versions do not say what the prior was."""
    model, X, y = fitted
    plain = replace(model.model_, priors=())
    monkeypatch.setattr(type(model), "model_", property(lambda _: plain))
    names = group_names(model.to_datatree(X, y))
    assert "posterior_predictive" in names
    assert not {"prior", "prior_predictive"} & names


def test_one_labeling_alone(arviz):
    """With symmetric=False, `y` is the log-likelihood itself, and ArviZ does not mistake its total for it."""
    X, y = load_iris(return_X_y=True)
    y = (y == 1).astype(int)
    model = SumStackSoftplusClassifier(
        inference="gibbs", start="random", symmetric=False, n_sweeps=40, max_experts=4, random_state=0
    ).fit(X, y)
    tree = model.to_datatree(X, y)
    sums = tree["log_likelihood"]["y"].sum("row").values
    assert sums == pytest.approx(tree["sample_stats"]["total_log_likelihood"].values, abs=1e-6)
    with pytest.raises((TypeError, ValueError), match=r"log.likelihood"):
        arviz.loo(model.to_datatree())  # without rows there is nothing to leave out


def test_arviz_takes_it(fitted, arviz):
    """Summaries, effective draws and leave-one-out need no conversion with any version of ArviZ."""
    model, X, y = fitted
    summary = arviz.summary(model.to_datatree())
    assert len(summary) == 2 * len(labeling_logs(model.posterior_, X, y))
    loo = arviz.loo(model.to_datatree(X, y))
    assert -60.0 < float(loo.elpd_loo if hasattr(loo, "elpd_loo") else loo.elpd) < 0.0
    compared = arviz.compare({"one": model.to_datatree(X, y), "two": model.to_datatree(X, y)})
    assert len(compared) == 2
    pit = np.asarray(arviz.loo_pit(model.to_datatree(X, y), y="y"))
    assert pit.shape == (150,)
    assert ((pit >= 0.0) & (pit <= 1.0)).all()


@pytest.mark.parametrize("installed", ["1.0.0", None])
def test_without_an_old_arviz_it_is_a_datatree(fitted, installed, monkeypatch):
    """ArviZ 1.0 takes xarray's own DataTree, which is also the result without ArviZ."""

    def version(name):
        if installed is None:
            raise PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(datatree, "version", version)
    assert isinstance(fitted[0].to_datatree(), xarray.DataTree)


def test_netcdf_round_trip(fitted, tmp_path):
    """The extra `arviz` can write a file, and the file has every group."""
    model, X, y = fitted
    tree = model.to_datatree(X, y)
    tree.to_netcdf(str(tmp_path / "model.nc"))
    with xarray.open_datatree(tmp_path / "model.nc") as again:
        assert set(again.children) == group_names(tree)
        assert np.array_equal(again["log_likelihood"]["y"], tree["log_likelihood"]["y"])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_members_are_one_chain_of_each_labeling(n_classes, arviz):
    """In the order of `predict_proba_draws`; ArviZ summarizes them, and does not leave rows out."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model = SumStackSoftplusClassifier(max_experts=2, n_members=8, random_state=0).fit(X, y)
    assert group_names(model.to_datatree()) == {"posterior", "sample_stats"}
    tree = model.to_datatree(X, y)
    predictive = {"posterior_predictive", "prior", "prior_predictive", "observed_data"}
    assert group_names(tree) == {"posterior", "sample_stats"} | predictive
    assert tree["posterior"].sizes == {"chain": 1, "draw": 4}
    name = "n_experts_labeling1" if n_classes == 2 else "n_experts_class2_labeling1"
    labeling = model.posterior_.regressions[-1].labelings[1]
    assert tree["posterior"][name].values.tolist() == [labeling.draws.n_active.tolist()]
    drawn = tree["posterior_predictive"]
    assert drawn["y"].sizes == {"chain": 2, "draw": 4, "row": len(y)}
    assert drawn["labeling"].values.tolist() == [0, 1]
    # Labels that are drawn in 99 cases of 100 or more show that draws are in the order of the members.
    probabilities = model.predict_proba_draws(X)
    classes = np.stack([1.0 - probabilities, probabilities], axis=2) if n_classes == 2 else probabilities
    codes = drawn["y"].values.reshape(8, len(y))
    is_certain = classes.max(axis=2) > 0.99
    assert is_certain.sum() > 100
    # Of n such labels, at most a hundredth differ on average; 20 in 100 do with a probability below 1e-10.
    assert (codes == classes.argmax(axis=2))[is_certain].mean() > 0.8
    with pytest.raises(TypeError, match=r"[Ll]og.likelihood"):
        arviz.loo(tree)


def test_plain_modes_are_refused():
    """With what to do."""
    X, y = load_iris(return_X_y=True)
    model = SumStackSoftplusClassifier(inference="map", max_experts=2, n_restarts=1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r'inference="map".* Refit with inference="bootstrap"'):
        model.to_datatree()
