"""Half-spaces, convex regions of experts, explanations and counterfactuals.

Everything here is a deterministic function of one draw of the parameters and follows from the paper's theorems 2 and
5. Regions are simplified by linear programs; counterfactuals are checked by the model itself. Nothing here knows about
estimators.
"""

from softpolytope.geometry._bounds import checked_probability, criterion_offsets, needed_rate
from softpolytope.geometry._counterfactual import Counterfactuals
from softpolytope.geometry._counterfactual_limits import Bounds, Constraints, find_counterfactuals
from softpolytope.geometry._counterfactual_search import Limits, nearest_points
from softpolytope.geometry._decision import Decision
from softpolytope.geometry._expert_regions import TOO_WEAK, ExpertRegion, LabelingPolytopes, Polytopes
from softpolytope.geometry._explain_rows import explain_rows, model_polytopes
from softpolytope.geometry._explanation import Explanation, expert_columns
from softpolytope.geometry._features import inequality
from softpolytope.geometry._regions import layer_slopes, linear_predictors
from softpolytope.geometry._tables import Columns, joined
from softpolytope.geometry._votes import n_criteria_met, n_yes
from softpolytope.geometry._wording import counted, in_deviations

__all__ = [
    "TOO_WEAK",
    "Bounds",
    "Columns",
    "Constraints",
    "Counterfactuals",
    "Decision",
    "ExpertRegion",
    "Explanation",
    "LabelingPolytopes",
    "Limits",
    "Polytopes",
    "checked_probability",
    "counted",
    "criterion_offsets",
    "expert_columns",
    "explain_rows",
    "find_counterfactuals",
    "in_deviations",
    "inequality",
    "joined",
    "layer_slopes",
    "linear_predictors",
    "model_polytopes",
    "n_criteria_met",
    "n_yes",
    "nearest_points",
    "needed_rate",
]
