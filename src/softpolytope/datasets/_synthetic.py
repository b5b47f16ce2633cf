"""The two-dimensional problems of the paper's figures, as their captions define them, and Breiman's waveform."""

from typing import TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from softpolytope._typing import CountArray, FloatArray

RandomState: TypeAlias = int | np.random.RandomState | None  # as scikit-learn takes it


def make_circle(n_samples: int = 300, random_state: RandomState = None) -> tuple[FloatArray, CountArray]:
    """A ring (label 1) around a disc (label 0), figure 1 of the paper.

    Radii of the ring are N(2, 0.5^2) and its angles uniform; both coordinates of the disc are N(0, 0.5^2).

    Examples
    --------
    >>> from softpolytope.datasets import make_circle
    >>> X, y = make_circle(300, random_state=0)
    >>> X.shape, int(y.sum())
    ((300, 2), 150)
    """
    rng = _generator(random_state, n_samples)
    n_ring = n_samples // 2
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, n_ring), rng.normal(2.0, 0.5, n_ring)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    disc = rng.normal(0.0, 0.5, (n_samples - n_ring, 2))
    return np.concatenate([ring, disc]), _labels(n_ring, n_samples)


def make_xor(n_samples: int = 200, random_state: RandomState = None) -> tuple[FloatArray, CountArray]:
    """Four normal clouds of variance 1 around (-2, 2) and (2, -2), label 1, and (2, 2) and (-2, -2), label 0.

    Examples
    --------
    >>> from softpolytope.datasets import make_xor
    >>> make_xor(random_state=0)[0].shape
    (200, 2)
    """
    rng = _generator(random_state, n_samples)
    n_positive = n_samples // 2
    corners = np.array([[-2.0, 2.0], [2.0, -2.0]])[np.arange(n_positive) % 2]
    others = np.array([[2.0, 2.0], [-2.0, -2.0]])[np.arange(n_samples - n_positive) % 2]
    return np.concatenate([corners, others]) + rng.normal(size=(n_samples, 2)), _labels(n_positive, n_samples)


def make_double_moon(
    n_samples: int = 500, noise: float = 0.2, random_state: RandomState = None
) -> tuple[FloatArray, CountArray]:
    """Two interleaved half rings; the paper shows 250 points of each and gives no formula.

    Radii are N(1, noise^2), angles uniform over a half turn; the second moon (label 0) is turned
    upside down, with its center at (1, 0.5).

    Examples
    --------
    >>> from softpolytope.datasets import make_double_moon
    >>> make_double_moon(random_state=0)[0].shape
    (500, 2)
    """
    rng = _generator(random_state, n_samples)
    n_upper = n_samples // 2
    angle, radius = rng.uniform(0.0, np.pi, n_samples), rng.normal(1.0, noise, n_samples)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    X[n_upper:] = np.array([1.0, 0.5]) - X[n_upper:]
    return X, _labels(n_upper, n_samples)


def make_waveform(
    n_samples: int = 5000, n_classes: int = 2, random_state: RandomState = None
) -> tuple[FloatArray, CountArray]:
    """Breiman's waveform: 21 columns, each row a random mixture of two of three triangles plus N(0, 1) noise.

    The triangles h1, h2, h3 have height 6 and width 12, their peaks at columns 10, 14 and 6 (from 0). A row is
    u h + (1 - u) h' with u uniform: of h1 and h2 (class 0), h1 and h3 (class 1) or h2 and h3 (class 2), which are
    equally probable. With n_classes=2, label 1 is class 1 and label 0 the two others. The benchmark set of the paper
    is of this kind, as its class means and covariances show, with its columns standardized; 32.9 % of its rows are
    positive.

    Examples
    --------
    >>> from softpolytope.datasets import make_waveform
    >>> X, y = make_waveform(300, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 21), [0, 1])
    """
    rng = _generator(random_state, n_samples)
    if n_classes not in (2, 3):
        raise ValueError(f"n_classes must be 2 or 3; got {n_classes!r}.")
    column = np.arange(21)
    triangles = np.array([np.maximum(6 - np.abs(column - peak), 0) for peak in (10, 14, 6)], dtype=np.float64)
    classes = rng.randint(3, size=n_samples)
    first, second = np.array([(0, 1), (0, 2), (1, 2)])[classes].T
    share = rng.uniform(size=(n_samples, 1))
    X = share * triangles[first] + (1.0 - share) * triangles[second] + rng.normal(size=(n_samples, 21))
    return X, (classes if n_classes == 3 else classes == 1).astype(np.int64)


def _labels(n_positive: int, n_samples: int) -> CountArray:
    return (np.arange(n_samples) < n_positive).astype(np.int64)


def _generator(random_state: RandomState, n_samples: int) -> np.random.RandomState:
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2; got {n_samples}.")
    rng: np.random.RandomState = check_random_state(random_state)
    return rng
