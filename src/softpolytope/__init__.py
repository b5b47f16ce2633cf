"""Bayesian classifiers whose decision regions are unions of soft convex polytopes."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from softpolytope.estimators.classifiers import (
        SoftplusClassifier,
        StackSoftplusClassifier,
        SumSoftplusClassifier,
        SumStackSoftplusClassifier,
    )
    from softpolytope.model.prior import Prior
    from softpolytope.tabular.model import TableClassifier, load_model
    from softpolytope.tabular.trusted import skops_trusted_types
else:
    # The module of each name, imported when the name is first used: `softpolytope --version` needs no scikit-learn.
    _HOMES = {
        "Prior": "model.prior",
        "SoftplusClassifier": "estimators.classifiers",
        "StackSoftplusClassifier": "estimators.classifiers",
        "SumSoftplusClassifier": "estimators.classifiers",
        "SumStackSoftplusClassifier": "estimators.classifiers",
        "TableClassifier": "tabular.model",
        "load_model": "tabular.model",
        "skops_trusted_types": "tabular.trusted",
    }
    _ROOMS = {"datasets", "distributions", "estimators", "export", "geometry", "gibbs", "inspection", "model"}
    _ROOMS |= {"optimise", "paper", "parallel", "report", "tabular"}

    def __getattr__(name):
        """Return a public name or a subpackage, imported now."""
        if name in _ROOMS:
            return import_module(f"softpolytope.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'softpolytope' has no attribute {name!r}")
        found = getattr(import_module(f"softpolytope.{_HOMES[name]}"), name)
        globals()[name] = found
        return found

    def __dir__():
        """Return what a user may look for."""
        return sorted({*globals(), *__all__, *_ROOMS})
