"""Predictions of fitted classifiers: methods that answer for one row after the other."""

import numbers
import warnings
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from softpolytope import inspection
from softpolytope._typing import FloatArray
from softpolytope.data import check_columns, is_dask_collection, validate_rows
from softpolytope.estimators._parameters import RandomState, make_seed
from softpolytope.geometry import validate_probability
from softpolytope.inspection import n_draws_needed
from softpolytope.model import FittedModel, central_interval, check_estimate
from softpolytope.parallel.dask import apply_lazily, empty_meta

if TYPE_CHECKING:
    from softpolytope.estimators._base import SoftplusBase

# Keeps the random numbers of `sample_prior` apart from those of `fit`, whose seeds are (random_state, class).
PRIOR_STREAM = 0x5052494F


def predict_proba(classifier: "SoftplusBase", X: ArrayLike) -> FloatArray:
    """Return the probabilities of the classes, (n_samples, n_classes), columns in the order of `classes_`.

    For a Dask array or data frame, all predictions by row are Dask arrays, which are computed when asked for.
    """
    if is_dask_collection(X):
        return _predict_lazily(classifier, predict_proba, X, np.empty((0, _n_classes(classifier))))
    rows = validate_rows(classifier, X)
    n_threads = effective_n_jobs(classifier.n_jobs)
    return classifier.posterior_.class_probabilities(rows, classifier.estimate, n_threads)


def predict_log_proba(classifier: "SoftplusBase", X: ArrayLike) -> FloatArray:
    """Return the logarithms of the probabilities of the classes, (n_samples, n_classes)."""
    if is_dask_collection(X):
        return _predict_lazily(classifier, predict_log_proba, X, np.empty((0, _n_classes(classifier))))
    rows = validate_rows(classifier, X)
    n_threads = effective_n_jobs(classifier.n_jobs)
    return classifier.posterior_.class_log_probabilities(rows, classifier.estimate, n_threads)


def decision_function(classifier: "SoftplusBase", X: ArrayLike) -> FloatArray:
    """Return the log odds of the second class, (n_samples,).

    With more than two classes, return log probabilities, (n_samples, n_classes).
    """
    if is_dask_collection(X):
        n_classes = _n_classes(classifier)
        example = np.empty(0) if n_classes == 2 else np.empty((0, n_classes))
        return _predict_lazily(classifier, decision_function, X, example)
    logs = predict_log_proba(classifier, X)
    return np.asarray(logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs)


def predict(classifier: "SoftplusBase", X: ArrayLike) -> NDArray[Any]:
    """Return the most probable class of each row, (n_samples,)."""
    if is_dask_collection(X):
        check_is_fitted(classifier)
        return _predict_lazily(classifier, predict, X, classifier.classes_[:0])
    probabilities = predict_proba(classifier, X)
    if probabilities.shape[1] == 2:
        codes = (probabilities[:, 1] > probabilities[:, 0]).astype(np.intp)
    else:
        codes = probabilities.argmax(axis=1)
    return np.asarray(classifier.classes_[codes])


def predict_proba_draws(classifier: "SoftplusBase", X: ArrayLike) -> FloatArray:
    """Return the probability of the second class by every member, kept draw or mode, (n_draws, n_samples).

    The draws of both labelings form one mixture: first those fitted to the labels, then as many fitted to the flipped
    labels. `predict_proba` averages these probabilities or, for members of a bootstrap, their log odds. With more than
    two classes, return the probabilities of all of them, (n_draws, n_samples, n_classes).
    """
    rows = validate_rows(classifier, X)
    return classifier.posterior_.class_probability_draws(rows, effective_n_jobs(classifier.n_jobs))


def sample_prior(
    classifier: "SoftplusBase", X: ArrayLike, n_draws: int = 1000, random_state: RandomState = None
) -> FloatArray:
    """Return the probability of the second class under draws from the prior of the fitted model.

    This shows what the model assumes before it sees a label. The prior is that of the fit, `prior_`, on the
    standardized columns of the training rows: its scale is chosen by the fit unless `prior` is given. The draws of both
    labelings form one mixture, in equal shares: first those of the labels, then those of the flipped labels. For modes,
    mass and concentration are the means of their priors, and the precision rate of each draw is that of a member of the
    bootstrap, or of a restart.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Finite numbers.
    n_draws : int
        Number of draws of both labelings together.
    random_state : int, RandomState or None
        An integer makes the draws reproducible.

    Returns
    -------
    ndarray of shape (n_draws, n_samples)
        Probabilities; with more than two classes, of all of them: (n_draws, n_samples, n_classes).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softpolytope import SumStackSoftplusClassifier
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = SumStackSoftplusClassifier(random_state=0).fit(X, y)
    >>> before = model.sample_prior(X, n_draws=400, random_state=0)
    >>> before.shape, bool(abs(before.mean() - 0.5) < 0.1)
    ((400, 100), True)
    """
    rows = validate_rows(classifier, X)
    if isinstance(n_draws, bool) or not isinstance(n_draws, numbers.Integral):
        raise ValueError(f"n_draws must be an integer; got {n_draws!r}.")
    rng = np.random.default_rng((make_seed(random_state), PRIOR_STREAM))
    return inspection.sample_prior(classifier.model_, rows, int(n_draws), rng)


def predict_interval(classifier: "SoftplusBase", X: ArrayLike, level: float = 0.89) -> FloatArray:
    """Return the central posterior interval of the probability of the second class, (n_samples, 2).

    The ends are quantiles over the members of a bootstrap (the default), which approximate the posterior, or over draws
    from the posterior (`inference="gibbs"`). A model of plain modes (`inference="map"`) raises a ValueError: they only
    show how far optimizations from different starts disagree, and intervals of 89 % made of them contain the true
    probability in about half of all cases (docs/results/intervals.md). `predict_proba_draws` returns
    the probabilities by mode.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, or Dask array or data frame of shape (n_samples, n_features)
        Finite numbers.
    level : float
        Posterior probability of each interval. Fewer than (1 + level) / (1 - level) members or draws, 18 for 0.89, are
        too few, and give a warning.

    Returns
    -------
    ndarray of shape (n_samples, 2)
        Lower and upper end; with more than two classes, of all of them: (n_samples, n_classes, 2).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softpolytope import SumStackSoftplusClassifier
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = SumStackSoftplusClassifier(random_state=0).fit(X, y)
    >>> low, high = model.predict_interval(X).T
    >>> bool((low < model.predict_proba(X)[:, 1]).all() and (model.predict_proba(X)[:, 1] < high).all())
    True
    """
    level = validate_probability("level", level)
    _check_intervals(classifier.model_, level)
    if is_dask_collection(X):
        n_classes = _n_classes(classifier)
        example = np.empty((0, 2) if n_classes == 2 else (0, n_classes, 2))
        return _predict_lazily(classifier, partial(_intervals, level=level), X, example)
    return _intervals(classifier, X, level)


def _intervals(classifier: "SoftplusBase", X: ArrayLike, level: float) -> FloatArray:
    bounds = central_interval(predict_proba_draws(classifier, X), level)
    return np.ascontiguousarray(np.moveaxis(bounds, 0, -1))


def _check_intervals(model: FittedModel, level: float) -> None:
    """Raise if the model has plain modes only; warn if it has too few draws for intervals of this level."""
    n_draws = model.posterior.regressions[0].n_draws
    if not model.has_posterior_spread:
        raise ValueError(
            f"predict_interval requires a sample from the posterior, but this model has {n_draws} modes, whose spread "
            'is much narrower. Refit with inference="bootstrap" (the default) or inference="gibbs"; '
            "predict_proba_draws has the probabilities by mode."
        )
    n_needed = n_draws_needed(level)
    if n_draws < n_needed:
        noun, option = ("members", "n_members") if model.is_bootstrap else ("draws", "n_draws or n_chains")
        warnings.warn(
            f"intervals of level {level:g} need {n_needed} {noun} or more, but this model has {n_draws}, so they are "
            f"too narrow. Refit with a larger {option}.",
            stacklevel=3,
        )


def _n_classes(classifier: "SoftplusBase") -> int:
    check_is_fitted(classifier)
    return len(classifier.classes_)


def _predict_lazily(
    classifier: "SoftplusBase",
    function: Callable[["SoftplusBase", Any], NDArray[Any]],
    X: Any,  # a Dask collection; Dask is an extra
    example: NDArray[Any],
) -> NDArray[Any]:
    """Return a Dask array of what `function` returns for the rows of a Dask collection; `example` has no rows."""
    check_estimate(classifier.estimate)  # here, not when the first chunk is computed
    check_columns(classifier, X.shape[1], getattr(empty_meta(X), "columns", None))
    # A copy for other processes, without the state of the fit.
    lean = copy(classifier)
    for name in ("_fits", "_skl_callbacks"):
        lean.__dict__.pop(name, None)
    lean.__dict__.update(n_jobs=1, checkpoint=None)
    found: NDArray[Any] = apply_lazily(partial(_predict_chunk, function=function), lean, X, example)
    return found


def _predict_chunk(
    classifier: "SoftplusBase", rows: Any, *, function: Callable[["SoftplusBase", Any], NDArray[Any]]
) -> NDArray[Any]:
    """Predict the rows of a chunk, which may be empty."""
    if rows.shape[0] == 0:
        return function(classifier, np.zeros((1, classifier.n_features_in_)))[:0]
    with warnings.catch_warnings():
        # The caller has been warned once.
        warnings.simplefilter("ignore")
        return function(classifier, rows)
