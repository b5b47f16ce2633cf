"""Types to trust in files of other libraries."""

import pickle
import pickletools

import pytest
from sklearn.datasets import make_moons

from softpolytope import Prior, SumSoftplusClassifier, TableClassifier, skops_trusted_types

QUICK = {"max_experts": 3, "random_state": 0}
X, Y = make_moons(80, noise=0.2, random_state=0)
TABLE = {"x": X[:, 0].tolist(), "side": ["up" if value > 0.0 else "down" for value in X[:, 1]], "y": Y.tolist()}
MODELS = {
    "modes": lambda: SumSoftplusClassifier(prior=Prior(), warm_start=True, **QUICK).fit(X, Y),
    "batches": lambda: SumSoftplusClassifier(**QUICK).partial_fit(X, Y, classes=[0, 1]),
    "chains": lambda: SumSoftplusClassifier(inference="gibbs", warm_start=True, n_sweeps=20, **QUICK).fit(X, Y),
    "table": lambda: TableClassifier(SumSoftplusClassifier(**QUICK)).fit(TABLE, "y"),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_types_of_a_model_are_listed(kind):
    """A fitted model is made of no other types of this library, as the names in its pickle show."""
    operations = pickletools.genops(pickle.dumps(MODELS[kind](), protocol=2))
    names = {str(name).replace(" ", ".") for code, name, _ in operations if code.name == "GLOBAL"}
    own = {name for name in names if name.startswith("softpolytope.")}
    assert own
    assert own <= set(skops_trusted_types())
