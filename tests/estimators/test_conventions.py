"""scikit-learn's own checks, on all four classifiers."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from softpolytope import (
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)

# As constructed by default they sample where a check has fewer than fifty rows, which takes the checks half an hour:
# `benchmarks/estimator_checks.py` does that. Here both ways to fit are checked, chains with few sweeps and of the
# largest model only, and all models but the smallest with few restarts: the four differ in their
# numbers of experts and layers.
MAP = {"inference": "map"}
FEW = {"inference": "map", "n_restarts": 2}
SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 40, "n_chains": 1}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        SoftplusClassifier(**MAP),
        SumSoftplusClassifier(**FEW),
        StackSoftplusClassifier(**FEW),
        SumStackSoftplusClassifier(**FEW),
        SumStackSoftplusClassifier(**SHORT, max_experts=8),
    ]
)
def test_scikit_learn_checks(estimator, check):
    """No check fails, and none is expected to."""
    check(estimator)
