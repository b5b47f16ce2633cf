"""The adaptive multi-hyperplane machine (AMM) of Wang et al., KDD 2011, batch version, and the paper's protocol for it.

Each class has a set of weight vectors and scores a row by the best of them; the class with the highest score wins. A
row on which no vector of its class is positive, so that the implicit zero vector is the best, may add a new vector. The
published algorithm is followed; details it leaves open are those of the authors' tool (BudgetedSVM 1.1, which the paper
ran with its defaults): a bias column of ones, an online epoch before the batch ones, at most 50 vectors of a class,
pruning after every 10,000 steps with c = 10, the last iterate as the model.
"""

from typing import Self

import numpy as np

from softpolytope._typing import CountArray, FloatArray
from softpolytope.paper._typing import Labels, Rows
from softpolytope.paper.baselines._common import (
    Seed,
    TunedBaseline,
    TwoClassMachine,
    check_positive,
    compiled,
    cross_validation_error,
    dense_with_bias,
    make_folds,
    search_rows,
)

PENALTY_GRID = tuple(10.0**power for power in range(-7, -1))
EPOCH_GRID = (5, 10, 20, 50, 100)
# Not in the paper; the same as for the other machines.
N_FOLDS = 3


@compiled
def _best(sums: FloatArray, count: int, x: FloatArray) -> tuple[int, float]:
    """Return the vector with the highest score on a row, and that score."""
    best, highest = 0, -np.inf
    for k in range(count):
        score = 0.0
        for column in range(len(x)):
            score += sums[k, column] * x[column]
        if score > highest:
            best, highest = k, score
    return best, highest


@compiled
def _assign(
    design: FloatArray, labels: CountArray, sums: FloatArray, names: CountArray, counts: CountArray, out: CountArray
) -> None:
    """Write to `out` (rows,) the name of the best vector of each row's class."""
    for row in range(len(design)):
        own = labels[row]
        out[row] = names[own, _best(sums[own], counts[own], design[row])[0]]


@compiled
def _add_vector(sums: FloatArray, names: CountArray, counts: CountArray, own: int, x: FloatArray) -> None:
    """Add a row to class `own` as a new vector, if there is room; names are never used twice."""
    position = counts[own]
    if position < sums.shape[1]:
        sums[own, position] = x
        names[own, position] = names.max() + 1
        counts[own] += 1


@compiled
def _prune(sums: FloatArray, names: CountArray, counts: CountArray, bound: float) -> None:
    """Drop the smallest vectors while their squared norms sum to at most `bound`, never a class's last."""
    norms = np.full(sums.shape[:2], np.inf)
    for own in range(2):
        for k in range(counts[own]):
            norms[own, k] = np.sum(sums[own, k] ** 2)
    flat = np.sort(norms.ravel())
    largest = -1.0
    total = 0.0
    for norm in flat:
        total += norm
        if total > bound:
            break
        largest = norm
    for own in range(2):
        kept, n_left = 0, counts[own]
        for k in range(counts[own]):
            if norms[own, k] <= largest and n_left > 1:
                n_left -= 1
                continue
            sums[own, kept], names[own, kept] = sums[own, k], names[own, k]
            kept += 1
        counts[own] = kept


@compiled
def _descend(
    design: FloatArray,
    labels: CountArray,
    sums: FloatArray,
    counts: CountArray,
    schedule: tuple[float, int, int, float],
    rng: np.random.Generator,
) -> None:
    """Make Pegasos steps of rate 1 / (penalty t): an online epoch, then `n_epochs` batch ones.

    `sums` (classes, limit, columns) are the weight vectors times penalty * t: without decay, a step adds or subtracts
    a row, and a margin of one is penalty * t. `counts` (classes,) are the numbers of vectors. `schedule` holds the
    penalty, the number of epochs, the steps between prunings and the pruning constant c.
    """
    penalty, n_epochs, prune_every, threshold = schedule
    order = np.arange(len(design))
    assignment = np.full(len(design), -1)
    # Rows are assigned to names, not positions, because pruning moves vectors.
    names = np.full(sums.shape[:2], 0)
    names[1] = 1
    step = 0
    for epoch in range(n_epochs + 1):
        rng.shuffle(order)
        for row in order:
            step += 1
            x, own = design[row], labels[row]
            best, score = _best(sums[own], counts[own], x)
            rival, rival_score = _best(sums[1 - own], counts[1 - own], x)
            assigned, assigned_score = best, score
            if epoch > 0:
                for k in range(counts[own]):
                    if names[own, k] == assignment[row]:
                        assigned, assigned_score = k, np.dot(sums[own, k], x)
            if penalty * step + rival_score - assigned_score > 0.0:
                sums[1 - own, rival] -= x
                # In the online epoch the zero vector may be the best; a batch epoch keeps the assignment, and adds too.
                if epoch > 0 or score > 0.0:
                    sums[own, assigned] += x
                if score <= 0.0:
                    _add_vector(sums, names, counts, own, x)
            if epoch > 0 and step % prune_every == 0:
                _prune(sums, names, counts, threshold**2)
        _assign(design, labels, sums, names, counts, assignment)
    sums /= penalty * step


class AdaptiveHyperplaneClassifier(TwoClassMachine):
    """Several hyperplanes for each of two classes, their number found while learning.

    Parameters
    ----------
    penalty : float
        lambda, the weight of the squared norms.
    n_epochs : int
        Batch epochs; an online epoch precedes them.
    max_hyperplanes : int
        Maximum number of weight vectors of a class.
    prune_every : int
        Steps between prunings.
    threshold : float
        The pruning constant c: at step t the smallest vectors are dropped while the root of their summed squared norms
        stays below c / (penalty t).
    random_state : int or Generator, optional
        Seed of the order of the rows.

    Attributes
    ----------
    classes_ : ndarray (2,)
        The labels.
    hyperplanes_ : list of two ndarray (n_hyperplanes, n_features + 1)
        The weight vectors of each class, the bias last.

    Examples
    --------
    >>> from softpolytope.datasets import make_xor
    >>> from softpolytope.paper.baselines import AdaptiveHyperplaneClassifier
    >>> X, y = make_xor(random_state=0)
    >>> model = AdaptiveHyperplaneClassifier(penalty=1e-3, n_epochs=20, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        penalty: float = 1e-4,
        n_epochs: int = 5,
        max_hyperplanes: int = 50,
        prune_every: int = 10_000,
        threshold: float = 10.0,
        random_state: Seed = None,
    ) -> None:
        self.penalty = penalty
        self.n_epochs = n_epochs
        self.max_hyperplanes = max_hyperplanes
        self.prune_every = prune_every
        self.threshold = threshold
        self.random_state = random_state

    def fit(self, X: Rows, y: Labels) -> Self:
        """Learn from rows and their labels."""
        check_positive(
            penalty=self.penalty, n_epochs=self.n_epochs, max_hyperplanes=self.max_hyperplanes,
            prune_every=self.prune_every,
        )  # fmt: skip
        rows, is_second = self._validate_training(X, y)
        design = dense_with_bias(rows)
        sums, counts = np.zeros((2, self.max_hyperplanes, design.shape[1])), np.ones(2, dtype=np.int64)
        schedule = (float(self.penalty), int(self.n_epochs), int(self.prune_every), float(self.threshold))
        _descend(design, is_second.astype(np.int64), sums, counts, schedule, np.random.default_rng(self.random_state))
        self.hyperplanes_ = [sums[own, : counts[own]].copy() for own in range(2)]
        return self

    def decision_function(self, X: Rows) -> FloatArray:
        """Return the best score of the second class minus that of the first."""
        design = dense_with_bias(self._validate(X))
        first, second = ((design @ vectors.T).max(axis=1) for vectors in self.hyperplanes_)
        return np.asarray(second - first)

    @property
    def n_experts_(self) -> int:
        """Number of weight vectors of both classes."""
        return sum(len(vectors) for vectors in self.hyperplanes_)


def tune(X: Rows, y: Labels, seed: int, _set_name: str) -> TunedBaseline:
    """Tune lambda over 1e-7..1e-2 and, for each, the epochs 5, 10, 20, 50, 100 until the error rises."""
    splits = make_folds(y, N_FOLDS, seed)

    def machine(values: tuple[float, int]) -> AdaptiveHyperplaneClassifier:
        return AdaptiveHyperplaneClassifier(*values, random_state=seed)

    grid = ([(penalty, n_epochs) for n_epochs in EPOCH_GRID] for penalty in PENALTY_GRID)
    best, _ = search_rows(grid, lambda values: cross_validation_error(machine(values), X, y, splits))
    estimator = machine(best).fit(X, y)
    return TunedBaseline(estimator, estimator.n_experts_, {"penalty": best[0], "n_epochs": best[1]})
