"""Comparison of rows with those that a model was trained on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from softpolytope._typing import BoolArray
from softpolytope.data import validate_rows
from softpolytope.model import Design, FittedClassifier, TrainingRows, fitted_model, row_hashes, sum_hashes

# Probability that rows unrelated to the training rows are taken for them.
FALSE_ALARM = 1e-4
# Smaller fractions of training rows do not change a score noticeably.
MIN_SHARE = 0.01
# From this fraction on, all rows are described as training rows.
WHOLE_SHARE = 0.99
# If a new row looks like a training row with a larger probability, single rows cannot be told apart.
MAX_PROBABILITY = 0.05


@dataclass(frozen=True)
class Overlap:
    """Overlap of rows with those that a model was trained on."""

    n_rows: int
    n_known: int  # rows that look like training rows; an estimate if only some were looked up
    share: float  # estimated fraction of the rows that were training rows
    is_known: BoolArray | None  # (rows,), whether each was a training row; None if single rows cannot be told apart

    @property
    def has_training_rows(self) -> bool:
        """Return whether scores on these rows say little about new rows, because many were training rows."""
        return self.share > 0.0

    @property
    def is_whole(self) -> bool:
        """Return whether all rows, or nearly all, were training rows."""
        return self.share >= WHOLE_SHARE

    def in_words(self) -> str:
        """Return a sentence about the rows, or an empty text if they are new to the model.

        Examples
        --------
        >>> from softpolytope.inspection import Overlap
        >>> Overlap(200, 200, 1.0, None).in_words()
        'These are rows the model was trained on: how well it does on them says little about new rows.'
        """
        if not self.has_training_rows:
            return ""
        if self.is_whole:
            return "These are rows the model was trained on: how well it does on them says little about new rows."
        about = "" if self.is_known is not None else "About "
        verb = "is a row" if self.n_known == 1 else "are rows"
        return (
            f"{about}{self.n_known:,} of these {self.n_rows:,} rows ({self.share:.0%}) {verb} the model was trained "
            "on: how well it does on them says little about new rows."
        )


def overlap_with_training(classifier: FittedClassifier, X: ArrayLike) -> Overlap | None:
    """Compare rows with those that a classifier was trained on.

    Parameters
    ----------
    classifier : classifier
        A fitted or loaded classifier of this package; for a `TableClassifier`, its `classifier_`.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows as the classifier takes them; for a table, the result of `encode`.

    Returns
    -------
    Overlap or None
        None if the model has no fingerprint of its training rows: the fit was out of core or on a cluster, or the file
        was written by an earlier version or by `save(fingerprint=False)`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softpolytope import SoftplusClassifier
    >>> from softpolytope.inspection import overlap_with_training
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = SoftplusClassifier(random_state=0).fit(X[:150], y[:150])
    >>> overlap = overlap_with_training(model, X[100:])
    >>> overlap.n_known, overlap.share
    (50, 0.5)
    """
    known = fitted_model(classifier, "overlap_with_training").training_rows
    return None if known is None else find_overlap(known, validate_rows(classifier, X))


def find_overlap(known: TrainingRows, rows: Design) -> Overlap:
    """Compare validated rows with a fingerprint of training rows."""
    hashes = row_hashes(rows)
    n_rows = len(hashes)
    if n_rows == known.n_rows and sum_hashes(hashes) == known.checksum:
        return Overlap(n_rows, n_rows, 1.0, np.ones(n_rows, dtype=bool))
    is_looked_up, is_known = known.is_covered(hashes), known.contains(hashes)
    share = _share_known(known, hashes[is_looked_up])
    if share < MIN_SHARE:
        return Overlap(n_rows, 0, 0.0, np.zeros(n_rows, dtype=bool))
    if known.n_halvings or known.match_probability > MAX_PROBABILITY:
        return Overlap(n_rows, round(share * n_rows), share, None)
    return Overlap(n_rows, int(is_known.sum()), float(is_known.mean()), is_known)


def _share_known(known: TrainingRows, hashes: NDArray[np.uint64]) -> float:
    """Estimate the fraction of rows that were training rows; 0 if chance explains those that look like one.

    Copies count once: a row that is frequent is frequent among new rows too.
    """
    distinct = np.unique(hashes)
    n_known, chance = int(known.contains(distinct).sum()), known.match_probability
    if not n_known or stats.binom.sf(n_known - 1, len(distinct), known.max_match_probability) > FALSE_ALARM:
        return 0.0
    return float((n_known / len(distinct) - chance) / (1.0 - chance)) if n_known < len(distinct) else 1.0
