"""The relevance vector machine with a Gaussian kernel by fastrvm, and the paper's protocol for it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from softpolytope._typing import FloatArray
from softpolytope.paper._typing import Labels, Rows
from softpolytope.paper.baselines._common import (
    Seed,
    TunedBaseline,
    TwoClassMachine,
    as_dense,
    check_positive,
    cross_validation_error,
    make_folds,
)

if TYPE_CHECKING:
    from fastrvm import RVC

LARGE_SETS = ("ijcnn1", "a9a")
WIDTHS = tuple(2.0 ** (half / 2.0) for half in range(-20, 21))
WIDTHS_ON_LARGE_SETS = tuple(2.0 ** (half / 2.0) for half in range(-10, 11))
# A fit is cubic in the rows: a thousand take up to half a minute, four thousand minutes. The paper has no such limit.
MAX_ROWS = {"search": 400, "fit": 1300}
MAX_ROWS_ON_LARGE_SETS = {"search": 1000, "fit": 4000}
# Rows closer than this count as equal.
MIN_DISTANCE = 1e-9
N_FOLDS = 3


class RelevanceVectorClassifier(TwoClassMachine):
    """Sparse Bayesian classifier with one Gaussian kernel exp(-|x - z|^2 / width^2) for each row, and a bias.

    Parameters
    ----------
    width : float
        Width of the kernel, as Tipping's code defines it.
    max_rows : int, optional
        Number of rows, drawn at random, to learn from if there are more.
    max_iter : int
        Maximum number of steps of the fit.
    random_state : int or Generator, optional
        Seed of the rows drawn; nothing else is random.

    Attributes
    ----------
    classes_ : ndarray (2,)
        The labels.
    machine_ : RVC
        The fitted machine. Where no vector is relevant, every row gets the larger class.
    """

    def __init__(
        self, width: float = 1.0, max_rows: int | None = None, max_iter: int = 1000, random_state: Seed = None
    ) -> None:
        self.width = width
        self.max_rows = max_rows
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Rows, y: Labels) -> Self:
        """Learn from rows and their labels."""
        check_positive(width=self.width, max_iter=self.max_iter)
        X, is_second = self._validate_training(X, y)
        rows = draw_rows(len(is_second), self.max_rows, self.random_state)
        self.larger_ = 1.0 if is_second.mean() > 0.5 else -1.0
        self.machine_ = _make_machine(gamma=self.width**-2.0, fit_intercept=True, max_iter=self.max_iter)
        self.machine_.fit(as_dense(X[rows]), is_second[rows].astype(int))
        return self

    def decision_function(self, X: Rows) -> FloatArray:
        """Return the log odds of the second class."""
        X = self._validate(X)
        # fastrvm cannot predict if a wide kernel left only the bias.
        if self.n_experts_ == 0:
            return np.full(X.shape[0], self.larger_)
        return np.ravel(self.machine_.decision_function(as_dense(X)))

    @property
    def n_experts_(self) -> int:
        """Number of relevance vectors."""
        return len(self.machine_.relevance_vectors_)


def tune(X: Rows, y: Labels, seed: int, set_name: str) -> TunedBaseline:
    """Tune the width over 2^-10, 2^-9.5, ..., 2^10 (2^-5..2^5 on ijcnn1 and a9a) by three folds, as the paper does.

    The search uses at most 400 rows and the fit 1,300 (1,000 and 4,000 on ijcnn1 and a9a). Widths at which the kernel
    between rows is nearly zero, where a fit is slow and uninformative about new rows, are left out.
    """
    is_large = set_name in LARGE_SETS
    max_rows = MAX_ROWS_ON_LARGE_SETS if is_large else MAX_ROWS
    rows = draw_rows(len(y), max_rows["search"], seed)
    X_search, y_search = as_dense(X[rows]), y[rows]
    splits = make_folds(y_search, N_FOLDS, seed)
    errors = {
        width: cross_validation_error(RelevanceVectorClassifier(width), X_search, y_search, splits)
        for width in informative_widths(X_search, WIDTHS_ON_LARGE_SETS if is_large else WIDTHS)
    }
    width = min(errors, key=errors.__getitem__)
    estimator = RelevanceVectorClassifier(width, max_rows=max_rows["fit"], random_state=seed).fit(X, y)
    return TunedBaseline(estimator, estimator.n_experts_, {"width": width})


def informative_widths(X: FloatArray, widths: Sequence[float]) -> list[float]:
    """Return the widths at which the kernel between nearest distinct rows is above one half on average."""
    distances = pairwise_distances(X)
    distances[distances < MIN_DISTANCE] = np.inf
    nearest = distances.min(axis=1)
    return [width for width in widths if np.mean(np.exp(-((nearest / width) ** 2))) > 0.5] or list(widths[-1:])


def draw_rows(n_rows: int, max_rows: int | None, seed: Seed) -> NDArray[np.intp]:
    """Return the indices of all rows, or of `max_rows` of them drawn at random."""
    if max_rows is None or n_rows <= max_rows:
        return np.arange(n_rows)
    return np.random.default_rng(seed).permutation(n_rows)[:max_rows]


def _make_machine(**parameters: float) -> "RVC":
    """Return an unfitted machine of fastrvm."""
    try:
        from fastrvm import RVC  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("The baseline RVM needs the package fastrvm: pip install softpolytope[paper].") from error
    return RVC(**parameters)
