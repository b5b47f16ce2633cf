"""scikit-learn's own checks, on all four classifiers."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from softpolytope import (
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)

# Few sweeps, because the checks fit hundreds of times.
SHORT = {"inference": "gibbs", "start": "random", "n_sweeps": 40, "n_chains": 1}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        SoftplusClassifier(),
        SumSoftplusClassifier(),
        StackSoftplusClassifier(),
        SumStackSoftplusClassifier(),
        SoftplusClassifier(**SHORT),
        SumSoftplusClassifier(**SHORT, max_experts=8),
        StackSoftplusClassifier(**SHORT),
        SumStackSoftplusClassifier(**SHORT, max_experts=8),
    ]
)
def test_scikit_learn_checks(estimator, check):
    """No check fails, and none is expected to."""
    check(estimator)
