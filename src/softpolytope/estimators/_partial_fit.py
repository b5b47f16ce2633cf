"""Fits of classifiers batch by batch."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from softpolytope.estimators._parameters import Settings, warn_of_unused
from softpolytope.estimators._problems import fit_batch, make_array_problems, with_layers
from softpolytope.estimators._validation import check_known_classes, plain_labels, validate_training_rows
from softpolytope.export import FittedRegression
from softpolytope.model import Posterior, encode_labels
from softpolytope.parallel import RunOptions

if TYPE_CHECKING:
    from softpolytope.estimators._base import SoftplusBase

Classifier = TypeVar("Classifier", bound="SoftplusBase")

NO_STATE = (
    "it was read from a file that does not hold the state of the fit. The file was written by an earlier version or by "
    "save(state=False), or the chains were not kept, which only a fit with warm_start=True does."
)


def has_partial_fit(classifier: "SoftplusBase") -> bool:
    """Raise an AttributeError if a classifier has no `partial_fit`, as scikit-learn's `available_if` expects."""
    if classifier.inference == "gibbs":
        raise AttributeError('partial_fit updates modes, but inference="gibbs" has none. Set inference="bootstrap".')
    return True


def partial_fit(
    self: Classifier,
    X: ArrayLike,
    y: ArrayLike,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Classifier:
    """Learn from one more batch of rows, which are not kept.

    The first batch decides the prior's precision rate and where the modes start, so it should be as large and as
    mixed as possible; each later one moves them by steps of Adam. After `fit` it continues from the modes found
    there.

    Parameters
    ----------
    X, y, sample_weight
        As in `fit`; a batch need not have all classes.
    classes : array-like, optional
        All labels there will be; required in the first call.

    Returns
    -------
    self
        The classifier after the batch.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C ends the batch, which then changes nothing.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softpolytope import SumStackSoftplusClassifier
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> model = SumStackSoftplusClassifier(random_state=0, max_experts=6)
    >>> for rows in range(0, 600, 200):
    ...     model = model.partial_fit(X[rows : rows + 200], y[rows : rows + 200], classes=[0, 1])
    >>> model.score(X, y) > 0.95
    True
    """
    before = dict(self.__dict__)
    try:
        _fit_batch(self, X, y, classes, sample_weight)
    except BaseException:
        # A batch that fails, or is interrupted, changes nothing.
        self.__dict__.clear()
        self.__dict__.update(before)
        raise
    return self


def _fit_batch(
    classifier: "SoftplusBase", X: ArrayLike, y: ArrayLike, classes: ArrayLike | None, sample_weight: ArrayLike | None
) -> None:
    parameters = classifier.get_params(deep=False)
    settings = Settings.from_parameters(parameters)
    if classifier.class_weight == "balanced":
        raise ValueError('class_weight="balanced" needs all rows at once. Give weights by class as a dict.')
    fits: list[FittedRegression] = getattr(classifier, "_fits", [])
    if fits and classifier.inference_ == "gibbs":
        message = "partial_fit starts from scratch: the last fit ran chains, which cannot take more rows."
        warnings.warn(message, stacklevel=4)
        fits, classes = [], classifier.classes_ if classes is None else classes
    if fits and settings.inference != classifier.inference_:
        own = {"inference": classifier.inference_, "bootstrap": False}
        settings = Settings.from_parameters(parameters | own)
    if any(fit.state is None for fit in fits):
        raise ValueError(
            f"partial_fit cannot continue from this model: {NO_STATE} Fit it from scratch, or start with "
            "sklearn.base.clone(model)."
        )
    is_first = not fits
    if is_first:
        warn_of_unused(classifier, settings.inference, is_batch=True)
    rows, labels, weights = validate_training_rows(classifier, X, y, sample_weight, is_first=is_first)
    _set_classes(classifier, classes, is_first=is_first)
    check_known_classes(classifier.classes_, classifier.class_weight)
    codes = encode_labels(labels, classifier.classes_, len(labels))
    if not (weights > 0.0).any():
        raise ValueError("sample_weight is zero for all rows of the batch. Leave such batches out.")
    problems, fingerprint = make_array_problems(rows, codes, weights, classifier.classes_, classifier.random_state)
    n_threads = effective_n_jobs(classifier.n_jobs)
    before: Sequence[FittedRegression | None] = fits or [None] * len(problems)
    settings = with_layers(settings, problems, RunOptions(n_threads), fits)
    classifier._fits = [
        fit_batch(problem, settings, n_threads, earlier) for problem, earlier in zip(problems, before, strict=True)
    ]
    known = None if is_first else classifier._training_rows
    classifier._training_rows = fingerprint if is_first else known and known.with_batch(fingerprint)
    classifier.inference_, classifier._n_burn_in = settings.inference, 0
    classifier.bootstrap_ = settings.inference == "bootstrap"
    classifier.posterior_ = Posterior(tuple(fit.posterior for fit in classifier._fits))


def _set_classes(classifier: "SoftplusBase", classes: ArrayLike | None, *, is_first: bool) -> None:
    """Set the classes in the first call of `partial_fit`, and check them in later ones."""
    if classes is None:
        if is_first:
            raise ValueError("classes must be given in the first call of partial_fit: all labels there will be.")
        return
    found = np.unique(np.asarray(plain_labels(classes, "classes")))
    if not is_first and not np.array_equal(found, classifier.classes_):
        raise ValueError(f"classes were {classifier.classes_.tolist()} in the first call; got {found.tolist()}.")
    if len(found) < 2:
        raise ValueError(f"classes must hold at least two labels; got {found.tolist()}.")
    classifier.classes_ = found
