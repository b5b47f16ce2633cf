"""Names of the types that skops must trust to open a model of this library."""

from softpolytope.estimators import TYPES_OF_CLASSIFIERS
from softpolytope.tabular._classifier import TableClassifier
from softpolytope.tabular._encoder import CategoryColumn, NumericColumn, TableEncoder
from softpolytope.tabular._target import Target

_TYPES_OF_TABLES = (TableClassifier, CategoryColumn, NumericColumn, TableEncoder, Target)


def skops_trusted_types() -> list[str]:
    """Return the names of this library's types in a skops file of any of its models, for `skops.io` and MLflow.

    Opening one of them sets its fields and runs no code that a file could choose. Their contents are not checked, as
    `load_model` checks them.

    Examples
    --------
    >>> from softpolytope import skops_trusted_types
    >>> "softpolytope.model._prior.Prior" in skops_trusted_types()
    True
    """
    return sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in (*TYPES_OF_CLASSIFIERS, *_TYPES_OF_TABLES))
