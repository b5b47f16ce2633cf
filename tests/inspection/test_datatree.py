"""The posterior as a DataTree."""

import numpy as np
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
    model = SumStackSoftplusClassifier(n_sweeps=40, max_experts=4, random_state=0).fit(X, y)
    assert set(model.to_datatree().children) == {"posterior", "sample_stats"}
    tree = model.to_datatree(X, y)
    assert set(tree.children) == {"posterior", "sample_stats", "log_likelihood", "observed_data"}
    assert tree["log_likelihood"]["y"].sizes == {"chain": 2, "draw": 20, "row": 150}
    draws = model.predict_proba_draws(X)
    chances = draws[:, np.arange(150), y] if kind == "three" else np.where(y == 1, draws, 1 - draws)
    assert tree["log_likelihood"]["y"].values.reshape(40, 150) == pytest.approx(np.log(chances))
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
    model = SumStackSoftplusClassifier(n_sweeps=400, n_draws=200, max_experts=4, random_state=0).fit(X, y)
    tree = model.to_datatree(X, y)
    try:
        loo = arviz.loo(tree)
    except (TypeError, ValueError, AttributeError):  # ArviZ before 1.0 takes its own container
        loo = arviz.loo(arviz.InferenceData(**{name: group.to_dataset() for name, group in tree.children.items()}))
    assert -60.0 < float(loo.elpd_loo if hasattr(loo, "elpd_loo") else loo.elpd) < 0.0
