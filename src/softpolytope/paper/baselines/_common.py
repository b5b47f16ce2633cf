"""Parts that the baselines share: types, the base class, checks, folds and the paper's sequential search."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.paper._typing import Labels, Rows

Seed: TypeAlias = int | np.random.Generator | None
Splits: TypeAlias = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]

_Value = TypeVar("_Value")
_Kernel = TypeVar("_Kernel", bound=Callable[..., object])


class TunedBaseline(NamedTuple):
    """A baseline fitted to all rows with the parameters that cross-validation chose."""

    estimator: ClassifierMixin
    n_experts: int  # as the paper's table of experts counts them
    chosen: Mapping[str, object]  # parameter values by name


class Baseline(Protocol):
    """A module of this room."""

    N_FOLDS: int

    def tune(self, X: Rows, y: Labels, seed: int, set_name: str, /) -> TunedBaseline:
        """Tune and fit the method; some data sets have parameters of their own."""


class TwoClassMachine(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn is untyped
    BaseEstimator,  # type: ignore[misc]  # scikit-learn is untyped
    ABC,
):
    """A classifier of two classes, for dense or sparse rows, by the sign of its decision function."""

    classes_: Labels

    @abstractmethod
    def decision_function(self, X: Rows) -> FloatArray:
        """Return scores (n_samples,), positive for the second class."""

    def predict(self, X: Rows) -> Labels:
        """Return the second class where the decision function is positive, the first elsewhere."""
        is_second = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[is_second.astype(np.intp)])

    def _validate_training(self, X: Rows, y: Labels) -> tuple[Rows, BoolArray]:
        """Set `classes_`; return valid rows, and for each whether it has the second class."""
        rows, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, is_second = encode_two_classes(labels)
        return rows, is_second

    def _validate(self, X: Rows) -> Rows:
        """Return valid rows to predict."""
        check_is_fitted(self)
        rows: Rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return rows

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def compiled(function: _Kernel) -> _Kernel:
    """Compile a kernel with numba, and cache the machine code."""
    try:
        from numba import njit  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("The paper's baselines need the package numba: pip install softpolytope[paper].") from error
    return cast(_Kernel, njit(cache=True)(function))


def as_dense(X: Rows) -> FloatArray:
    """Return rows as an array."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def dense_with_bias(X: Rows) -> FloatArray:
    """Return rows as a C-ordered array of doubles, with a last column of ones."""
    dense = as_dense(X)
    return np.ascontiguousarray(np.column_stack([dense, np.ones(len(dense))]), dtype=np.float64)


def encode_two_classes(y: Labels) -> tuple[Labels, BoolArray]:
    """Return the two classes, and for each row whether it has the second; raise if there are not two."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y must hold two classes; got {len(classes)}: {classes[:5]}. Drop or merge classes first.")
    return classes, codes == 1


def check_positive(**parameters: float) -> None:
    """Raise unless every parameter is positive."""
    for name, value in parameters.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive; got {value!r}.")


def make_folds(y: Labels, n_folds: int, seed: int) -> Splits:
    """Return training and held-out rows of stratified folds, shuffled by the seed."""
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def cross_validation_error(machine: TwoClassMachine, X: Rows, y: Labels, splits: Splits) -> float:
    """Return the share of held-out rows that get a wrong label."""
    return float(np.mean(cross_val_predict(machine, X, y, cv=splits) != y))


def search_rows(rows: Iterable[Iterable[_Value]], error: Callable[[_Value], float]) -> tuple[_Value, float]:
    """Return the best value of a grid and its error, trying the values of each row until the error rises."""
    return min((first_rise(values, error) for values in rows), key=itemgetter(1))


def first_rise(values: Iterable[_Value], error: Callable[[_Value], float]) -> tuple[_Value, float]:
    """Return the best value and its error, trying values in order until the error rises, as the paper does."""
    tried: list[tuple[_Value, float]] = []
    for value in values:
        current = error(value)
        if tried and current > tried[-1][1]:
            break
        tried.append((value, current))
    return min(tried, key=itemgetter(1))
