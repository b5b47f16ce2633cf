"""Agreement of the rules of a representative with all members, and the support of each rule."""

import numpy as np

from softpolytope._format import format_count
from softpolytope._typing import BoolArray, FloatArray, IndexArray
from softpolytope.geometry._half_spaces import log_contributions, needed_rate
from softpolytope.model import Design, Draws, FittedModel

# Two regions agree if this share of the rows in either of them is in both (their Jaccard index).
MIN_OVERLAP = 0.5
# More rows than these make the support no more precise than the members do; they are evenly spaced among all.
MAX_ROWS = 2000


def representatives_in_words(model: FittedModel) -> list[str]:
    """Say that rules are those of representatives, and how they agree with all members, one sentence per regression.

    Empty unless the model has members of a bootstrap.
    """
    found = []
    for regression, (target, _) in zip(model.posterior.regressions, model.targets, strict=True):
        if regression.agreement is None:
            continue
        start = "These rules" if len(model.targets) == 1 else f"The rules of {target!r}"
        found.append(
            f"{start} decide {format_share(regression.agreement)} of held-out rows as the full model of "
            f"{format_count(regression.n_draws, 'member')} does."
        )
    return found


def format_share(share: float) -> str:
    """Format a share as a percentage with one digit, which is 100.0 only if nothing is missing.

    Examples
    --------
    >>> format_share(0.984), format_share(0.9999), format_share(1.0)
    ('98.4 %', 'more than 99.9 %', '100.0 %')
    """
    return "more than 99.9 %" if 0.9995 <= share < 1.0 else f"{100.0 * share:.1f} %"


def rule_support(best: Draws, draws: Draws, X: Design, threshold: float) -> FloatArray:
    """Return for each expert of `best` the share of draws with an expert whose region agrees with its own, (experts,).

    Regions agree if half of the rows for which either expert votes yes have the yes votes of both. An expert that votes
    yes for none of the rows has no support that could be known: NaN.
    """
    chosen = np.unique(np.linspace(0, X.shape[0] - 1, min(X.shape[0], MAX_ROWS)).astype(np.intp))
    rows = X[chosen]
    own, others = _votes(best, rows, threshold), _votes(draws, rows, threshold)
    both = own.astype(np.float64) @ others.T.astype(np.float64)
    either = own.sum(axis=1)[:, None] + others.sum(axis=1) - both
    is_alike = both >= MIN_OVERLAP * np.maximum(either, 1.0)
    draw_of: IndexArray = np.repeat(np.arange(len(draws)), np.diff(draws.starts))
    has_one = np.zeros((len(own), len(draws)), dtype=bool)
    for expert in range(len(own)):
        has_one[expert, draw_of[is_alike[expert]]] = True
    return np.where(own.any(axis=1), has_one.mean(axis=1), np.nan)


def _votes(draws: Draws, X: Design, threshold: float) -> BoolArray:
    """Return whether each expert of all draws votes yes, (experts, rows)."""
    return np.asarray(log_contributions(draws, X) > np.log(needed_rate(threshold)))
