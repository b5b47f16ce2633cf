"""The geometry of a fitted classifier: polytopes, explanations, the nearest point on the other side."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from softpolytope.estimators._fitting import FittedRegression
from softpolytope.estimators._limits import checked_scale, limits_of, wanted_classes
from softpolytope.geometry import (
    Columns,
    Counterfactuals,
    Decision,
    Explanation,
    LabelingPolytopes,
    Limits,
    Polytopes,
    checked_probability,
    expert_columns,
    joined,
    n_yes,
    nearest_points,
)
from softpolytope.model import Draws, Features, Posterior


class GeometryMixin:
    """What the half-spaces of a fitted classifier say."""

    posterior_: Posterior
    classes_: NDArray[Any]
    estimate: Any  # an Estimate, checked on use
    _fits: list[FittedRegression]

    def _has_posterior_spread(self) -> bool:
        raise NotImplementedError

    def _validated_rows(self, X: Any) -> Any:
        raise NotImplementedError

    def _n_threads(self) -> int:
        raise NotImplementedError

    def _features(self) -> Features:
        """Names, sizes and ranges of the features."""
        return self._fits[0].features.named(getattr(self, "feature_names_in_", None))

    def _targets(self) -> list[list[Any]]:
        """The class that each labeling of each regression votes for; that of an opposite one may be a text."""
        classes = self.classes_.tolist()
        if len(classes) == 2:
            return [[classes[1], classes[0]]]
        return [[name, f"not {name}"] for name in classes]

    def polytopes(self, threshold: float = 0.5) -> Polytopes:
        """The half-spaces of every expert of the best draw or mode, in the user's units; print it to read it.

        Parameters
        ----------
        threshold : float
            The probability that counts as a yes.

        Returns
        -------
        Polytopes
            One entry per labeling (and class) with `regions`, one per expert: `normals` and `offsets` of its layers,
            `faces()` that hold its region for certain, `in_words()`. `n_yes(X)` counts the experts that vote yes,
            `theorem` says what follows from it. Of a model of one layer, `bounding_polytope()` holds all x with
            P <= threshold.

        Examples
        --------
        >>> from softpolytope import SumSoftplusClassifier
        >>> from softpolytope.datasets import make_circle
        >>> X, y = make_circle(300, random_state=0)
        >>> ring = SumSoftplusClassifier(symmetric=False, random_state=0).fit(X, y).polytopes()[0]
        >>> ring.bounding_polytope().is_bounded()
        True
        >>> print(ring.regions[0].in_words())  # doctest: +ELLIPSIS
        Expert ..., weight ...: yes where ... x1 ...
        """
        check_is_fitted(self)
        threshold = checked_probability("threshold", threshold)
        features = self._features()
        found = [
            LabelingPolytopes(target, number, threshold, labeling.best, features, len(regression.labelings) == 2)
            for regression, targets in zip(self.posterior_.regressions, self._targets(), strict=True)
            for number, (labeling, target) in enumerate(zip(regression.labelings, targets, strict=False))
        ]
        return Polytopes(tuple(found))

    def explain(self, X: ArrayLike, threshold: float = 0.5, level: float = 0.89) -> Explanation:
        """Why the model says what it says of each row: who voted yes, with what share, and on what each vote hangs.

        The experts are those of the best draw or mode. With posterior draws (`inference="gibbs"`, or `bootstrap=True`),
        `rows` also tells how sure the posterior is, by quantities that need no identity of experts across draws.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to explain.
        threshold : float
            The probability that counts as a yes.
        level : float
            Of the intervals over draws.

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
        >>> print(model.explain([[2.0, 1.0]]).in_words(most_experts=1))
        Row 0, class 1: P = 0.999 by labeling 0, yes from 1 of 4 experts (a yes alone lifts P over 0.5)
          expert 3: yes, share 90 %; 0.66 standard deviations beyond criterion 1 (x1 -0.761 would bring it there)
        """
        level = checked_probability("level", level)
        polytopes = self.polytopes(threshold)
        rows = self._validated_rows(X)
        parts = [expert_columns(item, rows) for item in polytopes]
        totals = [part[1] for part in parts]
        if self._has_posterior_spread():
            labelings = [item for regression in self.posterior_.regressions for item in regression.labelings]
            for total, labeling in zip(totals, labelings, strict=True):
                total.update(_over_draws(labeling.draws, rows, threshold, level))
        features = polytopes[0].features
        switches = frozenset(name for name, is_one in zip(features.names, features.is_switch, strict=True) if is_one)
        return Explanation(joined([part[0] for part in parts]), joined(totals), threshold, switches)

    def counterfactual(
        self,
        X: ArrayLike,
        target: Any = None,
        *,
        bounds: Any = None,
        fixed: Sequence[str | int] = (),
        integer: Sequence[str | int] | Literal["auto"] = "auto",
        scale: ArrayLike | None = None,
    ) -> Counterfactuals:
        """The smallest change of each row after which the model decides otherwise.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to change.
        target : class label, optional
            The class wanted, by default any but the one predicted; rows that have it already stay as they are.
        bounds : dict of feature to (lower, upper), or pair of arrays, optional
            What features may become, None or infinite for no bound. Features without a bound are searched as far as
            one width of the training rows' range beyond that range.
        fixed : sequence of feature names or numbers
            Features that must not change.
        integer : "auto" or sequence of feature names or numbers
            Features that, if they change, become whole numbers: by default those that were whole numbers in all
            training rows; `integer=()` is none. Of these, a feature that was one of two neighboring numbers there, such
            as 0 and 1, stays one of the two unless it has bounds.
        scale : array-like of shape (n_features,), optional
            What a change of each feature is measured in, by default the training rows' standard deviations.

        Returns
        -------
        Counterfactuals
            Print it to read it. `points`, `changes`, `distances`, `is_found`; `table()`; `[i]` is the answer for one
            row, a slice that for several, and `in_words(i)` the text of one row. Every point was given to the model
            again and is decided otherwise. That it is the nearest is certain where a single hyperplane decides; else it
            is the nearest of many searches.

        Examples
        --------
        >>> from softpolytope import SumStackSoftplusClassifier
        >>> from softpolytope.datasets import make_circle
        >>> X, y = make_circle(300, random_state=0)
        >>> model = SumStackSoftplusClassifier(random_state=0).fit(X, y)
        >>> print(model.counterfactual([[0.5, 0.0]]))
        Row 0 is 0; it would be 1 with x0 +0.609, x1 -0.362 (0.66 standard deviations away).
        """
        check_is_fitted(self)
        rows = self._validated_rows(X)
        if sparse.issparse(rows):
            raise ValueError("counterfactual takes dense rows; give the few rows in question as X.toarray().")
        features = self._features()
        if scale is not None:
            features = replace(features, scale=checked_scale(scale, len(features.names)))
        limits = limits_of(rows, features, bounds, fixed, integer)
        decision = Decision(self.posterior_, self.estimate, self._n_threads())
        codes = decision.codes(rows)
        wanted = wanted_classes(codes, self.classes_.tolist(), target)
        is_asked = ~wanted[codes, np.arange(len(codes))]
        points = rows.copy()
        if is_asked.any():
            part = Limits(limits.lower[is_asked], limits.upper[is_asked], limits.is_integer)
            points[is_asked] = nearest_points(decision, rows[is_asked], wanted[:, is_asked], part, features)
        distances = np.linalg.norm((points - rows) / features.scale, axis=1)
        distances = np.where(np.isnan(distances), np.inf, distances)
        reached = decision.codes(np.where(np.isfinite(distances)[:, None], points, rows))
        return Counterfactuals(
            rows,
            points,
            distances,
            self.classes_[codes],
            self.classes_[reached],
            features,
            np.arange(len(rows)),
        )


def _over_draws(draws: Draws, rows: Any, threshold: float, level: float) -> Columns:
    """What the draws of a labeling agree on, and how far."""
    tail = 0.5 * (1.0 - level)
    rates = draws.rate_function()(rows)
    low, high = np.quantile(rates, [tail, 1.0 - tail], axis=0)
    has_yes = np.zeros(rows.shape[0])
    for number in range(len(draws)):
        has_yes += n_yes(draws[number], rows, threshold) > 0
    return {"rate_low": low, "rate_high": high, "yes_share": has_yes / len(draws)}
