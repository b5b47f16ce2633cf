"""What all classifiers share: validation, fitting, prediction, and access to the posterior."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from softpolytope._typing import FloatArray
from softpolytope.estimators._exports import ExportMixin
from softpolytope.estimators._fitting import Fitted, fit_regression
from softpolytope.estimators._parameters import (
    Settings,
    check_finite,
    checked_settings,
    chosen_inference,
    row_weights,
    seed_of,
)
from softpolytope.estimators._progress import CallbackSupportMixin, Reporter, reporter_of, with_callbacks
from softpolytope.estimators._tasks import How, Task
from softpolytope.inspection.diagnostics import Diagnosis, diagnose, in_words
from softpolytope.model.multiclass import combined
from softpolytope.model.posterior import LabellingPosterior, Posterior
from softpolytope.model.prior import Prior
from softpolytope.optimise.run import most_climbs

# Chains that differ by more than this are worth a warning at once.
WARNING_R_HAT = 1.2


class SoftplusBase(ExportMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Fit both labelings of every class by climbs or by Gibbs sampling, predict with the modes or draws."""

    def __init__(  # noqa: PLR0913  # scikit-learn reads the parameters of a class from its constructor
        self,
        *,
        inference: str,
        scan: str,
        symmetric: bool,
        estimate: str,
        n_restarts: int,
        n_chains: int,
        n_sweeps: int,
        n_burn_in: int | None,
        n_draws: int | None,
        prior: Prior | None,
        standardize: bool,
        class_weight: Any,
        n_jobs: int | None,
        random_state: Any,
        warm_start: bool,
        checkpoint: Any,
        verbose: int,
    ) -> None:
        self.inference = inference
        self.scan = scan
        self.symmetric = symmetric
        self.estimate = estimate
        self.n_restarts = n_restarts
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.n_burn_in = n_burn_in
        self.n_draws = n_draws
        self.prior = prior
        self.standardize = standardize
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.verbose = verbose

    posterior_: Posterior
    classes_: NDArray[Any]

    @with_callbacks  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find modes of the posterior, or sample from it, given rows X and labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Finite numbers.
        y : array-like of shape (n_samples,)
            Labels of two or more classes, of any kind.
        sample_weight : array-like of shape (n_samples,), optional
            Powers of the rows' likelihoods: weight 2 is the same as the row given twice.

        Returns
        -------
        self
            The fitted classifier.
        """
        settings = checked_settings(self)
        earlier = self._resumable_fits()
        if not earlier:
            # Should this fit fail, nothing of the last one must answer for it.
            for name in ("posterior_", "_fits"):
                self.__dict__.pop(name, None)
            self._first_kept = settings.schedule.n_burn_in
        tasks = self._tasks(X, y, sample_weight, goes_on=bool(earlier))
        how = How(self._n_threads(), self._reporter(tasks, settings), keeps_states=bool(self.warm_start))
        fits: list[Fitted] = []
        before: Sequence[Fitted | None] = earlier or [None] * len(tasks)
        for task, previous in zip(tasks, before, strict=True):
            fits.append(fit_regression(task, settings, how, previous))
            if not fits[-1].is_complete:
                self._tell_of_stop(len(tasks) - len(fits))
        if earlier and all(fit is previous for fit, previous in zip(fits, earlier, strict=True)):
            message = "warm_start has nothing to do: the chains have made all sweeps already; raise n_sweeps."
            warnings.warn(message, stacklevel=3)
            return self
        self.inference_ = settings.inference
        self._fits = fits
        self.posterior_ = Posterior(tuple(fit.posterior for fit in fits))
        self._warn_of_disagreement(settings)
        return self

    def _reporter(self, tasks: list[Task], settings: Settings) -> Reporter | None:
        """Who is told of progress."""
        n_runs = len(tasks) * (2 if settings.symmetric else 1)
        if settings.inference == "gibbs":
            return reporter_of(self, n_runs * settings.n_chains, settings.schedule.n_sweeps)
        n_climbs = most_climbs(tasks[0].design.shape[0], settings.prior)
        return reporter_of(self, n_runs * settings.n_restarts, n_climbs)

    def _tasks(self, X: Any, y: Any, sample_weight: Any, *, goes_on: bool) -> list[Task]:
        """Check the data; one task for two classes, one per class for more."""
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=2,
            reset=not goes_on,
        )
        check_finite(X, getattr(self, "feature_names_in_", None))
        check_classification_targets(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        weights = row_weights(self, y, sample_weight)
        classes, codes = np.unique(y, return_inverse=True)
        totals = np.bincount(codes, weights)
        if len(classes) < 2:
            raise ValueError(f"y holds only one class, {classes.tolist()[0]!r}; at least two classes are needed.")
        if not (totals > 0.0).all():
            missing = classes.tolist()[int(np.argmin(totals))]
            raise ValueError(f"class {missing!r} has no row of positive weight; leave its rows out or weight them.")
        if goes_on and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start goes on with the chains of the last fit, which had other classes.")
        self.classes_ = classes
        stack: Any = sparse.hstack if sparse.issparse(X) else np.hstack
        design = stack([np.ones((X.shape[0], 1)), X])
        seed = seed_of(self.random_state)
        positives = [1] if len(classes) == 2 else range(len(classes))
        return [Task(design, codes == code, weights, (seed, code), f"class{code}") for code in positives]

    def _resumable_fits(self) -> list[Fitted]:
        """The fits whose chains can go on, if that is wanted."""
        fits: list[Fitted] = getattr(self, "_fits", []) if self.warm_start else []
        if chosen_inference(self.inference) == "map":
            return fits if all(fit.modes is not None for fit in fits) else []
        if all(fit.chains is not None and fit.chains.states is not None for fit in fits):
            return fits
        warnings.warn("warm_start starts anew: the last fit was made without it, and kept no chains.", stacklevel=4)
        return []

    @staticmethod
    def _tell_of_stop(n_left: int) -> None:
        """Say that a fit was stopped early; with classes left to fit there is no model."""
        if n_left:
            raise RuntimeError(
                f"fitting was stopped with {n_left} classes still to fit, so there is no model; "
                "with a checkpoint folder the same fit would resume where it was."
            )
        warnings.warn("fitting was stopped early; the model has the draws made until then.", stacklevel=4)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def _warn_of_disagreement(self, settings: Settings) -> None:
        if settings.inference != "gibbs" or settings.n_chains < 2:
            return
        loud = [item for item in self.diagnostics() if item.r_hat > WARNING_R_HAT and "log-likelihood" in item.name]
        for sentence in in_words(loud[:1]):
            warnings.warn(sentence, ConvergenceWarning, stacklevel=4)

    # Prediction.

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes, (n_samples, n_classes), columns in the order of `classes_`."""
        pairs = self._chances(X)
        if len(pairs) == 1:
            return np.column_stack([pairs[0][1], pairs[0][0]])
        positive, negative = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
        return np.ascontiguousarray(combined(positive, negative).T)

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Logarithms of the probabilities of the classes."""
        return np.asarray(np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny)))

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log odds of the second class, (n_samples,); with more classes, log probabilities (n_samples, n_classes)."""
        logs = self.predict_log_proba(X)
        return np.asarray(logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each row."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            positive, negative = self._chances(X)[0]
            codes = (positive > negative).astype(np.intp)
        else:
            codes = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[codes])

    def _chances(self, X: ArrayLike) -> list[tuple[FloatArray, FloatArray]]:
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
        draws = [item.probability_draws(rows, "mean", self._n_threads()) for item in self.posterior_.regressions]
        if len(draws) == 1:
            return draws[0]
        positive = np.stack(draws)
        return np.ascontiguousarray(np.moveaxis(combined(positive, 1.0 - positive), 0, -1))

    def predict_interval(self, X: ArrayLike, level: float = 0.89) -> FloatArray:
        """Central interval of the probability of the second class over draws or modes, (n_samples, 2).

        Of draws (inference="gibbs") it is the posterior interval. Modes tell only how far climbs from different starts
        disagree, which is less than the posterior's uncertainty.

        With more than two classes, of all of them: (n_samples, n_classes, 2).
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1; got {level!r}.")
        tail = 0.5 * (1.0 - level)
        bounds = np.quantile(self.predict_proba_draws(X), [tail, 1.0 - tail], axis=0)
        return np.ascontiguousarray(np.moveaxis(bounds, 0, -1))

    # The posterior.

    def diagnostics(self) -> list[Diagnosis]:
        """R-hat and effective draws of the log-likelihood, the number of experts and probabilities at training rows."""
        check_is_fitted(self)
        self._check_has_chains("diagnostics")
        quantities: dict[str, FloatArray] = {}
        for index, fit in enumerate(self._fits):
            prefix = "" if len(self._fits) == 1 else f" of class {self.classes_.tolist()[index]!r}"
            labelings = fit.posterior.labelings
            for number, labelling in enumerate(labelings):
                suffix = prefix if len(labelings) == 1 else f"{prefix}, labelling {number}"
                quantities[f"log-likelihood{suffix}"] = labelling.log_likelihood[:, self._first_kept :]
                quantities[f"number of experts{suffix}"] = labelling.n_active[:, self._first_kept :]
            n_chains = labelings[0].n_chains
            chances = fit.probe_chances.reshape(n_chains, -1, fit.probe_chances.shape[1])
            for probe in range(chances.shape[2]):
                quantities[f"probability at training row {probe}{prefix}"] = chances[:, :, probe]
        return diagnose({name: draws for name, draws in quantities.items() if draws.shape[1] >= 4})

    @property
    def precision_rate_(self) -> list[float | None]:
        """The prior's precision rate under which the modes were found, one per regression; None of chains."""
        check_is_fitted(self)
        return [None if fit.modes is None else fit.modes.precision_rate for fit in self._fits]

    @property
    def n_experts_(self) -> int:
        """Experts with counts in the best draws, all labelings and classes added."""
        return sum(int(labelling.best.is_active.sum()) for labelling in self._all_labelings())

    @property
    def expert_weights_(self) -> list[FloatArray]:
        """Weights of the experts of the best draws, one array per labelling (and class)."""
        return [labelling.best.expert_weights for labelling in self._all_labelings()]

    @property
    def coefficients_(self) -> list[FloatArray]:
        """Hyperplanes of the best draws in the user's units, one array per labelling (and class).

        Each is (experts, layers, 1 + n_features), the intercept first.
        """
        return [labelling.best.coefficients for labelling in self._all_labelings()]

    @property
    def log_likelihood_(self) -> list[FloatArray]:
        """Log-likelihood of the training rows, (chains, sweeps) per labelling (and class)."""
        return [labelling.log_likelihood for labelling in self._all_labelings()]

    def _all_labelings(self) -> list[LabellingPosterior]:
        check_is_fitted(self)
        return [labelling for regression in self.posterior_.regressions for labelling in regression.labelings]

    def _validated_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, order="C", ensure_all_finite=False, reset=False
        )
        check_finite(rows, getattr(self, "feature_names_in_", None))
        return rows

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
