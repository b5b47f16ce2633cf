"""The scikit-learn classifiers.

This room checks parameters and data, starts inference and answers questions about a fitted model. It holds no formulas:
those are in `model`, `gibbs`, `optimize` and `geometry`. Users import the classifiers from `softpolytope` itself.
"""

from softpolytope.estimators._classifiers import (
    CLASSIFIERS,
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
)
from softpolytope.estimators._files import (
    classes_from,
    classifier_from,
    load_classifier,
    packed_classifier,
    plain_classes,
    register_model,
    write_model,
)
from softpolytope.estimators._parameters import MIN_ROWS_FOR_MODES
from softpolytope.estimators._trusted import TYPES_OF_CLASSIFIERS

__all__ = [
    "CLASSIFIERS",
    "MIN_ROWS_FOR_MODES",
    "TYPES_OF_CLASSIFIERS",
    "SoftplusClassifier",
    "StackSoftplusClassifier",
    "SumSoftplusClassifier",
    "SumStackSoftplusClassifier",
    "classes_from",
    "classifier_from",
    "load_classifier",
    "packed_classifier",
    "plain_classes",
    "register_model",
    "write_model",
]
