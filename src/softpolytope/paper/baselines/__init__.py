"""The five baselines of the paper, each tuned by the paper's protocol.

`BASELINES` maps the paper's abbreviation, in lower case as in `paper_tables.json`, to a module whose function
`tune(X, y, seed, set_name)` tunes and fits the method on these rows alone. Three of the methods are estimators written
or wrapped here, and follow scikit-learn's conventions. This room needs the extra `paper`.
"""

from collections.abc import Mapping

from softpolytope.paper.baselines import (
    _adaptive_hyperplanes,
    _convex_polytope,
    _logistic_regression,
    _relevance_vectors,
    _support_vectors,
)
from softpolytope.paper.baselines._adaptive_hyperplanes import AdaptiveHyperplaneClassifier
from softpolytope.paper.baselines._common import Baseline, TunedBaseline
from softpolytope.paper.baselines._convex_polytope import ConvexPolytopeClassifier, TwoSidedPolytopeClassifier
from softpolytope.paper.baselines._relevance_vectors import RelevanceVectorClassifier

__all__ = [
    "BASELINES",
    "AdaptiveHyperplaneClassifier",
    "Baseline",
    "ConvexPolytopeClassifier",
    "RelevanceVectorClassifier",
    "TunedBaseline",
    "TwoSidedPolytopeClassifier",
]

BASELINES: Mapping[str, Baseline] = {
    "lr": _logistic_regression,
    "svm": _support_vectors,
    "rvm": _relevance_vectors,
    "amm": _adaptive_hyperplanes,
    "cpm": _convex_polytope,
}
