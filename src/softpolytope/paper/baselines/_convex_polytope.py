"""The convex polytope machine (CPM) of Kantchelian et al., NIPS 2014, and the paper's protocol for it.

A machine of K hyperplanes calls a row outer if any hyperplane does: its inner class lies in a convex polytope. It is
one-sided, so the paper runs it both ways. The published algorithm is followed; details it leaves open are those of the
authors' tool (github.com/alkant/cpm): a bias column of ones, weights from zero, a cost of one half for both classes, a
new order of the rows in each epoch, the last iterate as the model, and a penalty of 1 / (C n_steps).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils.validation import check_is_fitted

from softpolytope._typing import FloatArray
from softpolytope.paper._typing import Labels, Rows
from softpolytope.paper.baselines._common import (
    Seed,
    Splits,
    TunedBaseline,
    TwoClassMachine,
    check_positive,
    cross_validation_error,
    dense_with_bias,
    encode_two_classes,
    make_folds,
    search_rows,
)
from softpolytope.paper.baselines._polytope_descent import descend

Side = Literal["both", "first", "second"]

C_GRID = tuple(10.0**power for power in range(-4, 1))
HYPERPLANE_GRID = (1, 3, 5, 10, 20, 40, 60, 80, 100)
# Steps of the paper, in cross-validation and in training.
PAPER_STEPS = (10_000_000, 32_000_000)
# Divisor of these steps for sets of fewer rows than the bound; otherwise the six small sets would take hours more.
STEP_DIVISOR, MANY_ROWS = 20, 10_000
N_FOLDS = 3
# Sides whose scores are added up; the first wins a tie.
DECIDING: Mapping[Side, tuple[int, ...]] = {"both": (0, 1), "first": (0,), "second": (1,)}


class ConvexPolytopeClassifier(TwoClassMachine):
    """Classifier with one class outside a convex polytope and the other inside.

    Parameters
    ----------
    n_hyperplanes : int
        Maximum number of faces of the polytope.
    C : float
        The penalty of the squared norms is 1 / (C n_steps): with more steps, the same C is a weaker penalty.
    min_entropy : float
        h, the entropy in nats that the assignment of outer rows to hyperplanes should keep; zero for no bound.
    n_steps : int
        Steps of the stochastic descent, one row each.
    outer : {1, 0}
        Whether the second or the first of the classes lies outside.
    random_state : int or Generator, optional
        Seed of the order of the rows.

    Attributes
    ----------
    classes_ : ndarray (2,)
        The labels.
    hyperplanes_ : ndarray (n_hyperplanes, n_features + 1)
        The weights, the bias last; a row is outer where any of its scores is positive.

    Examples
    --------
    >>> from softpolytope.datasets import make_circle
    >>> from softpolytope.paper.baselines import ConvexPolytopeClassifier
    >>> X, y = make_circle(300, random_state=0)
    >>> model = ConvexPolytopeClassifier(n_hyperplanes=5, C=0.01, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        n_hyperplanes: int = 10,
        C: float = 1.0,
        min_entropy: float = 0.0,
        n_steps: int = 500_000,
        outer: int = 1,
        random_state: Seed = None,
    ) -> None:
        self.n_hyperplanes = n_hyperplanes
        self.C = C
        self.min_entropy = min_entropy
        self.n_steps = n_steps
        self.outer = outer
        self.random_state = random_state

    def fit(self, X: Rows, y: Labels) -> Self:
        """Learn from rows and their labels."""
        check_positive(n_hyperplanes=self.n_hyperplanes, C=self.C, n_steps=self.n_steps)
        if self.outer not in (0, 1):
            raise ValueError(f"outer must be 1 (the second class) or 0 (the first); got {self.outer!r}.")
        rows, is_second = self._validate_training(X, y)
        design = dense_with_bias(rows)
        sums = np.zeros((design.shape[1], self.n_hyperplanes))
        penalty, rng = 1.0 / (self.C * self.n_steps), np.random.default_rng(self.random_state)
        descend(design, is_second == self.outer, sums, penalty, float(self.min_entropy), int(self.n_steps), rng)
        self.hyperplanes_ = np.ascontiguousarray(sums.T)
        return self

    def decision_function(self, X: Rows) -> FloatArray:
        """Return the highest score of each row, with the opposite sign if the first class is the outer one."""
        design = dense_with_bias(self._validate(X))
        outside: FloatArray = (design @ self.hyperplanes_.T).max(axis=1)
        return outside if self.outer == 1 else -outside

    @property
    def n_experts_(self) -> int:
        """Number of hyperplanes."""
        return len(self.hyperplanes_)


class TwoSidedPolytopeClassifier(TwoClassMachine):
    """Two convex polytope machines, one for each outer class, of which one or both decide.

    Parameters
    ----------
    sides : pair of ConvexPolytopeClassifier
        The machines with the first and with the second class outside.
    deciding : {"both", "first", "second"}
        Machines whose decision functions are added up to label rows.

    Attributes
    ----------
    classes_ : ndarray (2,)
        The labels.
    sides_ : list of two ConvexPolytopeClassifier
        The fitted machines.
    """

    def __init__(self, sides: Sequence[ConvexPolytopeClassifier], deciding: Side = "both") -> None:
        self.sides = sides
        self.deciding = deciding

    def fit(self, X: Rows, y: Labels) -> Self:
        """Fit both machines."""
        if self.deciding not in DECIDING:
            raise ValueError(f"deciding must be one of {', '.join(DECIDING)}; got {self.deciding!r}.")
        self.sides_ = [clone(side).fit(X, y) for side in self.sides]
        self.classes_ = self.sides_[0].classes_
        return self

    def decision_function(self, X: Rows) -> FloatArray:
        """Return the sum of the deciding machines' scores."""
        check_is_fitted(self)
        return _combine([side.decision_function(X) for side in self.sides_], self.deciding)

    @property
    def n_experts_(self) -> int:
        """Number of hyperplanes of both sides, as the paper counts them."""
        return sum(side.n_experts_ for side in self.sides_)


@dataclass(frozen=True, slots=True)
class _SideParameters:
    """Tuned parameters of one side; C is that of the paper's number of steps."""

    C: float
    n_hyperplanes: int
    min_entropy: float = 0.0

    def machine(self, outer: int, seed: int, n_paper_steps: int, divisor: float) -> ConvexPolytopeClassifier:
        """Return an unfitted machine of fewer steps, with C larger by as much: the penalty is the paper's."""
        n_steps = int(n_paper_steps / divisor)
        return ConvexPolytopeClassifier(
            self.n_hyperplanes, self.C * divisor, self.min_entropy, n_steps, outer, random_state=seed
        )


def tune(X: Rows, y: Labels, seed: int, _set_name: str, divisor: float | None = None) -> TunedBaseline:
    """Tune each side on its own by three folds: C and K with h = 0, then h.

    For each C of 1e-4..1 the numbers of hyperplanes K are tried in order until the error rises; then h is chosen from
    0, log(K / 10), ..., log(9 K / 10). The paper's table counts both sides, and its counts arise only if each side has
    its own K. The paper does not say how the sides are combined into one label: the same folds choose between both and
    either one. The steps of the paper are divided by `divisor`, by default 20 for fewer than 10,000 rows, otherwise 1.
    """
    divisor = divisor or (STEP_DIVISOR if len(y) < MANY_ROWS else 1)
    splits = make_folds(y, N_FOLDS, seed)
    sides = [_tune_side(X, y, splits, outer, seed, divisor) for outer in (0, 1)]

    def machines(n_paper_steps: int) -> list[ConvexPolytopeClassifier]:
        return [side.machine(outer, seed, n_paper_steps, divisor) for outer, side in enumerate(sides)]

    scores = [
        cross_val_predict(machine, X, y, cv=splits, method="decision_function") for machine in machines(PAPER_STEPS[0])
    ]
    is_second = encode_two_classes(y)[1]
    errors = {side: np.mean((_combine(scores, side) > 0.0) != is_second) for side in DECIDING}
    deciding = min(errors, key=errors.__getitem__)
    estimator = TwoSidedPolytopeClassifier(machines(PAPER_STEPS[1]), deciding).fit(X, y)
    # Archived results have this name for the minimum entropy.
    chosen = [{"C": side.C, "n_hyperplanes": side.n_hyperplanes, "least_entropy": side.min_entropy} for side in sides]
    return TunedBaseline(estimator, estimator.n_experts_, {"sides": chosen, "deciding": deciding})


def _tune_side(X: Rows, y: Labels, splits: Splits, outer: int, seed: int, divisor: float) -> _SideParameters:
    """Return the parameters of one side with the lowest error in cross-validation."""

    def error(parameters: _SideParameters) -> float:
        machine = parameters.machine(outer, seed, PAPER_STEPS[0], divisor)
        return cross_validation_error(machine, X, y, splits)

    best, lowest = search_rows(([_SideParameters(C, k) for k in HYPERPLANE_GRID] for C in C_GRID), error)
    for tenths in range(1, 10):
        min_entropy = math.log(tenths * best.n_hyperplanes / 10.0)
        # An entropy is never negative, so only a positive bound has an effect.
        if min_entropy > 0.0:
            candidate = replace(best, min_entropy=min_entropy)
            best, lowest = min((best, lowest), (candidate, error(candidate)), key=lambda result: result[1])
    return best


def _combine(scores: Sequence[FloatArray], deciding: Side) -> FloatArray:
    """Return the sum of the scores of the deciding sides."""
    return np.asarray(np.sum([scores[side] for side in DECIDING[deciding]], axis=0))
