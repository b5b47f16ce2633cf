"""Rows whose labels tell most of the labels of all rows given.

A label teaches most about the parameters (`select_bald`) if its row is at the rim, far from all others, where that
hardly matters. Here it counts by what it tells of the labels of the rows given: the idea of the expected predictive
information gain (Bickford Smith et al. 2023).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softpolytope._typing import FloatArray
from softpolytope.inspection._uncertainty import (
    ROUNDING,
    check_number,
    checked_probabilities,
    chunks,
    mean_and_deviations,
)


def select_epig(probabilities: ArrayLike, n: int = 1) -> NDArray[np.intp]:
    """Find the n rows whose labels together tell most of the labels of all rows, the most telling first.

    What the label of x tells of that of t is measured by Pearson's mean square contingency of the two,
    phi^2 = sum_{k, c} cov(p_xk, p_tc)^2 / (p_xk p_tc), covariances and means being over draws; half of it is their
    mutual information to second order. The first row has the largest sum of phi^2 over all rows t. Each next one is
    found with the covariances that are left when the labels before it are known, by the best linear prediction from
    them, so that a row like one that is chosen already tells less. Of equally good rows the first is taken.

    Parameters
    ----------
    probabilities : array-like of shape (n_draws, n_rows) or (n_draws, n_rows, n_classes)
        P(class 1) by every draw, or the probabilities of all classes.
    n : int
        How many rows.

    Returns
    -------
    ndarray of shape (n,)
        Indices of rows.

    Examples
    --------
    The draws disagree most about row 0, but its label would tell nothing of the three other rows.

    >>> from softpolytope.inspection import select_epig
    >>> from softpolytope.inspection import select_bald
    >>> probabilities = [[0.9, 0.8, 0.8, 0.8], [0.9, 0.1, 0.1, 0.1], [0.1, 0.8, 0.8, 0.8], [0.1, 0.1, 0.1, 0.1]]
    >>> select_epig(probabilities, 2).tolist(), select_bald(probabilities, 2).tolist()
    ([1, 0], [0, 1])
    """
    checked = checked_probabilities(probabilities)
    check_number(n, checked.shape[1])
    targets = _sum_over_targets(checked)
    left = np.eye(len(checked)) / len(checked)
    chosen: list[int] = []
    while True:
        chosen.append(_best(_scores(checked, left, targets), chosen))
        if len(chosen) == n:
            return np.array(chosen, dtype=np.intp)
        left = _left_after(checked[:, chosen[-1:]], left)


def _best(scores: FloatArray, chosen: list[int]) -> int:
    """The first row of the highest score among those that are not chosen yet."""
    # Rounding may leave a little less than nothing, of which no share is a bound; what is no number tells nothing.
    told = np.maximum(np.where(np.isfinite(scores), scores, 0.0), 0.0)
    is_open = np.ones(len(told), dtype=bool)
    is_open[chosen] = False
    return int(np.argmax(is_open & (told >= told[is_open].max() * (1.0 - ROUNDING))))


# The covariance over draws of two numbers is u' L v, u and v being their deviations from the mean by draw, and L the
# unit matrix divided by the number of draws. Once labels are known there is less of it, and L is all that changes.


def _sum_over_targets(probabilities: FloatArray) -> FloatArray:
    """sum_{t, c} u_tc u_tc' / p_tc, (draws, draws), with which the sum over t of squared covariances is one product."""
    total = np.zeros((len(probabilities), len(probabilities)))
    for rows in chunks(probabilities.shape[1], probabilities[:, :1].size):
        mean, deviations = mean_and_deviations(probabilities[:, rows])
        # A class of mean 0 is never met, and has no deviations.
        scaled = (deviations / np.sqrt(np.where(mean > 0.0, mean, 1.0))).reshape(len(probabilities), -1)
        total += scaled @ scaled.T
    return total


def _scores(probabilities: FloatArray, left: FloatArray, targets: FloatArray) -> FloatArray:
    """sum_t phi^2 of each row's label with that of row t, (rows,)."""
    found = []
    for rows in chunks(probabilities.shape[1], probabilities[:, :1].size):
        deviations, inverse = _deviations_and_inverse(probabilities[:, rows], left)
        weighted = np.tensordot(left, deviations, axes=1)
        told = np.einsum("drk,drl->rkl", weighted, np.tensordot(targets, weighted, axes=1), optimize=True)
        found.append(np.einsum("rkl,rkl->r", inverse, told))
    return np.concatenate(found)


def _left_after(probabilities: FloatArray, left: FloatArray) -> FloatArray:
    """L once the label of one row (draws, 1) or (draws, 1, classes) is known: L - L u (covariance of label)^-1 u' L."""
    deviations, inverse = _deviations_and_inverse(probabilities, left)
    weighted = left @ deviations[:, 0]
    return np.asarray(left - weighted @ inverse[0] @ weighted.T)


def _deviations_and_inverse(probabilities: FloatArray, left: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Deviations (draws, rows, classes - 1), and the inverse covariance of each row's label, (rows, same, same).

    The label is a vector with a one for its class, all zero for the first. Its covariance is that of the probabilities,
    which labels of other rows lessen, and what each draw leaves to chance, mean_d (diag(p_d) - p_d p_d'), which they do
    not.
    """
    laws = probabilities[:, :, None] if probabilities.ndim == 2 else probabilities[:, :, 1:]
    deviations = mean_and_deviations(probabilities)[1][:, :, 1:]
    covariance = -np.einsum("drk,drl->rkl", laws, laws, optimize=True) / len(laws)
    classes = np.arange(laws.shape[2])
    covariance[:, classes, classes] = (laws * (1.0 - laws)).mean(axis=0)
    covariance += np.einsum("drk,drl->rkl", deviations, np.tensordot(left, deviations, axes=1), optimize=True)
    # A class that is never met, or so seldom that one over its variance overflows, has none to divide by, and tells
    # nothing.
    largest = np.abs(covariance).max(axis=(1, 2), keepdims=True, initial=0.0)
    covariance = np.where(largest < np.finfo(np.float64).tiny, 0.0, covariance)
    return deviations, np.linalg.pinv(covariance, rcond=1e-10, hermitian=True)
