"""Half-spaces, convex regions of experts, explanations and counterfactuals.

Everything here is a deterministic function of one draw of the parameters and follows from the paper's theorems 2 and
5. Regions are simplified by linear programs; counterfactuals are checked by the model itself. Nothing here knows about
estimators.
"""

from softpolytope.geometry._counterfactual import Bounds, Constraints, Counterfactuals, find_counterfactuals
from softpolytope.geometry._expert_regions import (
    TOO_WEAK,
    ExpertRegion,
    LabelingPolytopes,
    Polytopes,
    model_polytopes,
)
from softpolytope.geometry._explanation import Explanation, expert_columns, explain_rows
from softpolytope.geometry._half_spaces import (
    criterion_offsets,
    inequality,
    layer_derivatives,
    linear_predictors,
    n_criteria_met,
    n_yes,
    needed_rate,
    validate_probability,
)
from softpolytope.geometry._row_results import Columns
from softpolytope.geometry._support import representatives_in_words, rule_support

__all__ = [
    "TOO_WEAK",
    "Bounds",
    "Columns",
    "Constraints",
    "Counterfactuals",
    "ExpertRegion",
    "Explanation",
    "LabelingPolytopes",
    "Polytopes",
    "criterion_offsets",
    "expert_columns",
    "explain_rows",
    "find_counterfactuals",
    "inequality",
    "layer_derivatives",
    "linear_predictors",
    "model_polytopes",
    "n_criteria_met",
    "n_yes",
    "needed_rate",
    "representatives_in_words",
    "rule_support",
    "validate_probability",
]
