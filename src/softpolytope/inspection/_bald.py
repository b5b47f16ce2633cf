"""Selection of the rows whose labels together tell most about the parameters (BALD, in batches)."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.special import softmax

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.inspection._uncertainty import (
    ROUNDING,
    check_number,
    mean_and_deviations,
    relative_gaps,
    uncertainty_from_draws,
    validate_probabilities,
)

# Labels of the selected rows are enumerated up to this many configurations; beyond it this many are sampled.
MAX_CONFIGURATIONS = 1024
# Candidates evaluated together; few, because the best is found after few.
CANDIDATES_AT_ONCE = 64


def select_bald(probabilities: ArrayLike, n: int = 1, rng: Generator | None = None) -> IndexArray:
    """Select the n rows whose labels together tell most about the parameters, the most informative first.

    Greedy (BatchBALD, Kirsch, van Amersfoort and Gal 2019): each next row x has the largest I(y_x; parameters | labels
    of the rows selected before), that is, its epistemic uncertainty minus I(y_x; those labels), so that a row similar
    to a selected one is worth less. The labels of the selected rows are enumerated up to 1024 configurations, which
    with two classes is enough for eleven rows; rows found in this way tell at least 63 % of what the best n rows would.
    Beyond that, as many configurations are sampled. Of equally good rows the first is selected.

    Parameters
    ----------
    probabilities : array-like of shape (n_draws, n_rows) or (n_draws, n_rows, n_classes)
        P(class 1) by every draw, or the probabilities of all classes.
    n : int
        Number of rows to select.
    rng : numpy.random.Generator, optional
        Required, and used, only if `is_sampled(n, n_classes)`.

    Returns
    -------
    ndarray of shape (n,)
        Indices of rows.

    Examples
    --------
    Rows 0 and 1 are the same and the draws disagree about them; about row 2 they disagree less, but in another way.

    >>> from softpolytope.inspection import select_bald
    >>> probabilities = [[0.9, 0.9, 0.8], [0.9, 0.9, 0.2], [0.1, 0.1, 0.8], [0.1, 0.1, 0.2]]
    >>> select_bald(probabilities, 2).tolist()
    [0, 2]
    """
    checked = validate_probabilities(probabilities)
    check_number(n, checked.shape[1])
    n_classes = 2 if checked.ndim == 2 else checked.shape[2]
    if rng is None and is_sampled(n, n_classes):
        raise ValueError(
            f"rng must be a numpy.random.Generator for n = {n} rows of {n_classes} classes, which have more than "
            f"{MAX_CONFIGURATIONS} configurations of labels to sample from; got None."
        )
    epistemic = uncertainty_from_draws(checked).epistemic
    gains = epistemic.copy()
    configurations = Configurations.empty(len(checked))
    selected: list[int] = []
    while True:
        selected.append(int(np.argmax(gains >= gains.max() - ROUNDING * epistemic.max())))
        if len(selected) == n:
            return np.array(selected, dtype=np.intp)
        gains[selected] = -np.inf
        configurations = _add_last_row(configurations, _by_class(checked[:, selected]), rng)
        _update_gains(gains, epistemic, checked, configurations)


def is_sampled(n: int, n_classes: int) -> bool:
    """Return whether `select_bald` uses random numbers: the labels of n - 1 rows are too many to enumerate."""
    return bool(n_classes ** (n - 1) > MAX_CONFIGURATIONS)


@dataclass(frozen=True, slots=True)
class Configurations:
    """Labels that the selected rows may have: all configurations with their probabilities, or a sample of them."""

    probabilities: FloatArray  # (configurations,), summing to 1
    log_likelihood: FloatArray  # (draws, configurations), log P(labels | draw)
    sources: IndexArray  # (configurations,), the draw that each was sampled from; empty if enumerated

    @classmethod
    def empty(cls, n_draws: int) -> "Configurations":
        """Return the one configuration of no rows."""
        return cls(np.ones(1), np.zeros((n_draws, 1)), np.array([], dtype=np.intp))

    @classmethod
    def to_sample(cls, n_draws: int, rng: Generator) -> "Configurations":
        """Return configurations of no rows to be sampled, equally many from each draw, up to one."""
        sources = np.resize(rng.permutation(n_draws), MAX_CONFIGURATIONS)
        return cls(np.full(len(sources), 1.0 / len(sources)), np.zeros((n_draws, len(sources))), sources)

    def draw_probabilities(self) -> FloatArray:
        """Return P(draw | labels) of each configuration, (configurations, draws)."""
        return np.asarray(softmax(self.log_likelihood, axis=0).T)

    def with_any_label(self, laws: FloatArray) -> "Configurations":
        """Add a row, (draws, classes), with each label in turn; impossible configurations are dropped."""
        joint = (self.log_likelihood[:, :, None] + _log(laws)[:, None, :]).reshape(len(laws), -1)
        probabilities = np.exp(joint).mean(axis=0)
        is_possible = probabilities > 0.0
        return Configurations(probabilities[is_possible] / probabilities.sum(), joint[:, is_possible], self.sources)

    def with_sampled_label(self, laws: FloatArray, rng: Generator) -> "Configurations":
        """Add a row, (draws, classes), with a label sampled from the draw of each configuration."""
        bounds = np.cumsum(laws, axis=1)
        bounds /= bounds[:, -1:]
        # Above 0 and up to 1, so that a class of probability 0 is never sampled.
        uniforms = 1.0 - rng.random(len(self.sources))
        labels = (uniforms[:, None] > bounds[self.sources, :-1]).sum(axis=1)
        return Configurations(self.probabilities, self.log_likelihood + _log(laws)[:, labels], self.sources)


def _add_last_row(known: Configurations, selected: FloatArray, rng: Generator | None) -> Configurations:
    """Extend the configurations of all but the last of the selected rows (draws, rows, classes) by that row."""
    n_draws, n_selected, n_classes = selected.shape
    # Without a generator, `select_bald` has made sure that there are few.
    if rng is None or n_classes**n_selected <= MAX_CONFIGURATIONS:
        return known.with_any_label(selected[:, -1])
    if known.sources.size:
        return known.with_sampled_label(selected[:, -1], rng)
    known = Configurations.to_sample(n_draws, rng)
    for row in range(n_selected):
        known = known.with_sampled_label(selected[:, row], rng)
    return known


def _update_gains(gains: FloatArray, epistemic: FloatArray, probabilities: FloatArray, known: Configurations) -> None:
    """Update the gains, after a row was selected, of all rows that may be the best.

    Known labels only reduce the gain of another, so an old gain is an upper bound, and rows whose bound is below the
    best so far can wait (lazy greedy, Minoux 1978).
    """
    order = np.argsort(-gains, kind="stable")[: np.isfinite(gains).sum()]
    weights = known.draw_probabilities()
    best = -np.inf
    for start in range(0, len(order), CANDIDATES_AT_ONCE):
        rows = order[start : start + CANDIDATES_AT_ONCE]
        if gains[rows[0]] < best - ROUNDING * epistemic.max():
            return
        gains[rows] = epistemic[rows] - redundancies(probabilities[:, rows], known.probabilities, weights)
        best = max(best, gains[rows].max())


def redundancies(probabilities: FloatArray, configuration_probabilities: FloatArray, weights: FloatArray) -> FloatArray:
    """Return I(y_x; labels of the selected rows) of rows x, (rows,), from their configurations.

    It is the mean over configurations of KL(mean of the draws weighted by P(draw | labels) || plain mean of the draws);
    the weights are (configurations, draws).
    """
    mean, deviations = mean_and_deviations(probabilities)
    shifts = weights @ deviations.reshape(len(deviations), -1)
    terms = mean.ravel() * (configuration_probabilities @ relative_gaps(shifts, mean.ravel()))
    return np.asarray(terms.reshape(mean.shape).sum(axis=1))


def _by_class(probabilities: FloatArray) -> FloatArray:
    """Return probabilities as (draws, rows, classes), for two classes too."""
    return np.stack([1.0 - probabilities, probabilities], axis=2) if probabilities.ndim == 2 else probabilities


def _log(probabilities: FloatArray) -> FloatArray:
    """Return logarithms, minus infinity for zero without a warning."""
    return np.log(probabilities, out=np.full_like(probabilities, -np.inf), where=probabilities > 0.0)
