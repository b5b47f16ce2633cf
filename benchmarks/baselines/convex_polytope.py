"""The convex polytope machine (CPM) of Kantchelian et al., NIPS 2014, and the paper's protocol for it.

A machine of K hyperplanes calls a row outer if any hyperplane does: its inner class lies in a convex polytope. It is
one-sided, so the paper runs it both ways. The published algorithm is followed; where it is open, facts about the
authors' tool (github.com/alkant/cpm) decide: a bias column of ones, weights from zero, both classes cost one half, a
new order of the rows in each epoch, the last iterate as the model, and a penalty of 1 / (C n_steps).
"""

import math

import numpy as np
from numba import njit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from baselines._common import (
    TwoClassMachine,
    check_positive,
    coded,
    cross_validation_error,
    dense_with_bias,
    first_rise,
    folds,
)

C_GRID = tuple(10.0**power for power in range(-4, 1))
HYPERPLANE_GRID = (1, 3, 5, 10, 20, 40, 60, 80, 100)
# Steps of the paper, in cross-validation and in training.
PAPER_STEPS = (10_000_000, 32_000_000)
# By how much they are divided where there are fewer rows than this: else the six small sets would take hours more.
SHORTER, MANY_ROWS = 20, 10_000
N_FOLDS = 3
# Who labels a row; the first wins a tie.
DECIDING = {"both": (0, 1), "first": (0,), "second": (1,)}
# The tool trusts an entropy only when there are this many assigned rows for each hyperplane.
ROWS_PER_HYPERPLANE = 5


@njit(cache=True)
def _entropy_term(count, total):
    """-p log p of p = count / total."""
    share = count / total
    return -share * np.log(share) if share > 0.0 else 0.0


@njit(cache=True)
def _learner(scores, best, old, occupancy, least_entropy):
    """The hyperplane that learns from an outer row: the best one, unless that keeps the entropy below its bound."""
    n_hyperplanes, n_assigned = len(scores), occupancy.sum()
    if n_assigned < ROWS_PER_HYPERPLANE * n_hyperplanes:
        return best
    before, after = 0.0, 0.0
    for k in range(n_hyperplanes):
        before += _entropy_term(occupancy[k], n_assigned)
        after += _entropy_term(occupancy[k] + (k == best) - (k == old), n_assigned + (old < 0))
    if after >= least_entropy or after > before:
        return best
    # A move to a hyperplane with fewer rows raises the entropy; a first assignment does so where there are few.
    bound = occupancy[old] if old >= 0 else n_assigned / n_hyperplanes
    chosen = -1
    for k in range(n_hyperplanes):
        if occupancy[k] < bound and (chosen < 0 or scores[k] > scores[chosen]):
            chosen = k
    return chosen if chosen >= 0 else best


@njit(cache=True)
def _score(sums, x, scores):
    """Write the score of every hyperplane on a row."""
    scores[:] = 0.0
    for column in range(len(x)):
        for k in range(len(scores)):
            scores[k] += x[column] * sums[column, k]


@njit(cache=True)
def _add(sums, x, k, weight):
    """Add a weighted row to one hyperplane."""
    for column in range(len(x)):
        sums[column, k] += weight * x[column]


@njit(cache=True)
def _descend(design, is_outer, sums, penalty, least_entropy, n_steps, rng):
    """Pegasos steps of rate 1 / (penalty t) from zero.

    `sums` (columns, hyperplanes) are the weights times penalty * t: without decay, a step adds or subtracts half a
    row, and a margin of one is penalty * t.
    """
    n_hyperplanes = sums.shape[1]
    order = np.arange(len(design))
    scores, occupancy = np.zeros(n_hyperplanes), np.zeros(n_hyperplanes)
    assignment = np.full(len(design), -1)
    for step in range(n_steps):
        position = step % len(design)
        if position == 0:
            rng.shuffle(order)
        row = order[position]
        x, margin = design[row], penalty * (step + 1)
        _score(sums, x, scores)
        if not is_outer[row]:
            for k in range(n_hyperplanes):
                if scores[k] > -margin:
                    _add(sums, x, k, -0.5)
            continue
        best, old = np.argmax(scores), assignment[row]
        learner = _learner(scores, best, old, occupancy, least_entropy) if least_entropy > 0.0 else best
        if scores[learner] < margin:
            _add(sums, x, learner, 0.5)
        # The record is of the best hyperplanes, not of those that learn: the bound is on what prediction does.
        if old >= 0:
            occupancy[old] -= 1.0
        occupancy[best] += 1.0
        assignment[row] = best
    sums /= penalty * n_steps


class ConvexPolytopeClassifier(TwoClassMachine):
    """One class outside of a convex polytope, the other inside.

    Parameters
    ----------
    n_hyperplanes : int
        Faces of the polytope at most.
    C : float
        The penalty of the squared norms is 1 / (C n_steps): with more steps, the same C is a weaker penalty.
    least_entropy : float
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
    >>> X, y = make_circle(300, random_state=0)
    >>> model = ConvexPolytopeClassifier(n_hyperplanes=5, C=0.01, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(self, n_hyperplanes=10, C=1.0, least_entropy=0.0, n_steps=500_000, outer=1, random_state=None):
        self.n_hyperplanes = n_hyperplanes
        self.C = C
        self.least_entropy = least_entropy
        self.n_steps = n_steps
        self.outer = outer
        self.random_state = random_state

    def fit(self, X, y):
        """Learn from rows and their labels."""
        check_positive(n_hyperplanes=self.n_hyperplanes, C=self.C, n_steps=self.n_steps)
        if self.outer not in (0, 1):
            raise ValueError(f"outer must be 1 (the second class) or 0 (the first); got {self.outer!r}.")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, is_second = coded(y)
        design = dense_with_bias(X)
        sums = np.zeros((design.shape[1], self.n_hyperplanes))
        penalty, rng = 1.0 / (self.C * self.n_steps), np.random.default_rng(self.random_state)
        _descend(design, is_second == self.outer, sums, penalty, float(self.least_entropy), int(self.n_steps), rng)
        self.hyperplanes_ = np.ascontiguousarray(sums.T)
        return self

    def decision_function(self, X):
        """The highest score of a row, with its sign turned where the first class is the outer one."""
        check_is_fitted(self)
        design = dense_with_bias(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False))
        outside = (design @ self.hyperplanes_.T).max(axis=1)
        return outside if self.outer == 1 else -outside


class TwoSidedPolytopeClassifier(TwoClassMachine):
    """Two machines, one for each outer class, of which one or both decide.

    Parameters
    ----------
    sides : pair of ConvexPolytopeClassifier
        The machines with the first and with the second class outside.
    deciding : {"both", "first", "second"}
        Whose decision functions are added up to label rows.

    Attributes
    ----------
    classes_ : ndarray (2,)
        The labels.
    sides_ : list of two ConvexPolytopeClassifier
        The fitted machines.
    """

    def __init__(self, sides, deciding="both"):
        self.sides = sides
        self.deciding = deciding

    def fit(self, X, y):
        """Fit both machines."""
        if self.deciding not in DECIDING:
            raise ValueError(f"deciding must be one of {', '.join(DECIDING)}; got {self.deciding!r}.")
        self.sides_ = [clone(side).fit(X, y) for side in self.sides]
        self.classes_ = self.sides_[0].classes_
        return self

    def decision_function(self, X):
        """Sum over the deciding machines."""
        check_is_fitted(self)
        return sum(self.sides_[side].decision_function(X) for side in DECIDING[self.deciding])


def n_experts(estimator):
    """Hyperplanes of both sides, as the paper counts them."""
    return sum(len(side.hyperplanes_) for side in getattr(estimator, "sides_", [estimator]))


def tuned(X, y, seed, set_name, shorter=None):  # noqa: ARG001  # every baseline is called alike
    """The paper's protocol, for each side on its own: C and K with h = 0, then h, all by three folds.

    For each C of 1e-4..1 the numbers of hyperplanes K are tried in order until the error rises; then h is chosen from
    0, log(K / 10), ..., log(9 K / 10). The paper's table counts both sides, and its counts arise only if each side has
    its own K. How the sides make one label it does not say: the same folds choose between both and either one.

    Parameters
    ----------
    X, y, seed, set_name
        Training rows, their labels, the seed of folds and orders, and the name of the set.
    shorter : float, optional
        By how much to divide the paper's 10 million steps in cross-validation and 32 million in training; by default 20
        for fewer than 10,000 rows, else 1. C is multiplied by it, so the penalty 1 / (C n_steps) is the paper's.

    Returns
    -------
    estimator, dict
        Fitted to all rows; for each side C (on the paper's scale), n_hyperplanes and least_entropy, and who decides.
    """
    y = np.asarray(y)
    shorter = shorter or (SHORTER if len(y) < MANY_ROWS else 1)
    splits = folds(y, N_FOLDS, seed)
    found = [_tuned_side(X, y, splits, {"outer": outer, "random_state": seed}, shorter) for outer in (0, 1)]

    def machines(steps):
        return [
            ConvexPolytopeClassifier(
                **_scaled(side, shorter), n_steps=int(steps / shorter), outer=outer, random_state=seed
            )
            for outer, side in enumerate(found)
        ]

    scores = [_held_out_scores(machine, X, y, splits) for machine in machines(PAPER_STEPS[0])]
    is_second = coded(y)[1]
    errors = {who: np.mean((sum(scores[k] for k in DECIDING[who]) > 0.0) != is_second) for who in DECIDING}
    deciding = min(errors, key=errors.get)
    model = TwoSidedPolytopeClassifier(machines(PAPER_STEPS[1]), deciding).fit(X, y)
    return model, {"sides": found, "deciding": deciding}


def _held_out_scores(machine, X, y, splits):
    """The decision function on every row, learned from the other folds."""
    scores = np.empty(len(y))
    for seen, held in splits:
        scores[held] = machine.fit(X[seen], y[seen]).decision_function(X[held])
    return scores


def _scaled(chosen, shorter):
    """Parameters with C times `shorter`."""
    return {**chosen, "C": chosen["C"] * shorter}


def _tuned_side(X, y, splits, common, shorter):
    """The parameters of one side with the least error in cross-validation."""

    def error(**chosen):
        machine = ConvexPolytopeClassifier(**_scaled(chosen, shorter), **common, n_steps=int(PAPER_STEPS[0] / shorter))
        return cross_validation_error(machine, X, y, splits)

    results = []
    for C in C_GRID:
        n_hyperplanes, least = first_rise(HYPERPLANE_GRID, lambda value, C=C: error(C=C, n_hyperplanes=value))
        results.append((least, {"C": C, "n_hyperplanes": n_hyperplanes, "least_entropy": 0.0}))
    best = min(results, key=lambda result: result[0])
    for tenths in range(1, 10):
        least_entropy = math.log(tenths * best[1]["n_hyperplanes"] / 10.0)
        # An entropy is never negative: a bound of zero or less binds nothing.
        if least_entropy > 0.0:
            chosen = {**best[1], "least_entropy": least_entropy}
            best = min(best, (error(**chosen), chosen), key=lambda result: result[0])
    return best[1]
