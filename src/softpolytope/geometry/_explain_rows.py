"""Polytopes of a fitted model, and explanations of its predictions for rows."""

import numpy as np

from softpolytope.geometry._bounds import checked_probability
from softpolytope.geometry._expert_regions import LabelingPolytopes, Polytopes
from softpolytope.geometry._explanation import Explanation, expert_columns
from softpolytope.geometry._tables import Columns, joined
from softpolytope.geometry._votes import n_yes
from softpolytope.model import Design, Draws, FittedModel


def model_polytopes(model: FittedModel, threshold: float = 0.5) -> Polytopes:
    """Return the half-spaces of every expert of the best draws or modes."""
    threshold = checked_probability("threshold", threshold)
    found = [
        LabelingPolytopes(target, number, threshold, labeling.best, model.features, len(regression.labelings) == 2)
        for regression, targets in zip(model.posterior.regressions, model.targets, strict=True)
        for number, (labeling, target) in enumerate(zip(regression.labelings, targets, strict=False))
    ]
    return Polytopes(tuple(found))


def explain_rows(model: FittedModel, rows: Design, threshold: float = 0.5, level: float = 0.89) -> Explanation:
    """Explain the predictions for rows by the votes of experts; with posterior draws, also how certain they are."""
    level = checked_probability("level", level)
    parts = [expert_columns(item, rows) for item in model_polytopes(model, threshold)]
    totals = [part[1] for part in parts]
    if model.has_posterior_spread:
        for total, labeling in zip(totals, model.labelings, strict=True):
            total.update(_posterior_columns(labeling.draws, rows, threshold, level))
    features = model.features
    switches = frozenset(name for name, is_one in zip(features.names, features.is_switch, strict=True) if is_one)
    return Explanation(joined([part[0] for part in parts]), joined(totals), threshold, switches)


def _posterior_columns(draws: Draws, rows: Design, threshold: float, level: float) -> Columns:
    """Return intervals of the rates over draws, and the share of draws in which some expert votes yes."""
    tail = 0.5 * (1.0 - level)
    rates = draws.rate_function()(rows)
    low, high = np.quantile(rates, [tail, 1.0 - tail], axis=0)
    has_yes = np.zeros(rows.shape[0])
    for number in range(len(draws)):
        has_yes += n_yes(draws[number], rows, threshold) > 0
    return {"rate_low": low, "rate_high": high, "yes_share": has_yes / len(draws)}
