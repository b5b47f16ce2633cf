"""scikit-learn's own checks, on all four classifiers."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from softpolytope import (
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)

# As constructed by default they sample where a check has fewer than fifty rows, which takes the checks half an hour:
# `benchmarks/estimator_checks.py` does that. Here both ways to fit are checked, chains with few sweeps and of the
# largest model only, and modes with few restarts and experts: the four differ in their numbers of experts and layers.
ONE = {"inference": "map", "n_restarts": 1}
TWO = {"inference": "map", "n_restarts": 2}
SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 20, "n_chains": 1, "max_experts": 4}

ESTIMATORS = [
    SoftplusClassifier(**TWO),
    SumSoftplusClassifier(**ONE, max_experts=2),
    StackSoftplusClassifier(**ONE),
    SumStackSoftplusClassifier(**ONE, max_experts=2, n_layers=2),
    SumStackSoftplusClassifier(**SHORT),
]


def make_case(estimator, check):
    """A case with its name; checks that fit in every sparse format are slow where a model is more than a hyperplane."""
    name = check.func.__name__
    is_sparse = name in ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
    takes_long = is_sparse and not isinstance(estimator, SoftplusClassifier)
    options = [f"{key}={value}" for key, value in check.keywords.items()]
    case_id = "-".join([type(estimator).__name__, estimator.inference, name, *options])
    return pytest.param(estimator, check, id=case_id, marks=[pytest.mark.slow] * takes_long)


CASES = [make_case(*case) for estimator in ESTIMATORS for case in estimator_checks_generator(estimator)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), CASES)
def test_scikit_learn_checks(estimator, check):
    """No check fails, and none is expected to."""
    check(estimator)
