"""Geometry of fitted classifiers: polytopes, explanations and counterfactuals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from numpy.typing import ArrayLike

from softpolytope.data import validate_rows
from softpolytope.geometry import (
    Bounds,
    Constraints,
    Counterfactuals,
    Explanation,
    Polytopes,
    explain_rows,
    find_counterfactuals,
    model_polytopes,
)

if TYPE_CHECKING:
    from softpolytope.estimators._base import SoftplusBase


def polytopes(classifier: "SoftplusBase", threshold: float = 0.5, X: ArrayLike | None = None) -> Polytopes:
    """Return the half-spaces of every expert, in the user's units; print it to read it.

    The experts are those of one set of parameters. Of members of a bootstrap (the default) it is the representative of
    each labeling, a mode fitted to what all members predict together; the text says on how many held-out rows both
    representatives decide as the full model does. Of chains and plain modes it is the best draw or mode.

    Parameters
    ----------
    threshold : float
        The probability that counts as a yes.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
        Rows, with or without labels, on which to measure the support of each rule: the share of the members (or draws)
        of its labeling that have an expert with such a region. Regions are taken as the same if, of the rows for which
        either of the two experts votes yes, both vote yes for at least half. At most 2,000 evenly spaced rows are used.
        Plain modes have no support.

    Returns
    -------
    Polytopes
        One entry per labeling (and class) with `regions`, one per expert: `normals` and `offsets` of its layers,
        `faces()` that are guaranteed to contain its region, `in_words()`. `n_yes(X)` counts the experts that vote yes,
        `theorem` says what follows from it. `table()` has one line per expert. Of a model of one layer,
        `bounding_polytope()` holds all x with P <= threshold.

    Examples
    --------
    >>> from softpolytope import SumSoftplusClassifier
    >>> from softpolytope.datasets import make_circle
    >>> X, y = make_circle(300, random_state=0)
    >>> ring = SumSoftplusClassifier(symmetric=False, random_state=0).fit(X, y).polytopes()[0]
    >>> ring.bounding_polytope().is_bounded()
    True
    >>> print(ring.regions[0].in_words())  # doctest: +ELLIPSIS
    Expert 1, weight ...: votes yes where ...
    """
    return model_polytopes(classifier.model_, threshold, None if X is None else validate_rows(classifier, X))


def explain(classifier: "SoftplusBase", X: ArrayLike, threshold: float = 0.5, level: float = 0.89) -> Explanation:
    """Explain the prediction for each row: which experts voted yes, with what share, and what each vote depends on.

    The experts are those of `polytopes()`: of the representatives of a bootstrap (the default), or of the best draw or
    mode. With members or posterior draws, `rows` also shows how certain the posterior is, by quantities that do not
    require experts to be matched across draws.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows to explain.
    threshold : float
        The probability that counts as a yes.
    level : float
        Posterior probability of the intervals over members or draws.

    Returns
    -------
    Explanation
        Print it to read it. `table()` is tidy, one line per row and expert (a DataFrame where pandas is
        installed); `table("rows")` has one line per row and labeling; `[i]` is the explanation of one row, a slice
        that of several, and `in_words(i)` the text of one row.

    Examples
    --------
    >>> from softpolytope import SumSoftplusClassifier
    >>> from softpolytope.datasets import make_circle
    >>> X, y = make_circle(300, random_state=0)
    >>> model = SumSoftplusClassifier(symmetric=False, random_state=0).fit(X, y)
    >>> explanation = model.explain([[2.0, 1.0]])
    >>> explanation.rows["probability"].round(1).tolist()
    [1.0]
    >>> print(explanation.votes_in_words(0, max_experts=1)[0])  # doctest: +ELLIPSIS
    yes votes from ... of ... experts of the representative
    """
    return explain_rows(classifier.model_, validate_rows(classifier, X), threshold, level)


def counterfactual(
    classifier: "SoftplusBase",
    X: ArrayLike,
    target: object = None,
    *,
    bounds: Bounds | None = None,
    fixed: Sequence[str | int] = (),
    integer: Sequence[str | int] | Literal["auto"] = "auto",
    scale: ArrayLike | None = None,
) -> Counterfactuals:
    """Find the smallest change of each row after which the model predicts another class.

    The model is the one that predicts: all members of a bootstrap (the default) together, not their representative.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Rows to change.
    target : class label, optional
        The class to reach, by default any other than the predicted one; rows that have it already stay as they are.
    bounds : dict of feature to (lower, upper), or pair of arrays, optional
        Values that features may take, None or infinite for no bound. Features without a bound are searched as far
        as one width of the training rows' range beyond that range.
    fixed : sequence of feature names or numbers
        Features that must not change.
    integer : "auto" or sequence of feature names or numbers
        Features that become integers if they change: by default those that were integers in all training rows;
        `integer=()` is none. Among them, a feature with two neighboring values there, such as 0 and 1, keeps to these
        two unless it has bounds.
    scale : array-like of shape (n_features,), optional
        Units in which changes are measured, by default the training rows' standard deviations.

    Returns
    -------
    Counterfactuals
        Print it to read it. `points`, `changes`, `distances`, `is_found`; `table()`; `[i]` is the answer for one
        row, a slice that for several, and `in_words(i)` the text of one row. The model predicts the other
        class at every point. A point is certainly the nearest one if a single hyperplane decides; otherwise it is
        the nearest of many searches.

    Examples
    --------
    >>> from softpolytope import SumStackSoftplusClassifier
    >>> from softpolytope.datasets import make_circle
    >>> X, y = make_circle(300, random_state=0)
    >>> model = SumStackSoftplusClassifier(random_state=0).fit(X, y)
    >>> print(model.counterfactual([[0.5, 0.0]]))  # doctest: +ELLIPSIS
    Row 0: the prediction changes from 0 to 1 with x0 +0.6..., x1 -0... (0.6... standard deviations away).
    """
    rows = validate_rows(classifier, X)
    return find_counterfactuals(classifier.model_, rows, target, Constraints(bounds, fixed, integer, scale))
