"""What all classifiers share: validation, fitting, prediction, and access to the posterior."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from softpolytope._typing import FloatArray
from softpolytope.data import LabeledRows
from softpolytope.estimators import _explain, _export, _predict, _uncertainty
from softpolytope.estimators._batches import NO_STATE, BatchMixin
from softpolytope.estimators._fitting import FitInterrupted, FittedRegression, fit_regression
from softpolytope.estimators._parameters import Settings, check_for_partitions, checked_settings, warn_of_unused
from softpolytope.estimators._progress import CallbackSupportMixin, Reporter, reporter_of, with_callbacks
from softpolytope.estimators._tasks import BinaryProblem, How
from softpolytope.exceptions import BlocksLostError
from softpolytope.inspection import disagreement, in_words
from softpolytope.model import Estimate, FittedModel, Posterior, Prior, TrainingRows
from softpolytope.optimize import max_optimizations
from softpolytope.parallel import open_partition_store, open_source, parse_bytes

# Chains that differ by more than this are worth a warning at once.
WARNING_R_HAT = 1.2


class SoftplusBase(
    BatchMixin,
    CallbackSupportMixin,  # type: ignore[misc]  # scikit-learn is untyped
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn is untyped
    BaseEstimator,  # type: ignore[misc]  # scikit-learn is untyped
):
    """Fit both labelings of every class by climbs or by Gibbs sampling, predict with the modes or draws."""

    def __init__(  # noqa: PLR0913  # scikit-learn reads the parameters of a class from its constructor
        self,
        *,
        inference: str,
        scan: str,
        start: str,
        symmetric: bool,
        estimate: Estimate,
        n_restarts: int,
        bootstrap: bool,
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
        self.start = start
        self.symmetric = symmetric
        self.estimate = estimate
        self.n_restarts = n_restarts
        self.bootstrap = bootstrap
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

    @with_callbacks  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        client: Any = None,
        max_memory: float | str | None = None,
    ) -> Self:
        """Find modes of the posterior, or sample from it, given rows X and labels y.

        Rows need not fit into memory (docs/scale.md): a Dask array or data frame is fitted on the workers of a cluster,
        or where `max_memory` is given read part by part, as .npy and Parquet files always are, and memory maps where
        `max_memory` or a client is given.
        Such rows are taken in the partitions they have, and equal ones are not merged.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or data frame, or path; of shape (n_samples, n_features)
            Finite numbers.
        y : array-like of shape (n_samples,)
            Labels of two or more classes, of any kind; a Dask array or series if X is Dask's, the name of a column if X
            is a Parquet file.
        sample_weight : array-like of shape (n_samples,), optional
            Powers of the rows' likelihoods: weight 2 is the same as the row given twice.
        client : distributed.Client, optional
            The cluster for rows of Dask collections (by default the current client's, unless `max_memory` is given) or
            of files that its workers can read.
        max_memory : int or str, optional
            Bytes that this process, or with a client each worker, may take in all, such as "4GB".

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C ends the fit after the sweeps or optimizer steps under way. The draws or modes reached by then stay
            on the classifier if every class has some, and can be looked at; `warm_start=True` goes on from them. With a
            `checkpoint` the same fit, in this process or another, resumes to the result of an uninterrupted one. (A
            stop that a callback asks for is not an error but a warning.)
        """
        settings = checked_settings(self)
        earlier = self._resumable_fits()
        if not earlier:
            # Should this fit fail, nothing of the last one must answer for it.
            for name in ("posterior_", "_fits"):
                self.__dict__.pop(name, None)
            self._first_kept = settings.schedule.n_burn_in
        limit = None if max_memory is None else parse_bytes(max_memory)
        source = open_source(X, y, sample_weight, has_client=client is not None, is_limited=limit is not None)
        if source is None:
            return self._fit_tasks(self._tasks(X, y, sample_weight, goes_on=bool(earlier)), earlier)
        check_for_partitions(self, settings)
        with open_partition_store(source, client, limit, self._n_threads()) as store:
            return self._fit_tasks(self._tasks_elsewhere(source, store, goes_on=bool(earlier)), earlier)

    def _fit_tasks(self, tasks: Sequence[BinaryProblem[LabeledRows]], earlier: list[FittedRegression]) -> Self:
        """Fit one regression after the other."""
        settings = checked_settings(self, tasks[0].auto_inference())
        warn_of_unused(self, settings.inference)
        if earlier and self.inference_ != settings.inference:
            warnings.warn(
                f"warm_start starts from scratch: the last fit had inference {self.inference_!r}.", stacklevel=4
            )
            earlier = []
            self._first_kept = settings.schedule.n_burn_in
        how = How(self._n_threads(), self._reporter(tasks, settings), keeps_states=bool(self.warm_start))
        fits: list[FittedRegression] = []
        before: Sequence[FittedRegression | None] = earlier or [None] * len(tasks)
        for task, previous in zip(tasks, before, strict=True):
            try:
                fits.append(fit_regression(task, settings, how, previous))
            except BlocksLostError as error:
                if settings.checkpoint is not None:
                    raise
                # The seed may have been drawn, and then nobody knows it.
                raise BlocksLostError(
                    f"{error} Set random_state={task.seed[0]} for it, the seed of this fit."
                ) from error
            except FitInterrupted as stop:
                if len(fits) == len(tasks) - 1:
                    rows = self._rows_seen(tasks[0].rows.training_rows(), goes_on=bool(earlier))
                    self._keep([*fits, stop.fitted], settings, rows)
                raise KeyboardInterrupt from None
            if not fits[-1].is_complete:
                self._tell_of_stop(len(tasks) - len(fits))
        if earlier and all(fit is previous for fit, previous in zip(fits, earlier, strict=True)):
            message = "warm_start has nothing to do: the chains have made all sweeps already; raise n_sweeps."
            warnings.warn(message, stacklevel=4)
            return self
        self._keep(fits, settings, self._rows_seen(tasks[0].rows.training_rows(), goes_on=bool(earlier)))
        self._warn_of_disagreement(settings)
        return self

    def _keep(self, fits: list[FittedRegression], settings: Settings, rows: TrainingRows | None) -> None:
        """Take over what was fitted, one regression per class."""
        self.inference_ = settings.inference
        self.bootstrap_ = settings.inference == "map" and settings.bootstrap
        self._fits = fits
        self.posterior_ = Posterior(tuple(fit.posterior for fit in fits))
        self._training_rows = rows

    def _reporter(self, tasks: Sequence[BinaryProblem[LabeledRows]], settings: Settings) -> Reporter | None:
        """Who is told of progress."""
        n_runs = len(tasks) * (2 if settings.symmetric else 1)
        if settings.inference == "gibbs":
            return reporter_of(self, n_runs * settings.n_chains, settings.schedule.n_sweeps)
        n_climbs = max_optimizations(tasks[0].rows.n_rows, settings.prior)
        return reporter_of(self, n_runs * settings.n_restarts, n_climbs)

    def _resumable_fits(self) -> list[FittedRegression]:
        """Return the fits whose chains or modes can go on, if that is wanted; raise if a file did not have them."""
        fits: list[FittedRegression] = getattr(self, "_fits", []) if self.warm_start else []
        kinds = {fit.kind_of_state for fit in fits}
        if kinds <= {"modes", "chains"}:
            return fits
        if kinds == {"stream"}:
            why = "the last rows were taken by partial_fit, which keeps no modes to optimize with other rows."
        elif all(fit.chains is None for fit in fits):
            raise ValueError(
                f"warm_start cannot go on from this model: {NO_STATE} To start from scratch, fit "
                "sklearn.base.clone(model)."
            )
        else:
            why = "the last fit was made without it, and kept no chains."
        warnings.warn(f"warm_start starts from scratch: {why}", stacklevel=4)
        return []

    @staticmethod
    def _tell_of_stop(n_left: int) -> None:
        """Say that a fit was stopped early; with classes left to fit there is no model."""
        if n_left:
            raise RuntimeError(
                f"fitting was stopped with {n_left} classes still to fit, so there is no model; "
                "with a checkpoint folder the same fit would resume where it was."
            )
        warnings.warn("fitting was stopped early; the model has the draws made until then.", stacklevel=5)

    @property
    def model_(self) -> FittedModel:
        """The fitted model, as `geometry`, `inspection`, `report` and `export` take it.

        It goes by how the model was fitted, except for `estimate` and `n_jobs`, which may be changed afterwards.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        features = self._fits[0].features
        return FittedModel(
            name=type(self).__name__,
            posterior=self.posterior_,
            classes=self.classes_,
            features=features.named(names),
            has_feature_names=names is not None,
            inference=self.inference_,
            is_bootstrap=self.bootstrap_,
            estimate=self.estimate,
            n_burn_in=self._first_kept,
            weight=features.weight,
            training_rows=self._training_rows,
            probe_probabilities=tuple(fit.probe_probabilities for fit in self._fits),
            n_threads=self._n_threads(),
        )

    # Methods of fitted classifiers are plain functions of other modules.
    predict = _predict.predict
    predict_proba = _predict.predict_proba
    predict_log_proba = _predict.predict_log_proba
    decision_function = _predict.decision_function
    predict_proba_draws = _predict.predict_proba_draws
    predict_interval = _predict.predict_interval
    predict_uncertainty = _uncertainty.predict_uncertainty
    query = _uncertainty.query
    diagnostics = _uncertainty.diagnostics
    polytopes = _explain.polytopes
    explain = _explain.explain
    counterfactual = _explain.counterfactual
    save = _export.save
    to_datatree = _export.to_datatree
    to_onnx = _export.to_onnx
    to_sql = _export.to_sql
    to_python_source = _export.to_python_source

    @property
    def precision_rates_(self) -> list[FloatArray | None]:
        """Precision rates with which the modes were found, (restarts,) per regression; None for chains."""
        check_is_fitted(self)
        return [fit.precision_rates for fit in self._fits]

    @property
    def n_experts_(self) -> int:
        """Number of experts with counts in the best draws, labelings and classes added."""
        return sum(int(labeling.best.is_active.sum()) for labeling in self.model_.labelings)

    @property
    def expert_weights_(self) -> list[FloatArray]:
        """Weights of the experts of the best draws in falling order, one array per labeling (and class).

        Experts are numbered in this order, from one: expert 1 of an explanation is at index 0.
        """
        return [labeling.best.by_weight().expert_weights for labeling in self.model_.labelings]

    @property
    def coefficients_(self) -> list[FloatArray]:
        """Hyperplanes of the best draws in the user's units, one array per labeling (and class).

        Each is (experts, layers, 1 + n_features), the heaviest expert and the intercept first.
        """
        return [labeling.best.by_weight().coefficients for labeling in self.model_.labelings]

    @property
    def log_likelihood_(self) -> list[FloatArray]:
        """Log-likelihood of the training rows, (chains, sweeps) per labeling (and class)."""
        return [labeling.log_likelihood for labeling in self.model_.labelings]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def _warn_of_disagreement(self, settings: Settings) -> None:
        if settings.inference != "gibbs" or settings.n_chains < 2:
            return
        diagnoses = self.diagnostics()
        n_kept = len(self._fits[0].probe_probabilities) // settings.n_chains
        loud = [item for item in diagnoses if item.r_hat > WARNING_R_HAT and "log-likelihood" in item.name]
        for sentence in (disagreement(diagnoses, settings.n_chains, n_kept), *in_words(loud[:1])):
            if sentence is not None:
                warnings.warn(sentence, ConvergenceWarning, stacklevel=5)

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
