"""What all classifiers predict, and what they tell of the posterior."""

import numbers
import warnings
from copy import copy
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted, validate_data

from softpolytope._typing import FloatArray
from softpolytope.data import check_finite
from softpolytope.estimators._fitting import FittedRegression
from softpolytope.estimators._inputs import naming_columns, take_columns
from softpolytope.inspection import PROBABILITY, Diagnosis, diagnose, n_draws_needed
from softpolytope.model import LabelingPosterior, Posterior, check_estimate, combined
from softpolytope.parallel.dask import empty_meta, is_dask_collection, lazily


class PredictionMixin:
    """Predict with the modes or draws of a fitted classifier, and look at them."""

    posterior_: Posterior
    classes_: NDArray[Any]
    inference_: Literal["gibbs", "map"]
    bootstrap_: bool
    estimate: Any  # an Estimate, checked on use
    _fits: list[FittedRegression]
    _first_kept: int

    def _n_threads(self) -> int:
        raise NotImplementedError

    def _has_posterior_spread(self) -> bool:
        """Whether the spread of the draws is that of the posterior, or approximates it; that of plain modes does not.

        It goes by how the model was fitted, not by the parameters, which may have been changed since.
        """
        return self.inference_ == "gibbs" or self.bootstrap_

    def _check_intervals(self, level: float) -> None:
        """Raise if there are plain modes only; warn if there are too few draws for intervals of this level."""
        n_draws = len(self.posterior_.regressions[0].labelings[0].draws)
        if not self._has_posterior_spread():
            raise ValueError(
                f"predict_interval requires posterior draws, but this model has {n_draws} modes, whose spread is much "
                'narrower than the posterior. Refit with inference="gibbs", or with bootstrap=True and n_restarts=20 '
                "or more; predict_proba_draws has the probabilities by mode."
            )
        n_needed = n_draws_needed(level)
        if n_draws < n_needed:
            option = "n_restarts" if self.bootstrap_ else "n_draws or n_chains"
            warnings.warn(
                f"intervals of level {level:g} need {n_needed} draws or more, and this model has {n_draws}, so that "
                f"they are too narrow; refit with a larger {option}.",
                stacklevel=3,
            )

    def _check_has_chains(self, name: str) -> None:
        """Raise if there are modes only."""
        if self.inference_ != "gibbs":
            raise ValueError(
                f"{name} is about chains, and this model has {self.inference_!r} modes, which are no draws from the "
                'posterior; fit with inference="gibbs".'
            )

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes, (n_samples, n_classes), columns in the order of `classes_`.

        Of a Dask array or data frame all predictions by row are Dask arrays, which are computed when asked for.
        """
        if is_dask_collection(X):
            return self._lazily("predict_proba", X, np.empty((0, len(self._classes()))))
        pairs = self._probabilities(X)
        if len(pairs) == 1:
            return np.column_stack([pairs[0][1], pairs[0][0]])
        positive, negative = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
        return np.ascontiguousarray(combined(positive, negative).T)

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Logarithms of the probabilities of the classes."""
        if is_dask_collection(X):
            return self._lazily("predict_log_proba", X, np.empty((0, len(self._classes()))))
        rows = self._validated_rows(X)
        pairs = [
            regression.log_probabilities(rows, self.estimate, self._n_threads())
            for regression in self.posterior_.regressions
        ]
        if len(pairs) == 1:
            return np.column_stack([pairs[0][1], pairs[0][0]])
        # As `combined` has it: the probability of a class is proportional to its odds.
        log_odds = np.stack([positive - negative for positive, negative in pairs])
        return np.ascontiguousarray(log_softmax(log_odds, axis=0).T)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log odds of the second class, (n_samples,); with more classes, log probabilities (n_samples, n_classes)."""
        if is_dask_collection(X):
            n_classes = len(self._classes())
            return self._lazily("decision_function", X, np.empty(0) if n_classes == 2 else np.empty((0, n_classes)))
        logs = self.predict_log_proba(X)
        return np.asarray(logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each row."""
        check_is_fitted(self)
        if is_dask_collection(X):
            return self._lazily("predict", X, self.classes_[:0])
        if len(self.classes_) == 2:
            positive, negative = self._probabilities(X)[0]
            codes = (positive > negative).astype(np.intp)
        else:
            codes = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[codes])

    def _probabilities(self, X: ArrayLike) -> list[tuple[FloatArray, FloatArray]]:
        """P(class) and P(not class) of every regression."""
        rows = self._validated_rows(X)
        return [
            regression.probabilities(rows, self.estimate, self._n_threads())
            for regression in self.posterior_.regressions
        ]

    def predict_proba_draws(self, X: ArrayLike) -> FloatArray:
        """Probabilities by every kept draw, or every mode: of the second class, (n_draws, n_samples).

        With more than two classes, of all of them: (n_draws, n_samples, n_classes).
        """
        rows = self._validated_rows(X)
        pairs = [item.both_probability_draws(rows, "mean", self._n_threads()) for item in self.posterior_.regressions]
        if len(pairs) == 1:
            return pairs[0][0]
        positive, negative = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
        return np.ascontiguousarray(np.moveaxis(combined(positive, negative), 0, -1))

    def predict_interval(self, X: ArrayLike, level: float = 0.89) -> FloatArray:
        """Central posterior interval of the probability of the second class, (n_samples, 2).

        It takes draws from the posterior (inference="gibbs"), or modes from 20 restarts or more with `bootstrap=True`,
        which approximate it. A model of plain modes, which is what `fit` finds by default from 50 rows on, raises a
        ValueError: modes only tell how far optimizations from different starts disagree, and with 200 rows or more
        intervals of 89 % made of them hold the true probability in about one case of five or fewer (docs/defaults.md).
        `predict_proba_draws` has what each mode says.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, or Dask array or data frame of shape (n_samples, n_features)
            Finite numbers.
        level : float
            The share of the posterior that an interval holds. Fewer than (1 + level) / (1 - level) draws are too few
            for that, and a warning says so.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper end; with more than two classes, of all of them: (n_samples, n_classes, 2).
        """
        check_is_fitted(self)
        if not (isinstance(level, numbers.Real) and 0.0 < level < 1.0):
            raise ValueError(f"level must be between 0 and 1; got {level!r}.")
        self._check_intervals(float(level))
        if is_dask_collection(X):
            shape = (0, 2) if len(self.classes_) == 2 else (0, len(self.classes_), 2)
            return self._lazily("predict_interval", X, np.empty(shape), level)
        tail = 0.5 * (1.0 - level)
        bounds = np.quantile(self.predict_proba_draws(X), [tail, 1.0 - tail], axis=0)
        return np.ascontiguousarray(np.moveaxis(bounds, 0, -1))

    # The posterior.

    def diagnostics(self) -> list[Diagnosis]:
        """R-hat and effective draws of the log-likelihood, the number of experts and probabilities at training rows.

        `fit` gives a ConvergenceWarning where several chains disagree about these probabilities: where an R-hat is
        above 1.05 and either more than chance explains for so few draws, or confirmed by the log-likelihood or the
        number of experts, which every sweep records.
        """
        check_is_fitted(self)
        self._check_has_chains("diagnostics")
        quantities: dict[str, FloatArray] = {}
        for index, fit in enumerate(self._fits):
            prefix = "" if len(self._fits) == 1 else f" of class {self.classes_.tolist()[index]!r}"
            labelings = fit.posterior.labelings
            for number, labeling in enumerate(labelings):
                suffix = prefix if len(labelings) == 1 else f"{prefix}, labeling {number}"
                quantities[f"log-likelihood{suffix}"] = labeling.log_likelihood[:, self._first_kept :]
                quantities[f"number of experts{suffix}"] = labeling.n_active[:, self._first_kept :]
            n_chains = labelings[0].n_chains
            probabilities = fit.probe_probabilities.reshape(n_chains, -1, fit.probe_probabilities.shape[1])
            for probe in range(probabilities.shape[2]):
                quantities[f"{PROBABILITY} {probe}{prefix}"] = probabilities[:, :, probe]
        return diagnose({name: draws for name, draws in quantities.items() if draws.shape[1] >= 4})

    @property
    def precision_rates_(self) -> list[FloatArray | None]:
        """The prior's precision rates under which the modes were found, (restarts,) per regression; None of chains."""
        check_is_fitted(self)
        return [fit.precision_rates for fit in self._fits]

    @property
    def n_experts_(self) -> int:
        """Experts with counts in the best draws, all labelings and classes added."""
        return sum(int(labeling.best.is_active.sum()) for labeling in self._all_labelings())

    @property
    def expert_weights_(self) -> list[FloatArray]:
        """Weights of the experts of the best draws, falling, one array per labeling (and class).

        Experts are numbered in this order, from one: expert 1 of an explanation is at index 0.
        """
        return [labeling.best.by_weight().expert_weights for labeling in self._all_labelings()]

    @property
    def coefficients_(self) -> list[FloatArray]:
        """Hyperplanes of the best draws in the user's units, one array per labeling (and class).

        Each is (experts, layers, 1 + n_features), the heaviest expert first, the intercept first.
        """
        return [labeling.best.by_weight().coefficients for labeling in self._all_labelings()]

    @property
    def log_likelihood_(self) -> list[FloatArray]:
        """Log-likelihood of the training rows, (chains, sweeps) per labeling (and class)."""
        return [labeling.log_likelihood for labeling in self._all_labelings()]

    def _all_labelings(self) -> list[LabelingPosterior]:
        check_is_fitted(self)
        return [labeling for regression in self.posterior_.regressions for labeling in regression.labelings]

    def _classes(self) -> NDArray[Any]:
        check_is_fitted(self)
        return self.classes_

    def _lazily(self, method: str, X: Any, example: Any, *arguments: Any) -> NDArray[Any]:
        """A Dask array of what a method says of the rows of a Dask collection."""
        check_estimate(self.estimate)  # now, and not when the first chunk is computed
        names = getattr(empty_meta(X), "columns", None)
        take_columns(self, X.shape[1], names, reset=False)
        function = partial(_predicted, method=method, arguments=arguments)
        found: NDArray[Any] = lazily(function, self._lean(), X, example)
        return found

    def _lean(self) -> Any:
        """A copy with what prediction needs only, for others to have."""
        other = copy(self)
        for name in ("_fits", "_skl_callbacks"):
            other.__dict__.pop(name, None)
        other.__dict__.update(n_jobs=1, checkpoint=None)
        return other

    def _validated_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_dask_collection(X):
            raise ValueError("X is a Dask collection, and this method needs rows in memory: X.compute().")
        names = getattr(self, "feature_names_in_", None)
        with naming_columns(X, names):
            rows = validate_data(
                self, X, accept_sparse="csr", dtype=np.float64, order="C", ensure_all_finite=False, reset=False
            )
        check_finite(rows, names)
        return rows


def _predicted(model: Any, rows: Any, *, method: str, arguments: tuple[Any, ...]) -> Any:
    """What a method of a classifier says of rows; of none, an empty answer."""
    if rows.shape[0] == 0:
        return getattr(model, method)(np.zeros((1, model.n_features_in_)), *arguments)[:0]
    with warnings.catch_warnings():
        # The caller has been told, once.
        warnings.simplefilter("ignore")
        return getattr(model, method)(rows, *arguments)
