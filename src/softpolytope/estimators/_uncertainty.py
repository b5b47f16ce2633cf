"""How unsure a fitted classifier is, and which rows' labels would teach it most."""

import warnings
from typing import Any, Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from softpolytope._typing import FloatArray
from softpolytope.estimators._parameters import make_seed
from softpolytope.inspection import (
    Uncertainty,
    check_number,
    is_sampled,
    select_bald,
    select_epig,
    uncertainty_from_draws,
)

Subject = Literal["labels", "parameters"]

# Sets the numbers of `query` apart from those of `fit`, whose seeds are (random_state, class).
QUERY_STREAM = 0x51554552


class UncertaintyMixin:
    """Split the uncertainty of a fitted classifier, and ask for labels."""

    classes_: NDArray[Any]
    random_state: Any

    def _has_posterior_spread(self) -> bool:
        raise NotImplementedError

    def predict_proba_draws(self, X: ArrayLike) -> FloatArray:
        """Probabilities by every kept draw."""
        raise NotImplementedError

    def predict_uncertainty(self, X: ArrayLike) -> Uncertainty:
        """Uncertainty about the label of each row, in nats, and the two parts it has.

        Aleatoric is what a row leaves open even to one who knows the law of the labels, the mean entropy of the draws;
        epistemic is what more labels could teach, the mutual information of label and parameters. Their sum, the total,
        is the entropy of the mean probabilities. The epistemic part is that of the posterior if there are draws
        (inference="gibbs"), an approximation of it if there are modes with `bootstrap=True`; of plain modes it is far
        too small, and a warning says so.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        Uncertainty
            With `total`, `aleatoric` and `epistemic`, each of shape (n_samples,).

        Examples
        --------
        Far from all rows the draws disagree; amid rows of both labels they agree that it is chance.

        >>> from softpolytope import SoftplusClassifier
        >>> X, y = [[-1.0], [-0.1], [0.0], [0.1], [1.0]] * 8, [0, 0, 1, 0, 1, 0, 1, 0, 1, 1] * 4
        >>> model = SoftplusClassifier(inference="gibbs", n_sweeps=200, random_state=0).fit(X, y)
        >>> middle = model.predict_uncertainty([[0.0]])
        >>> bool(middle.aleatoric[0] > 10.0 * middle.epistemic[0])
        True
        """
        check_is_fitted(self)
        warn_of_modes(self, "epistemic uncertainties")
        return uncertainty_from_draws(self.predict_proba_draws(X))

    def query(self, X: ArrayLike, n: int = 1, about: Subject = "labels") -> NDArray[np.intp]:
        """Rows of X whose labels, together, would teach this classifier most: the ones to have labeled next.

        Each next row is the one that teaches most given the labels of those before it, so that of rows that teach the
        same not all are chosen. It takes draws from the posterior to know what is not known: fit with
        inference="gibbs", or with `bootstrap=True` and many restarts. Plain modes are taken too, with a warning.

        What is not among the draws is not asked about: with few labels all of them may be too simple for the boundary,
        and queries worse than rows at random. Label some at random first, as many as make the error fall
        (docs/query.md).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows without labels, all there are: they are also the rows whose labels are to be told.
        n : int
            How many to choose.
        about : {"labels", "parameters"}
            Subject of the information gain: the labels of all rows of X (`softpolytope.inspection.select_epig`), or
            the parameters (`softpolytope.inspection.select_bald`), which often selects rows at the edge of the data.
            "parameters" uses random numbers if there are very many ways to label n rows, with two classes above eleven
            rows; an integer `random_state` gives the same rows at every call even then.

        Returns
        -------
        ndarray of shape (n,)
            Their indices, the most informative first.

        Examples
        --------
        >>> from softpolytope import SoftplusClassifier
        >>> X, y = [[-2.0], [-1.5], [1.5], [2.0]] * 3, [0, 0, 1, 1] * 3
        >>> model = SoftplusClassifier(inference="gibbs", n_sweeps=200, random_state=0).fit(X, y)
        >>> model.query([[-2.0], [0.0], [2.0]]).tolist()
        [1]
        """
        check_is_fitted(self)
        if about not in get_args(Subject):
            raise ValueError(f"about must be one of {', '.join(map(repr, get_args(Subject)))}; got {about!r}.")
        warn_of_modes(self, "queries")
        probabilities = self.predict_proba_draws(X)
        if len(probabilities) < 2:
            raise ValueError(
                "query asks where draws disagree, and this model has one; fit with more draws or restarts."
            )
        if about == "labels":
            return select_epig(probabilities, n)
        check_number(n, probabilities.shape[1])
        return select_bald(probabilities, n, self._query_generator(n))

    def _query_generator(self, n: int) -> Generator | None:
        """A generator if n rows need one; a RandomState of the user's is not touched in vain."""
        if not is_sampled(n, len(self.classes_)):
            return None
        return np.random.default_rng([make_seed(self.random_state), QUERY_STREAM])


def warn_of_modes(classifier: Any, what: str) -> None:
    """Say that the spread of plain modes is not the posterior's; to be called by the method that the user calls."""
    if not classifier._has_posterior_spread():
        warnings.warn(
            f"these {what} go by the spread of modes, which is much narrower than the posterior; for {what} to trust, "
            'fit with inference="gibbs", or with bootstrap=True and n_restarts=20 or more.',
            stacklevel=3,
        )
