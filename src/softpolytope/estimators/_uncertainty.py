"""Uncertainty of fitted classifiers: its two parts, rows to label next, and diagnostics of chains."""

import warnings
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from softpolytope._deprecation import accept_old_keyword
from softpolytope.estimators._parameters import make_seed
from softpolytope.estimators._predict import predict_proba_draws
from softpolytope.inspection import (
    Diagnosis,
    MemberDiagnosis,
    Uncertainty,
    check_number,
    diagnose_members,
    diagnose_model,
    disagreement,
    in_words,
    is_sampled,
    select_bald,
    select_epig,
    uncertainty_from_draws,
)
from softpolytope.model import FittedModel

if TYPE_CHECKING:
    from softpolytope.estimators._base import SoftplusBase

Criterion = Literal["epig", "bald"]

# Chains that differ by more than this are worth a warning at once.
WARNING_R_HAT = 1.2
# Keeps the random numbers of `query` apart from those of `fit`, whose seeds are (random_state, class).
QUERY_STREAM = 0x51554552


def diagnostics(classifier: "SoftplusBase") -> list[Diagnosis] | list[MemberDiagnosis]:
    """Return what limits the precision of probabilities and intervals: too few members, or chains that disagree.

    Of members of a bootstrap (the default), return for each of a few training rows a
    `softpolytope.inspection.MemberDiagnosis`: the Monte Carlo errors of the probability and of both ends of its
    interval, which shrink as `n_members` grows, and the difference of the two labelings in units of its error.
    `softpolytope.inspection.members_in_words` describes problems.

    Of chains (`inference="gibbs"`), return R-hat and effective draws of log-likelihood, number of experts and
    probabilities at training rows; `softpolytope.inspection.in_words` describes problems. Plain modes
    (`inference="map"`) have no diagnostics, and raise a ValueError.

    `fit` gives a ConvergenceWarning if several chains disagree about these probabilities: if an R-hat is above 1.05 and
    either larger than so few draws explain, or confirmed by the log-likelihood or the number of experts, which every
    sweep records.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softpolytope import SumSoftplusClassifier
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> first = SumSoftplusClassifier(random_state=0).fit(X, y).diagnostics()[0]
    >>> first.name, first.n_members
    ('probability at training row 0', 20)
    >>> bool(0.0 < first.probability_error < first.interval[1] - first.interval[0])
    True
    """
    model = classifier.model_
    if model.inference == "gibbs":
        return diagnose_model(model)
    if not model.is_bootstrap:
        raise ValueError(
            'diagnostics requires members of a bootstrap or chains, but this model was fitted with inference="map". '
            'Refit with inference="bootstrap" (the default) or inference="gibbs".'
        )
    return diagnose_members(model)


def predict_uncertainty(classifier: "SoftplusBase", X: ArrayLike) -> Uncertainty:
    """Return the uncertainty about the label of each row, in nats, split into two parts.

    The aleatoric part remains even if the law of the labels is known: it is the mean entropy of the draws. The
    epistemic part is what more labels could teach: the mutual information of label and parameters. Their sum, the
    total, is the entropy of the mean probabilities. Draws from the posterior (`inference="gibbs"`) have its epistemic
    part, and members of a bootstrap (the default) approximate it; that of plain modes (`inference="map"`) is far too
    small, and a warning says so.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Finite numbers.

    Returns
    -------
    Uncertainty
        `total`, `aleatoric` and `epistemic`, each of shape (n_samples,).

    Examples
    --------
    Far from all rows the members disagree; among rows of both labels they agree that the label is random.

    >>> from softpolytope import SoftplusClassifier
    >>> X, y = [[-1.0], [-0.1], [0.0], [0.1], [1.0]] * 8, [0, 0, 1, 0, 1, 0, 1, 0, 1, 1] * 4
    >>> model = SoftplusClassifier(random_state=0).fit(X, y)
    >>> middle = model.predict_uncertainty([[0.0]])
    >>> bool(middle.aleatoric[0] > 10.0 * middle.epistemic[0])
    True
    """
    _warn_about_modes(classifier.model_, "epistemic uncertainties", stacklevel=3)
    return uncertainty_from_draws(predict_proba_draws(classifier, X))


@accept_old_keyword("about", "criterion", {"labels": "epig", "parameters": "bald"})
def query(classifier: "SoftplusBase", X: ArrayLike, n: int = 1, criterion: Criterion = "epig") -> NDArray[np.intp]:
    """Return the rows of X whose labels, together, would teach this classifier most: the ones to label next.

    Each next row is the one that teaches most given the labels of those before it, so rows that teach the same are not
    all chosen. What is not known is read from the members of a bootstrap (the default) or from posterior draws
    (`inference="gibbs"`). Plain modes give a warning.

    Queries cannot see what no member contains: with few labels, all may be too simple for the boundary, and queries
    worse than rows at random. Label rows at random first, until the error falls (docs/query.md).

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        All rows without labels: they are also the rows whose labels are to be predicted.
    n : int
        Number of rows to choose.
    criterion : {"epig", "bald"}
        "epig" selects by the information about the labels of all rows of X (`softpolytope.inspection.select_epig`);
        "bald" by the information about the parameters (`softpolytope.inspection.select_bald`), which often selects rows
        at the edge of the data. "bald" uses random numbers if there are very many ways to label n rows, with two
        classes above eleven rows; an integer `random_state` gives the same rows at every call even then.

    Returns
    -------
    ndarray of shape (n,)
        Indices of rows, the most informative first.

    Examples
    --------
    >>> from softpolytope import SoftplusClassifier
    >>> X, y = [[-2.0], [-1.5], [1.5], [2.0]] * 3, [0, 0, 1, 1] * 3
    >>> model = SoftplusClassifier(random_state=0).fit(X, y)
    >>> model.query([[-2.0], [0.0], [2.0]]).tolist()
    [1]
    """
    if criterion not in get_args(Criterion):
        raise ValueError(f"criterion must be one of {', '.join(map(repr, get_args(Criterion)))}; got {criterion!r}.")
    _warn_about_modes(classifier.model_, "queries", stacklevel=4)  # one more for the decorator
    probabilities = predict_proba_draws(classifier, X)
    if len(probabilities) < 2:
        raise ValueError(
            "query requires draws or members that can disagree, but this model has only one. Refit with more of them."
        )
    if criterion == "epig":
        return select_epig(probabilities, n)
    check_number(n, probabilities.shape[1])
    rng: Generator | None = None
    # A RandomState of the user changes only if its numbers are needed.
    if is_sampled(n, len(classifier.classes_)):
        rng = np.random.default_rng([make_seed(classifier.random_state), QUERY_STREAM])
    return select_bald(probabilities, n, rng)


def warn_of_disagreement(model: FittedModel, n_chains: int) -> None:
    """Warn if chains disagree; for `fit`, which scikit-learn wraps."""
    diagnoses = diagnose_model(model)
    n_kept = len(model.labelings[0].draws) // n_chains
    loud = [item for item in diagnoses if item.r_hat > WARNING_R_HAT and "log-likelihood" in item.name]
    for sentence in (disagreement(diagnoses, n_chains, n_kept), *in_words(loud[:1])):
        if sentence is not None:
            warnings.warn(sentence, ConvergenceWarning, stacklevel=5)


def _warn_about_modes(model: FittedModel, what: str, stacklevel: int) -> None:
    """Warn that the spread of plain modes is not that of the posterior; for methods that the user calls directly."""
    if not model.has_posterior_spread:
        warnings.warn(
            f"these {what} are based on the spread of modes, which is much narrower than the posterior. For reliable "
            f'{what}, refit with inference="bootstrap" (the default) or inference="gibbs".',
            stacklevel=stacklevel,
        )
