"""Selection of the rows whose labels tell most about the labels of all given rows (EPIG).

The rows that tell most about the parameters (`select_bald`) are often at the edge of the data, far from all others,
where that hardly matters. Here a row counts by what its label tells about the labels of the given rows: the idea of the
expected predictive information gain (Bickford Smith et al. 2023).

The covariance over draws of two quantities is u' L v, where u and v are their deviations from the mean by draw and L is
the identity matrix divided by the number of draws. Knowing labels reduces it, and changes only L.
"""

import numpy as np
from numpy.typing import ArrayLike

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.inspection._uncertainty import (
    ROUNDING,
    check_number,
    mean_and_deviations,
    row_chunks,
    validate_probabilities,
)


def select_epig(probabilities: ArrayLike, n: int = 1) -> IndexArray:
    """Select the n rows whose labels together tell most about the labels of all rows, the most informative first.

    The information about the label of row t in that of row x is measured by Pearson's mean square contingency,
    phi^2 = sum_{k, c} cov(p_xk, p_tc)^2 / (p_xk p_tc), with covariances and means over draws; half of it is the mutual
    information of the two labels to second order. The first row has the largest sum of phi^2 over all rows t. Each next
    one is found with the covariances that remain after the best linear prediction from the labels before it, so that a
    row similar to a selected one is worth less. Of equally good rows the first is selected.

    Parameters
    ----------
    probabilities : array-like of shape (n_draws, n_rows) or (n_draws, n_rows, n_classes)
        P(class 1) by every draw, or the probabilities of all classes.
    n : int
        Number of rows to select.

    Returns
    -------
    ndarray of shape (n,)
        Indices of rows.

    Examples
    --------
    The draws disagree most about row 0, but its label would tell nothing about the three other rows.

    >>> from softpolytope.inspection import select_bald, select_epig
    >>> probabilities = [[0.9, 0.8, 0.8, 0.8], [0.9, 0.1, 0.1, 0.1], [0.1, 0.8, 0.8, 0.8], [0.1, 0.1, 0.1, 0.1]]
    >>> select_epig(probabilities, 2).tolist(), select_bald(probabilities, 2).tolist()
    ([1, 0], [0, 1])
    """
    checked = validate_probabilities(probabilities)
    check_number(n, checked.shape[1])
    targets = _sum_over_targets(checked)
    kernel = np.eye(len(checked)) / len(checked)
    selected: list[int] = []
    while True:
        selected.append(_first_best(_scores(checked, kernel, targets), selected))
        if len(selected) == n:
            return np.array(selected, dtype=np.intp)
        kernel = _condition(kernel, checked[:, selected[-1:]])


def _first_best(scores: FloatArray, selected: list[int]) -> int:
    """Return the first row of the highest score among those not selected yet."""
    # Clamp rounding noise below zero and treat NaN as zero gain.
    gains = np.maximum(np.where(np.isfinite(scores), scores, 0.0), 0.0)
    is_open = np.ones(len(gains), dtype=bool)
    is_open[selected] = False
    return int(np.argmax(is_open & (gains >= gains[is_open].max() * (1.0 - ROUNDING))))


def _sum_over_targets(probabilities: FloatArray) -> FloatArray:
    """Return sum_{t, c} u_tc u_tc' / p_tc, (draws, draws), which turns sums of squared covariances into one product."""
    total = np.zeros((len(probabilities), len(probabilities)))
    for chunk in row_chunks(probabilities):
        mean, deviations = mean_and_deviations(chunk)
        # A class of mean 0 is never observed and has no deviations.
        scaled = (deviations / np.sqrt(np.where(mean > 0.0, mean, 1.0))).reshape(len(chunk), -1)
        total += scaled @ scaled.T
    return total


def _scores(probabilities: FloatArray, kernel: FloatArray, targets: FloatArray) -> FloatArray:
    """Return sum_t phi^2 of each row's label and that of row t, (rows,)."""
    scores = []
    for chunk in row_chunks(probabilities):
        deviations, inverse = _deviations_and_precision(chunk, kernel)
        weighted = np.tensordot(kernel, deviations, axes=1)
        squares = np.einsum("drk,drl->rkl", weighted, np.tensordot(targets, weighted, axes=1), optimize=True)
        scores.append(np.einsum("rkl,rkl->r", inverse, squares))
    return np.concatenate(scores)


def _condition(kernel: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return L given the label of one row (draws, 1) or (draws, 1, classes): L - L u (covariance of label)^-1 u' L."""
    deviations, inverse = _deviations_and_precision(probabilities, kernel)
    weighted = kernel @ deviations[:, 0]
    return np.asarray(kernel - weighted @ inverse[0] @ weighted.T)


def _deviations_and_precision(probabilities: FloatArray, kernel: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return deviations (draws, rows, classes - 1), and the inverse covariance of each row's label, (rows, same, same).

    The label is a vector with a one for its class, all zero for the first. Its covariance is that of the probabilities,
    which labels of other rows reduce, plus the randomness that each draw leaves, mean_d (diag(p_d) - p_d p_d'), which
    they do not.
    """
    laws = probabilities[:, :, None] if probabilities.ndim == 2 else probabilities[:, :, 1:]
    deviations = mean_and_deviations(probabilities)[1][:, :, 1:]
    covariance = -np.einsum("drk,drl->rkl", laws, laws, optimize=True) / len(laws)
    classes = np.arange(laws.shape[2])
    covariance[:, classes, classes] = (laws * (1.0 - laws)).mean(axis=0)
    covariance += np.einsum("drk,drl->rkl", deviations, np.tensordot(kernel, deviations, axes=1), optimize=True)
    # The label of a class that is never observed, or so rarely that the inverse of its variance overflows, is constant.
    largest = np.abs(covariance).max(axis=(1, 2), keepdims=True, initial=0.0)
    covariance = np.where(largest < np.finfo(np.float64).tiny, 0.0, covariance)
    return deviations, np.linalg.pinv(covariance, rcond=1e-10, hermitian=True)
