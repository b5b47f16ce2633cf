"""The four classifiers: one expert or many, one layer or several.

The signatures of the four constructors repeat each other on purpose: scikit-learn reads the parameters of a class from
its constructor, and so do editors and type checkers.
"""

from softpolytope.estimators._base import SoftplusBase
from softpolytope.estimators._documentation import with_shared_documentation
from softpolytope.estimators._parameters import (
    CheckpointFolder,
    ClassWeight,
    Inference,
    NumberOfLayers,
    RandomState,
    Scan,
    Start,
)
from softpolytope.model import Estimate, Prior


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
    n_layers : int or "auto"
        Layers of the stack; "auto" chooses 1, 2, 3 or 5 by the likelihood of held-out rows.
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
        n_layers: NumberOfLayers = 3,
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
    n_layers : int or "auto"
        Layers of each expert; "auto" chooses 1, 2, 3 or 5 by the likelihood of held-out rows.
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
        n_layers: NumberOfLayers = 3,
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
