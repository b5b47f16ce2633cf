"""The four classifiers: one expert or many, one layer or several.

The signatures of the four constructors repeat each other on purpose: scikit-learn reads the parameters of a class from
its constructor, and so do editors and type checkers.
"""

from typing import TypeVar

from softpolytope.estimators._base import SoftplusBase
from softpolytope.estimators._parameters import CheckpointFolder, ClassWeight, Inference, RandomState, Scan, Start
from softpolytope.model import Estimate, Prior

Class = TypeVar("Class", bound=type)

SHARED = """\
inference : {"auto", "bootstrap", "gibbs", "map"}
        "bootstrap" finds modes of the posterior, each from its own random start and under its own random weights of the
        rows; together they approximate a sample from the posterior, in seconds and at any size. "gibbs" draws from the
        posterior by an exact sampler. "map" finds modes that have all rows equally weighted: the fastest to fit, but
        without intervals. "auto" is "bootstrap".
    scan : {"auto", "paper", "collapsed"}
        Two exact samplers of one posterior; "auto" is the one that mixes better, the collapsed one.
    start : {"map", "random"}
        "gibbs": whether each chain starts at a mode of its own, or at random. With `fit_weight=False` all start at
        zero.
    symmetric : bool
        Whether to fit the labels and their opposites, and average the two.
    estimate : {"mean", "best"}
        Predict with all draws or modes together, or with one of each labeling: of a bootstrap the representative, which
        rules and explanations show, otherwise the one of highest training likelihood, as the paper does (of modes,
        among those of the best precision rate). May be changed after `fit`.
    n_members : int
        "bootstrap": modes of both labelings together, at least 18 for intervals of 89 %; an odd number is rounded up.
    n_restarts : int
        "map": optimizations per labeling, each from its own random start.
    bootstrap : bool
        Deprecated: True is `inference="bootstrap"` with `n_restarts` members per labeling.
    n_chains : int
        "gibbs": chains per labeling.
    n_sweeps, n_burn_in, n_draws : int
        "gibbs": total sweeps per chain; the first sweeps, which are discarded (by default half); and draws kept per
        chain, evenly spaced over the rest (by default up to 50).
    prior : Prior, optional
        Hyperparameters. If not given, `Prior(precision_shape=0.5, precision_rate="learned")` for modes, with the rate
        chosen among six by the likelihood of held-out rows, by every member of a bootstrap for itself; for "gibbs"
        `Prior()`, with the scale of the coefficients that the search for the chains' starts chose in this way. With
        `start="random"` or `fit_weight=False` there is no such search, and the prior is `Prior()`.
    standardize : bool
        Whether to fit with columns of mean 0 and variance 1 (sparse: mean square 1). Coefficients are reported in
        the units of X in any case.
    class_weight : dict, "balanced" or None
        Factors of the rows' weights by class.
    n_jobs : int, optional
        Number of threads; it changes no result.
    random_state : int, RandomState or None
        An integer makes the fit reproducible to the last bit.
    warm_start : bool
        Whether `fit` continues the last fit: "bootstrap" and "map" optimize their modes further, with these rows, and
        "bootstrap" adds members if `n_members` has grown; "gibbs" continues its chains, to a larger `n_sweeps`. A model
        that was saved and loaded continues from its file, to the same bits; a file without the state of the fit raises
        an error.
    checkpoint : str or Path, optional
        A folder to which chains are written once a minute, and finished optimizations once a second. An interrupted or
        killed fit of the same data resumes from there, to the same bits. Requires an integer `random_state`.
    verbose : int
        Above 0, a line with progress, time left, log-likelihood and experts is written to the error stream: a terminal
        shows one line that is updated in place, a file gets a new line ever less often.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    n_features_in_, feature_names_in_
        Number of columns of X, and their names if it had any.
    posterior_ : Posterior
        All kept draws, or modes.
    inference_ : {"bootstrap", "gibbs", "map"}
        Inference of the fit.
    bootstrap_ : bool
        Whether the modes are members of a bootstrap, so that their spread approximates that of the posterior.
    precision_rates_ : list
        "bootstrap" and "map": the precision rates of the modes, (labelings, modes) per regression.
    prior_ : list of Prior
        The prior of the fit, one per regression; for chains, with the precision rate that was chosen.
    precision_rates_ : list
        "map": the precision rates that the restarts chose, (n_restarts,) per regression.
    n_experts_ : int
        Experts with counts in the best draws, labelings added.
    expert_weights_, coefficients_ : list of ndarray
        Weights (experts,) and hyperplanes (experts, layers, 1 + n_features) of the best draws, in the units of X, the
        intercept first; one entry per labeling (and class, if there are more than two). The heaviest expert comes
        first: it is the expert 1 of `polytopes` and `explain`.
    log_likelihood_ : list of ndarray
        Training log-likelihood (chains, sweeps), or (restarts, 1) of modes; one entry per labeling (and class).
"""


def with_shared_documentation(classifier: Class) -> Class:
    """Replace "{shared}" in the docstring of a class by the parameters and attributes that all classifiers share."""
    # With python -OO there are no docstrings.
    if classifier.__doc__ is not None:
        classifier.__doc__ = classifier.__doc__.replace("{shared}", SHARED.rstrip())
    return classifier


@with_shared_documentation
class SoftplusClassifier(SoftplusBase):
    """One expert, one layer: a generalized linear model.

    P(y = 1 | x) = 1 - (1 + e^{x'beta})^{-r}: with r = 1 logistic regression, otherwise one with a skewed link.

    Parameters
    ----------
    fit_weight : bool
        Whether the expert's weight is fitted; held at one, this is Bayesian logistic regression.
    {shared}

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope import SoftplusClassifier
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 5)
    >>> model = SoftplusClassifier(random_state=0).fit(X, ["no", "no", "yes", "yes"] * 5)
    >>> model.predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    """

    def __init__(  # noqa: PLR0913  # scikit-learn reads the parameters from here
        self,
        *,
        fit_weight: bool = True,
        inference: Inference = "auto",
        scan: Scan = "auto",
        start: Start = "map",
        symmetric: bool = True,
        estimate: Estimate = "mean",
        n_members: int = 20,
        n_restarts: int = 5,
        bootstrap: bool = False,
        n_chains: int = 2,
        n_sweeps: int = 1000,
        n_burn_in: int | None = None,
        n_draws: int | None = None,
        prior: Prior | None = None,
        standardize: bool = True,
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        warm_start: bool = False,
        checkpoint: CheckpointFolder = None,
        verbose: int = 0,
    ) -> None:
        self._store_parameters(locals())


@with_shared_documentation
class SumSoftplusClassifier(SoftplusBase):
    """A sum of experts of one layer each: one class lies outside a convex polytope.

    P(y = 1 | x) = 1 - exp(-sum_k r_k log(1 + e^{x'beta_k})): a point is positive if any expert says so, so the
    negative rows are those inside a polytope with one face per expert.

    Parameters
    ----------
    max_experts : int
        Largest number of experts; those that the data do not need stay empty.
    {shared}

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from softpolytope import SumSoftplusClassifier
    >>> X, y = make_circles(120, factor=0.4, noise=0.1, random_state=0)
    >>> model = SumSoftplusClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(  # noqa: PLR0913  # scikit-learn reads the parameters from here
        self,
        *,
        max_experts: int = 20,
        inference: Inference = "auto",
        scan: Scan = "auto",
        start: Start = "map",
        symmetric: bool = True,
        estimate: Estimate = "mean",
        n_members: int = 20,
        n_restarts: int = 5,
        bootstrap: bool = False,
        n_chains: int = 2,
        n_sweeps: int = 1000,
        n_burn_in: int | None = None,
        n_draws: int | None = None,
        prior: Prior | None = None,
        standardize: bool = True,
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        warm_start: bool = False,
        checkpoint: CheckpointFolder = None,
        verbose: int = 0,
    ) -> None:
        self._store_parameters(locals())


@with_shared_documentation
class StackSoftplusClassifier(SoftplusBase):
    """One expert of several layers: one class lies inside a convex polytope.

    An expert of T layers says yes where all of its T criteria hold, so the positive rows are those inside a
    polytope with one face per layer.

    Parameters
    ----------
    n_layers : int
        Layers of the stack.
    {shared}

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from softpolytope import StackSoftplusClassifier
    >>> X, y = make_circles(120, factor=0.4, noise=0.1, random_state=0)
    >>> model = StackSoftplusClassifier(n_layers=4, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(  # noqa: PLR0913  # scikit-learn reads the parameters from here
        self,
        *,
        n_layers: int = 3,
        inference: Inference = "auto",
        scan: Scan = "auto",
        start: Start = "map",
        symmetric: bool = True,
        estimate: Estimate = "mean",
        n_members: int = 20,
        n_restarts: int = 5,
        bootstrap: bool = False,
        n_chains: int = 2,
        n_sweeps: int = 1000,
        n_burn_in: int | None = None,
        n_draws: int | None = None,
        prior: Prior | None = None,
        standardize: bool = True,
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        warm_start: bool = False,
        checkpoint: CheckpointFolder = None,
        verbose: int = 0,
    ) -> None:
        self._store_parameters(locals())


@with_shared_documentation
class SumStackSoftplusClassifier(SoftplusBase):
    """A sum of experts of several layers: one class lies in a union of convex polytopes.

    The most general of the four, and the one to try first: each expert is a polytope with one face per layer, and a
    point is positive if it lies in any of them.

    Parameters
    ----------
    max_experts : int
        Largest number of experts; those that the data do not need stay empty.
    n_layers : int
        Layers of each expert.
    {shared}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softpolytope import SumStackSoftplusClassifier
    >>> X, y = make_moons(120, noise=0.2, random_state=0)
    >>> model = SumStackSoftplusClassifier(random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 2)
    """

    def __init__(  # noqa: PLR0913  # scikit-learn reads the parameters from here
        self,
        *,
        max_experts: int = 20,
        n_layers: int = 3,
        inference: Inference = "auto",
        scan: Scan = "auto",
        start: Start = "map",
        symmetric: bool = True,
        estimate: Estimate = "mean",
        n_members: int = 20,
        n_restarts: int = 5,
        bootstrap: bool = False,
        n_chains: int = 2,
        n_sweeps: int = 1000,
        n_burn_in: int | None = None,
        n_draws: int | None = None,
        prior: Prior | None = None,
        standardize: bool = True,
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        warm_start: bool = False,
        checkpoint: CheckpointFolder = None,
        verbose: int = 0,
    ) -> None:
        self._store_parameters(locals())


CLASSIFIERS: dict[str, type[SoftplusBase]] = {
    classifier.__name__: classifier
    for classifier in (
        SoftplusClassifier,
        SumSoftplusClassifier,
        StackSoftplusClassifier,
        SumStackSoftplusClassifier,
    )
}
