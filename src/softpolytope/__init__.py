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
from softpolytope.tabular.trusted import skops_trusted_types

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
    "skops_trusted_types",
]
