"""Uncertainty about labels, split into an aleatoric and an epistemic part.

Probabilities by draw have shape (draws, rows), P(class 1), for two classes, and (draws, rows, classes) for more.
Uncertainty is measured in nats.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, xlog1py

from softpolytope._typing import FloatArray

# Rows are processed in chunks, so that draws x rows x classes stay below this.
MAX_NUMBERS_AT_ONCE = 1_000_000
# Gains that differ by less than this fraction of the largest differ by rounding only.
ROUNDING = 1e-12
# Tolerance for sums of class probabilities, wide enough for those stored in single precision.
MAX_SUM_ERROR = 1e-5


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Uncertainty about the labels of rows, in nats: total = aleatoric + epistemic."""

    total: FloatArray  # (rows,), entropy of the mean probabilities
    aleatoric: FloatArray  # (rows,), mean entropy of the draws: remains however many labels are known
    epistemic: FloatArray  # (rows,), mutual information of label and parameters: can be reduced by more labels


def uncertainty_from_draws(probabilities: ArrayLike) -> Uncertainty:
    """Split the uncertainty about each row's label into an aleatoric and an epistemic part.

    With p_d the probabilities by draw d and p their mean, the aleatoric part is mean_d H(p_d), the epistemic part is
    mean_d KL(p_d || p), the mutual information of the label and the parameters (Houlsby et al. 2011), and their sum is
    H(p).

    Parameters
    ----------
    probabilities : array-like of shape (n_draws, n_rows) or (n_draws, n_rows, n_classes)
        P(class 1) by every draw, or the probabilities of all classes.

    Returns
    -------
    Uncertainty
        Three arrays of shape (n_rows,).

    Examples
    --------
    For the first row the draws agree that the label is random; for the second each is certain, of different labels.

    >>> from softpolytope.inspection import uncertainty_from_draws
    >>> parts = uncertainty_from_draws([[0.5, 0.0], [0.5, 1.0]])
    >>> parts.aleatoric.round(3).tolist(), parts.epistemic.round(3).tolist()
    ([0.693, 0.0], [0.0, 0.693])
    """
    checked = validate_probabilities(probabilities)
    parts = [(_entropies(chunk).mean(axis=0), _divergences(chunk)) for chunk in row_chunks(checked)]
    aleatoric, epistemic = np.concatenate(parts, axis=1)
    # The entropy of the mean itself would differ from the sum of its parts by rounding.
    return Uncertainty(aleatoric + epistemic, aleatoric, epistemic)


def check_number(n: object, n_rows: int) -> None:
    """Raise unless n is a number of rows that can be selected."""
    if isinstance(n, bool | np.bool_) or not isinstance(n, Integral) or not 1 <= int(n) <= n_rows:
        raise ValueError(f"n must be an integer from 1 to {n_rows}, the number of rows given; got {n!r}.")


def validate_probabilities(probabilities: ArrayLike) -> FloatArray:
    """Return probabilities by draw as an array; raise unless they are valid and have one of the two shapes."""
    checked = np.asarray(probabilities, dtype=np.float64)
    if checked.ndim not in (2, 3) or checked.size == 0:
        raise ValueError(
            "probabilities must have the shape (draws, rows), or (draws, rows, classes) for more than two classes, and "
            f"must not be empty; got shape {checked.shape}."
        )
    is_wrong = ~((checked >= 0.0) & (checked <= 1.0))
    if is_wrong.any():
        index = tuple(np.argwhere(is_wrong)[0].tolist())
        raise ValueError(f"probabilities must be from 0 to 1; got {checked[index]} at draw {index[0]}, row {index[1]}.")
    if checked.ndim == 3:
        sums = checked.sum(axis=2)
        is_wrong = np.abs(sums - 1.0) > MAX_SUM_ERROR
        if is_wrong.any():
            draw, row = np.argwhere(is_wrong)[0].tolist()
            raise ValueError(
                f"probabilities of the classes must sum to 1; got {sums[draw, row]} at draw {draw}, row {row}."
            )
    return checked


def row_chunks(probabilities: FloatArray) -> Iterator[FloatArray]:
    """Yield the probabilities of a few consecutive rows at a time."""
    size = max(1, MAX_NUMBERS_AT_ONCE // probabilities[:, :1].size)
    return (probabilities[:, start : start + size] for start in range(0, probabilities.shape[1], size))


def mean_and_deviations(probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean over draws, (rows, classes), and the draws minus their mean, (draws, rows, classes)."""
    # Computed from the differences to the first draw, so that the mean of equal draws is exactly that number.
    first = probabilities[0]
    mean = first + (probabilities - first).mean(axis=0)
    mean = np.clip(mean, probabilities.min(axis=0), probabilities.max(axis=0))
    deviations = probabilities - mean
    if probabilities.ndim == 3:
        return mean, deviations
    # The deviations of 1 - p would have lost the digits of a tiny p.
    return np.stack([1.0 - mean, mean], axis=1), np.stack([-deviations, deviations], axis=2)


def relative_gaps(deviations: FloatArray, mean: FloatArray) -> FloatArray:
    """Return gap(deviations / mean) with gap(u) = (1 + u) log(1 + u) - u, which is never negative.

    KL(p || q) = sum_c q_c gap(p_c / q_c - 1) whenever p and q have the same sum, and no term cancels another, whereas
    H(mean) - mean H would lose all digits of a small spread.
    """
    # A mean of probabilities is zero only if all of them are.
    ratios = np.divide(deviations, mean, out=np.zeros_like(deviations), where=mean > 0.0)
    # Rounding may go below -1, the ratio of a probability of zero.
    return _gap(np.maximum(ratios, -1.0))


def _entropies(probabilities: FloatArray) -> FloatArray:
    """Return the entropy of the label by draw, (draws, rows)."""
    if probabilities.ndim == 2:
        # 1 - p has lost the digits of a tiny p; log1p has not.
        return np.asarray(entr(probabilities) - xlog1py(1.0 - probabilities, -probabilities))
    return np.asarray(entr(probabilities).sum(axis=2))


def _divergences(probabilities: FloatArray) -> FloatArray:
    """Return mean_d KL(p_d || mean of p), (rows,)."""
    mean, deviations = mean_and_deviations(probabilities)
    return np.asarray((mean * relative_gaps(deviations, mean)).sum(axis=2).mean(axis=0))


def _gap(u: FloatArray) -> FloatArray:
    """Return (1 + u) log(1 + u) - u for u >= -1, precise near 0, where it is u^2 / 2."""
    is_small = np.abs(u) < 0.1
    # log(1 + u) = 2 artanh(s) with s = u / (2 + u), |s| < 0.053: the next term, s^13 / 15, is below 2e-18.
    s = np.where(is_small, u, 0.0)
    s /= 2.0 + s
    tail = s * np.polynomial.polynomial.polyval(s * s, [1 / 3, 1 / 5, 1 / 7, 1 / 9, 1 / 11, 1 / 13])
    near = 2.0 * s * s * (1.0 + (1.0 + s) * tail) / (1.0 - s)
    return np.asarray(np.where(is_small, near, xlog1py(1.0 + u, u) - u))
