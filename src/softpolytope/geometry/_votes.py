"""How many experts vote yes at a row, and how many criteria each of them finds met."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope.geometry._bounds import criterion_offsets, needed_rate
from softpolytope.geometry._regions import linear_predictors, log_contributions
from softpolytope.model import Draws


def n_yes(draw: Draws, X: Any, threshold: float = 0.5) -> NDArray[np.intp]:
    """Experts of a draw that alone lift P(y = 1) over the threshold, (rows,).

    With one layer these are the violated inequalities of theorem 2, with more the satisfied ones of theorem 5. Where it
    is not zero, P(y = 1) is above the threshold.
    """
    votes = log_contributions(draw, X) > np.log(needed_rate(threshold))
    return np.asarray(votes.sum(axis=0))


def n_criteria_met(draw: Draws, X: Any, threshold: float = 0.5) -> NDArray[np.intp]:
    """Criteria of eq. 21 that every expert finds met, (experts, rows); of the layers of a stack only a rough guide."""
    offsets = criterion_offsets(draw.expert_weights, threshold, draw.coefficients.shape[1])
    is_met = linear_predictors(draw.coefficients, X) > offsets[:, :, None]
    return np.asarray(is_met.sum(axis=1))
