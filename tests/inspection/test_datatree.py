"""The posterior as a DataTree."""

import pytest
from sklearn.datasets import load_iris

from softpolytope import SumStackSoftplusClassifier

xarray = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("kind", ["binary", "three"])
def test_groups_and_shapes(kind):
    """Chains and draws are where ArviZ looks for them; every row has a log-likelihood."""
    X, y = load_iris(return_X_y=True)
    y = y if kind == "three" else (y == 1).astype(int)
    model = SumStackSoftplusClassifier(
        inference="gibbs", start="random", n_sweeps=40, max_experts=4, random_state=0
    ).fit(X, y)
    assert set(model.to_datatree().children) == {"posterior", "sample_stats"}
    tree = model.to_datatree(X, y)
    assert set(tree.children) == {"posterior", "sample_stats", "log_likelihood", "observed_data"}
    name = "y_class1_labelling0" if kind == "three" else "y_labelling0"
    assert tree["log_likelihood"][name].sizes == {"chain": 2, "draw": 20, "row": 150}
    assert len(tree["log_likelihood"].data_vars) == (6 if kind == "three" else 2)
    # Summed over the rows, it is the log-likelihood that the chain recorded, up to experts too light to keep.
    sums = tree["log_likelihood"][name].sum("row")
    recorded = tree["sample_stats"][name.replace("y_", "log_likelihood_")]
    assert sums.values == pytest.approx(recorded.values, abs=1e-6)
    with pytest.raises(ValueError, match="together"):
        model.to_datatree(X)
    with pytest.raises(ValueError, match="one of the classes"):
        model.to_datatree(X, y + 7)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")  # a short run of a small set
@pytest.mark.filterwarnings("ignore::FutureWarning")  # ArviZ 0.23 announces 1.0
def test_arviz_opens_it():
    """Leave-one-out cross-validation runs on it."""
    arviz = pytest.importorskip("arviz")
    X, y = load_iris(return_X_y=True)
    y = (y == 1).astype(int)
    model = SumStackSoftplusClassifier(
        inference="gibbs", start="random", n_sweeps=400, n_draws=200, max_experts=4, random_state=0
    ).fit(X, y)
    tree = model.to_datatree(X, y)
    try:
        loo = arviz.loo(tree, var_name="y_labelling0")
    except (TypeError, ValueError, AttributeError):  # ArviZ before 1.0 takes its own container
        data = arviz.InferenceData(**{name: group.to_dataset() for name, group in tree.children.items()})
        loo = arviz.loo(data, var_name="y_labelling0")
    assert -60.0 < float(loo.elpd_loo if hasattr(loo, "elpd_loo") else loo.elpd) < 0.0
