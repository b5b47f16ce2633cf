"""Bayesian classifiers whose decision regions are unions of soft convex polytopes."""

from importlib.metadata import version

from softpolytope.estimators.classifiers import (
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
    load_model,
)
from softpolytope.model.prior import Prior
from softpolytope.tabular.model import TableClassifier

__version__ = version("softpolytope")

__all__ = [
    "Prior",
    "SoftplusClassifier",
    "StackSoftplusClassifier",
    "SumSoftplusClassifier",
    "SumStackSoftplusClassifier",
    "TableClassifier",
    "__version__",
    "load_model",
]
