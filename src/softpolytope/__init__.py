"""Bayesian classifiers whose decision regions are unions of soft convex polytopes."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

__version__ = version("softpolytope")

__all__ = [
    "CheckpointPlan",
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
    from softpolytope.estimators import (
        SoftplusClassifier,
        StackSoftplusClassifier,
        SumSoftplusClassifier,
        SumStackSoftplusClassifier,
    )
    from softpolytope.model import Prior
    from softpolytope.parallel import CheckpointPlan
    from softpolytope.tabular import TableClassifier, load_model, skops_trusted_types
else:
    # The room of each name, imported when the name is first used: `softpolytope --version` needs no scikit-learn.
    _ROOM_BY_NAME = {
        "CheckpointPlan": "parallel",
        "Prior": "model",
        "SoftplusClassifier": "estimators",
        "StackSoftplusClassifier": "estimators",
        "SumSoftplusClassifier": "estimators",
        "SumStackSoftplusClassifier": "estimators",
        "TableClassifier": "tabular",
        "load_model": "tabular",
        "skops_trusted_types": "tabular",
    }
    _ROOMS = {"datasets", "distributions", "estimators", "export", "geometry", "gibbs", "inspection", "model", "data"}
    _ROOMS |= {"exceptions", "optimize", "paper", "parallel", "report", "tabular"}

    def __getattr__(name):
        """Return a public name or a subpackage, imported now."""
        if name in _ROOMS:
            return import_module(f"softpolytope.{name}")
        if name not in _ROOM_BY_NAME:
            raise AttributeError(f"module 'softpolytope' has no attribute {name!r}")
        found = getattr(import_module(f"softpolytope.{_ROOM_BY_NAME[name]}"), name)
        globals()[name] = found
        return found

    def __dir__():
        """Return what a user may look for."""
        return sorted({*globals(), *__all__, *_ROOMS})
