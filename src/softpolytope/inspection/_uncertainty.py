"""How unsure draws are of labels, which part of that more labels could remove, and which rows to ask about.

Probabilities by draw are (draws, rows), P(class 1), for two classes, and (draws, rows, classes) for more. Uncertainty
is measured in nats.
"""

import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, softmax, xlog1py

from softpolytope._typing import FloatArray

# Labels of the chosen rows are enumerated up to this many configurations, beyond it this many are sampled.
MAX_CONFIGURATIONS = 1024
# Numbers held at once; rows are taken in chunks so that draws x rows x classes stay below it.
MAX_NUMBERS_AT_ONCE = 1_000_000
# Candidates looked at together; few, because it takes few to find the best.
CANDIDATES_AT_ONCE = 64
# Gains that differ by less than this share of the largest differ by rounding only.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Uncertainty about the labels of rows, in nats: total = aleatoric + epistemic."""

    total: FloatArray  # (rows,), entropy of the mean probabilities
    aleatoric: FloatArray  # (rows,), mean entropy of the draws: what no number of labels would remove
    epistemic: FloatArray  # (rows,), mutual information of label and parameters: what labels could teach


def uncertainty_from_draws(probabilities: ArrayLike) -> Uncertainty:
    """Split the uncertainty about each row's label into what its law leaves open and what is not known of the law.

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
        Three arrays (n_rows,).

    Examples
    --------
    Of the first row the draws agree that it is chance; of the second they are sure, each of another label.

    >>> from softpolytope.inspection import uncertainty_from_draws
    >>> parts = uncertainty_from_draws([[0.5, 0.0], [0.5, 1.0]])
    >>> parts.aleatoric.round(3).tolist(), parts.epistemic.round(3).tolist()
    ([0.693, 0.0], [0.0, 0.693])
    """
    checked = checked_probabilities(probabilities)
    parts = [
        (_entropies(checked[:, rows]).mean(axis=0), _divergences(checked[:, rows]))
        for rows in chunks(checked.shape[1], checked[:, :1].size)
    ]
    aleatoric, epistemic = np.concatenate(parts, axis=1)
    # Not the entropy of the mean itself: that would differ from the sum of its parts by rounding.
    return Uncertainty(aleatoric + epistemic, aleatoric, epistemic)


def select_bald(probabilities: ArrayLike, n: int = 1, rng: Generator | None = None) -> NDArray[np.intp]:
    """Find the n rows whose labels together teach most about the parameters, the most informative first.

    Greedy (BatchBALD, Kirsch, van Amersfoort and Gal 2019): each next row x has the largest I(y_x; parameters | labels
    of the rows chosen before), that is, its epistemic uncertainty less I(y_x; those labels), so that a row like one
    that is chosen already is worth less. The labels of the chosen rows are enumerated up to 1024 configurations, which
    with two classes is enough for eleven rows; rows found so teach at least 63 % of what the best n rows would. Beyond
    that, as many configurations are sampled. Of equally good rows the first is taken.

    Parameters
    ----------
    probabilities : array-like of shape (n_draws, n_rows) or (n_draws, n_rows, n_classes)
        P(class 1) by every draw, or the probabilities of all classes.
    n : int
        How many rows.
    rng : numpy.random.Generator, optional
        Used only if `is_sampled(n, n_classes)`, and needed then.

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
    checked = checked_probabilities(probabilities)
    check_number(n, checked.shape[1])
    if rng is None and is_sampled(n, _n_classes(checked)):
        raise ValueError(
            f"rng must be a numpy.random.Generator for n = {n} rows of {_n_classes(checked)} classes, which have more "
            f"than {MAX_CONFIGURATIONS} configurations of labels to sample from; got None."
        )
    epistemic = uncertainty_from_draws(checked).epistemic
    gains = epistemic.copy()
    known = _Configurations.of_nothing(len(checked))
    chosen: list[int] = []
    while True:
        chosen.append(int(np.argmax(gains >= gains.max() - ROUNDING * epistemic.max())))
        if len(chosen) == n:
            return np.array(chosen, dtype=np.intp)
        gains[chosen] = -np.inf
        known = _with_last_row(known, _by_class(checked[:, chosen]), rng)
        _lower(gains, epistemic, checked, known)


def is_sampled(n: int, n_classes: int) -> bool:
    """Whether `select_bald` draws random numbers: the labels of n - 1 rows are too many to enumerate."""
    return bool(n_classes ** (n - 1) > MAX_CONFIGURATIONS)


def check_number(n: Any, n_rows: int) -> None:
    """Raise unless n is a number of rows that can be asked for."""
    if isinstance(n, bool | np.bool_) or not isinstance(n, numbers.Integral) or not 1 <= int(n) <= n_rows:
        raise ValueError(f"n must be a whole number from 1 to {n_rows}, the number of rows given; got {n!r}.")


def checked_probabilities(probabilities: ArrayLike) -> FloatArray:
    """Check that probabilities by draw are such, in one of the two shapes."""
    checked = np.asarray(probabilities, dtype=np.float64)
    if checked.ndim not in (2, 3) or checked.size == 0:
        raise ValueError(
            "probabilities must be (draws, rows), or (draws, rows, classes) for more than two classes, and not empty; "
            f"got shape {checked.shape}."
        )
    is_wrong = ~((checked >= 0.0) & (checked <= 1.0))
    if is_wrong.any():
        place = tuple(np.argwhere(is_wrong)[0].tolist())
        raise ValueError(
            f"probabilities must be probabilities; got {checked[place]} at draw {place[0]}, row {place[1]}."
        )
    if checked.ndim == 3:
        _check_sums(checked.sum(axis=2))
    return checked


def _check_sums(sums: FloatArray) -> None:
    # Wide enough for probabilities that were single precision once.
    is_wrong = np.abs(sums - 1.0) > 1e-5
    if is_wrong.any():
        draw, row = np.argwhere(is_wrong)[0].tolist()
        raise ValueError(
            f"probabilities of the classes must sum to 1; got {sums[draw, row]} at draw {draw}, row {row}."
        )


# What the parts of uncertainty are made of.


def _n_classes(probabilities: FloatArray) -> int:
    return 2 if probabilities.ndim == 2 else probabilities.shape[2]


def _by_class(probabilities: FloatArray) -> FloatArray:
    """Probabilities (draws, rows, classes), of two classes too."""
    return np.stack([1.0 - probabilities, probabilities], axis=2) if probabilities.ndim == 2 else probabilities


def _entropies(probabilities: FloatArray) -> FloatArray:
    """Entropy of the label, (draws, rows)."""
    if probabilities.ndim == 2:
        # 1 - p has lost the digits of a tiny p; log1p has not.
        return np.asarray(entr(probabilities) - xlog1py(1.0 - probabilities, -probabilities))
    return np.asarray(entr(probabilities).sum(axis=2))


def _divergences(probabilities: FloatArray) -> FloatArray:
    """mean_d KL(p_d || mean of p), (rows,), where H(mean) - mean H would lose all digits of a small spread."""
    mean, deviations = mean_and_deviations(probabilities)
    terms = mean * _gap(_relative(deviations, mean))
    return np.asarray(terms.sum(axis=2).mean(axis=0))


def mean_and_deviations(probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean over draws, (rows, classes), and the draws less their mean, (draws, rows, classes)."""
    # By way of the first draw, so that the mean of draws that are all equal is that very number.
    first = probabilities[0]
    mean = first + (probabilities - first).mean(axis=0)
    mean = np.clip(mean, probabilities.min(axis=0), probabilities.max(axis=0))
    deviations = probabilities - mean
    if probabilities.ndim == 3:
        return mean, deviations
    # Those of 1 - p would have lost the digits of a tiny p.
    return np.stack([1.0 - mean, mean], axis=1), np.stack([-deviations, deviations], axis=2)


def _relative(deviations: FloatArray, mean: FloatArray) -> FloatArray:
    """Deviations as shares of a mean of probabilities, which is 0 only if all of them are."""
    shares = np.divide(deviations, mean, out=np.zeros_like(deviations), where=mean > 0.0)
    # Rounding may go below -1, the share of a probability of 0.
    return np.maximum(shares, -1.0)


def _gap(u: FloatArray) -> FloatArray:
    """(1 + u) log(1 + u) - u for u >= -1: never negative, and u^2 / 2 near 0.

    KL(p || q) = sum_c q_c gap(p_c / q_c - 1) whenever p and q have the same sum: no term of it cancels another.
    """
    is_small = np.abs(u) < 0.1
    # log(1 + u) = 2 artanh(s) with s = u / (2 + u), |s| < 0.053: the next term, s^13 / 15, is below 2e-18.
    s = np.where(is_small, u, 0.0)
    s /= 2.0 + s
    tail = s * np.polynomial.polynomial.polyval(s * s, [1 / 3, 1 / 5, 1 / 7, 1 / 9, 1 / 11, 1 / 13])
    near = 2.0 * s * s * (1.0 + (1.0 + s) * tail) / (1.0 - s)
    return np.asarray(np.where(is_small, near, xlog1py(1.0 + u, u) - u))


def chunks(n_rows: int, numbers_per_row: int) -> Iterator[slice]:
    """Slices of rows that together are all of them."""
    size = max(1, MAX_NUMBERS_AT_ONCE // numbers_per_row)
    return (slice(start, start + size) for start in range(0, n_rows, size))


# Labels of the chosen rows.


@dataclass(frozen=True, slots=True)
class _Configurations:
    """Labels that the chosen rows may have: all configurations with their probabilities, or a sample of them."""

    probabilities: FloatArray  # (configurations,), summing to 1
    log_likelihood: FloatArray  # (draws, configurations), log P(labels | draw)
    sources: NDArray[np.intp]  # (configurations,), the draw that each was sampled from; empty if enumerated

    @classmethod
    def of_nothing(cls, n_draws: int) -> "_Configurations":
        """No row is chosen: there is one configuration, the empty one."""
        return cls(np.ones(1), np.zeros((n_draws, 1)), np.array([], dtype=np.intp))

    @classmethod
    def of_sources(cls, n_draws: int, rng: Generator) -> "_Configurations":
        """No row is chosen; each draw will sample as many configurations as any other, give or take one."""
        sources = np.resize(rng.permutation(n_draws), MAX_CONFIGURATIONS)
        return cls(np.full(len(sources), 1.0 / len(sources)), np.zeros((n_draws, len(sources))), sources)

    def with_any_label(self, laws: FloatArray) -> "_Configurations":
        """Give one more row, (draws, classes), each label in turn; configurations that no draw allows are left out."""
        joint = (self.log_likelihood[:, :, None] + _log(laws)[:, None, :]).reshape(len(laws), -1)
        probabilities = np.exp(joint).mean(axis=0)
        is_possible = probabilities > 0.0
        return _Configurations(probabilities[is_possible] / probabilities.sum(), joint[:, is_possible], self.sources)

    def with_sampled_label(self, laws: FloatArray, rng: Generator) -> "_Configurations":
        """Give one more row, (draws, classes), a label by each configuration's own draw."""
        bounds = np.cumsum(laws, axis=1)
        bounds /= bounds[:, -1:]
        # Above 0 and up to 1, so that a class of probability 0 is never met.
        places = 1.0 - rng.random(len(self.sources))
        labels = (places[:, None] > bounds[self.sources, :-1]).sum(axis=1)
        return _Configurations(self.probabilities, self.log_likelihood + _log(laws)[:, labels], self.sources)


def _with_last_row(known: _Configurations, chosen: FloatArray, rng: Generator | None) -> _Configurations:
    """Configurations of all but the last of the chosen rows (draws, rows, classes) to those of all of them."""
    n_draws, n_chosen, n_classes = chosen.shape
    # Without a generator, `select_bald` has seen to it that there are few.
    if rng is None or n_classes**n_chosen <= MAX_CONFIGURATIONS:
        return known.with_any_label(chosen[:, -1])
    if known.sources.size:
        return known.with_sampled_label(chosen[:, -1], rng)
    known = _Configurations.of_sources(n_draws, rng)
    for row in range(n_chosen):
        known = known.with_sampled_label(chosen[:, row], rng)
    return known


def _lower(gains: FloatArray, epistemic: FloatArray, probabilities: FloatArray, known: _Configurations) -> None:
    """Bring gains up to date after one more row is chosen, those of all rows that may be the best.

    Labels known already only make another worth less, so an old gain is a bound, and rows whose bound is below the best
    so far can wait (lazy greedy, Minoux 1978).
    """
    order = np.argsort(-gains, kind="stable")[: np.isfinite(gains).sum()]
    weights = softmax(known.log_likelihood, axis=0).T
    best = -np.inf
    for start in range(0, len(order), CANDIDATES_AT_ONCE):
        rows = order[start : start + CANDIDATES_AT_ONCE]
        if gains[rows[0]] < best - ROUNDING * epistemic.max():
            return
        gains[rows] = epistemic[rows] - _redundancies(probabilities[:, rows], known.probabilities, weights)
        best = max(best, gains[rows].max())


def _redundancies(
    probabilities: FloatArray, configuration_probabilities: FloatArray, weights: FloatArray
) -> FloatArray:
    """I(y_x; labels of the chosen rows), (rows,), from their configurations and P(draw | labels) for each of those.

    It is the mean over configurations of KL(probabilities by draws so weighted || probabilities by all draws alike).
    """
    mean, deviations = mean_and_deviations(probabilities)
    shifts = weights @ deviations.reshape(len(deviations), -1)
    terms = mean.ravel() * (configuration_probabilities @ _gap(_relative(shifts, mean.ravel())))
    return np.asarray(terms.reshape(mean.shape).sum(axis=1))


def _log(probabilities: FloatArray) -> FloatArray:
    """Logarithms, minus infinity of 0 without a warning."""
    return np.log(probabilities, out=np.full_like(probabilities, -np.inf), where=probabilities > 0.0)
