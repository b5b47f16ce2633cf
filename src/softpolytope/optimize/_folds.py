"""Which rows a restart holds out."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from softpolytope.data import TrainingData


def dealt_folds(data: TrainingData, n_folds: int, rng: Generator) -> NDArray[np.intp]:
    """The fold of every row; rows that differ in their label only share one, and labels are spread evenly.

    Were equal rows in different folds, what is held out would have been seen. Weights play no part but in the order
    in which folds are dealt, so a weight stands for copies here as anywhere.
    """
    groups = data.groups()
    totals = np.bincount(groups, data.row_weights)
    share = np.bincount(groups, data.row_weights * data.labels) / totals
    shuffled = rng.permutation(len(totals))
    order = shuffled[np.argsort(share[shuffled], kind="stable")]
    folds = np.empty(len(totals), dtype=np.intp)
    folds[order] = np.arange(len(totals)) % n_folds
    return folds[groups]
