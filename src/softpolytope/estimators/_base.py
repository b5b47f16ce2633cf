"""The base of all classifiers: fits at once or batch by batch, and access to the fitted model."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from softpolytope._typing import FloatArray
from softpolytope.data import open_source
from softpolytope.estimators import _explain, _export, _partial_fit, _predict, _uncertainty
from softpolytope.estimators._callbacks import CallbackSupportMixin, make_callback, with_callbacks
from softpolytope.estimators._parameters import (
    CheckpointFolder,
    ClassWeight,
    Inference,
    RandomState,
    ResolvedInference,
    Scan,
    Settings,
    Start,
    check_for_partitions,
    warn_of_unused,
)
from softpolytope.estimators._problems import (
    FitInterrupted,
    Problem,
    fit_problems,
    make_array_problems,
    make_partition_problems,
)
from softpolytope.estimators._validation import validate_classes, validate_training_rows
from softpolytope.export import FittedRegression
from softpolytope.model import Estimate, FittedModel, Posterior, Prior, TrainingRows
from softpolytope.parallel import RunOptions, open_partition_store, parse_bytes


class SoftplusBase(
    CallbackSupportMixin,  # type: ignore[misc]  # scikit-learn is untyped
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn is untyped
    BaseEstimator,  # type: ignore[misc]  # scikit-learn is untyped
):
    """Fit both labelings of every class by modes or by Gibbs sampling, and predict with all of them."""

    inference: Inference
    scan: Scan
    start: Start
    symmetric: bool
    estimate: Estimate
    n_members: int
    n_restarts: int
    bootstrap: bool
    n_chains: int
    n_sweeps: int
    n_burn_in: int | None
    n_draws: int | None
    prior: Prior | None
    standardize: bool
    class_weight: ClassWeight
    n_jobs: int | None
    random_state: RandomState
    warm_start: bool
    checkpoint: CheckpointFolder
    verbose: int

    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    posterior_: Posterior
    inference_: ResolvedInference
    bootstrap_: bool
    _fits: list[FittedRegression]
    _n_burn_in: int
    _training_rows: TrainingRows | None

    def _store_parameters(self, arguments: dict[str, object]) -> None:
        """Set an attribute for each argument of a constructor."""
        self.__dict__.update({name: value for name, value in arguments.items() if name != "self"})

    @with_callbacks  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        client: object = None,
        max_memory: float | str | None = None,
    ) -> Self:
        """Sample from the posterior, or find its modes, given rows X and labels y.

        Rows need not fit into memory (docs/scale.md). A Dask array or data frame is fitted on the workers of a cluster
        or, with `max_memory`, read part by part, as .npy and Parquet files always are, and memory maps with
        `max_memory` or a client. Such rows are taken in the partitions they have, and equal ones are not merged.

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
            Total memory that this process, or with a client each worker, may use, in bytes or such as "4GB".

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C ends the fit after the current sweeps or optimizer steps. The draws or modes found until then stay on
            the classifier if every class has some, and `warm_start=True` continues from them. With a `checkpoint` the
            same fit, in this process or another, resumes to the result of an uninterrupted one. (A stop that a callback
            asks for is a warning, not an error.)
        """
        settings = Settings.from_parameters(self.get_params(deep=False))
        earlier = self._find_resumable() if settings.warm_start else []
        if not earlier:
            # If this fit fails, the last one must not be taken for it.
            for name in ("posterior_", "_fits"):
                self.__dict__.pop(name, None)
        limit = None if max_memory is None else parse_bytes(max_memory)
        source = open_source(X, y, sample_weight, has_client=client is not None, is_limited=limit is not None)
        known = self.classes_ if earlier else None
        if source is None:
            rows, labels, weights = validate_training_rows(self, X, y, sample_weight, is_first=not earlier)
            self.classes_, codes = validate_classes(labels, weights, self.class_weight, known)
            problems, fingerprint = make_array_problems(rows, codes, weights, self.classes_, self.random_state)
            return self._fit_problems(problems, settings, earlier, fingerprint)
        check_for_partitions(settings)
        with open_partition_store(source, client, limit, effective_n_jobs(self.n_jobs)) as store:
            self.classes_, partitions = make_partition_problems(self, source, store, known)
            # Rows in partitions have no fingerprint: it would have to be gathered from all of them.
            return self._fit_problems(partitions, settings, earlier, None)

    def _find_resumable(self) -> list[FittedRegression]:
        """Return the regressions to continue from, if there are any; raise if the file they were read from had none."""
        fits: list[FittedRegression] = getattr(self, "_fits", [])
        kinds = {fit.kind_of_state for fit in fits}
        if kinds <= {"modes", "chains"}:
            return fits
        if any(fit.carried is None for fit in fits):
            raise ValueError(
                f"warm_start cannot continue from this model: {_partial_fit.NO_STATE} To start from scratch, fit "
                "sklearn.base.clone(model)."
            )
        if kinds == {"stream"}:
            reason = "the last rows were given to partial_fit, which keeps no modes to optimize with other rows."
        else:
            reason = "the last fit was made without it, and kept no chains."
        warnings.warn(f"warm_start starts from scratch: {reason}", stacklevel=4)
        return []

    def _fit_problems(
        self,
        problems: Sequence[Problem],
        settings: Settings,
        earlier: list[FittedRegression],
        fingerprint: TrainingRows | None,
    ) -> Self:
        """Fit one regression after the other."""
        inference = settings.inference
        warn_of_unused(self, inference)
        if earlier and self.inference_ != inference:
            message = f"warm_start starts from scratch: the last fit had inference {self.inference_!r}."
            warnings.warn(message, stacklevel=4)
            earlier = []
        if earlier and fingerprint is not None:
            known = self._training_rows
            fingerprint = None if known is None else known.with_later_fit(fingerprint)
        if not earlier:
            self._n_burn_in = settings.schedule.n_burn_in
        has_callback = self.verbose or hasattr(self, "_skl_callbacks")
        callback = make_callback(self, settings, problems) if has_callback else None
        n_threads = effective_n_jobs(self.n_jobs)
        options = RunOptions(n_threads, callback, settings.checkpoint, keeps_states=settings.warm_start)
        try:
            fits = fit_problems(problems, settings, options, earlier)
        except FitInterrupted as stop:
            self._set_fits(stop.fits, settings, fingerprint)
            raise KeyboardInterrupt from None
        if earlier and all(fit is previous for fit, previous in zip(fits, earlier, strict=True)):
            message = "warm_start has nothing to do: the chains have made all sweeps already. Raise n_sweeps."
            warnings.warn(message, stacklevel=4)
            return self
        self._set_fits(fits, settings, fingerprint)
        if inference == "gibbs" and settings.n_chains > 1:
            _uncertainty.warn_of_disagreement(self.model_, settings.n_chains)
        return self

    def _set_fits(self, fits: list[FittedRegression], settings: Settings, fingerprint: TrainingRows | None) -> None:
        """Set the fitted attributes, one regression per class."""
        self.inference_, self.bootstrap_ = settings.inference, settings.inference == "bootstrap"
        self._fits, self._training_rows = fits, fingerprint
        self.posterior_ = Posterior(tuple(fit.posterior for fit in fits))

    # Other methods are plain functions of other modules.
    partial_fit = available_if(_partial_fit.has_partial_fit)(_partial_fit.partial_fit)
    predict = _predict.predict
    predict_proba = _predict.predict_proba
    predict_log_proba = _predict.predict_log_proba
    decision_function = _predict.decision_function
    predict_proba_draws = _predict.predict_proba_draws
    predict_interval = _predict.predict_interval
    sample_prior = _predict.sample_prior
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
    def model_(self) -> FittedModel:
        """The fitted model, as `geometry`, `inspection`, `report` and `export` take it.

        It depends on how the model was fitted and, of the parameters, only on `estimate` and `n_jobs`, which may be
        changed after `fit`.
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
            n_burn_in=self._n_burn_in,
            weight=features.weight,
            training_rows=self._training_rows,
            probe_probabilities=tuple(
                fit.probe_probabilities for fit in self._fits if fit.probe_probabilities is not None
            ),
            n_threads=effective_n_jobs(self.n_jobs),
            priors=tuple(fit.prior for fit in self._fits if fit.prior is not None),
        )

    @property
    def precision_rates_(self) -> list[FloatArray | None]:
        """Precision rates of the modes, (labelings, modes) per regression; None for chains."""
        check_is_fitted(self)
        return [fit.precision_rates for fit in self._fits]

    @property
    def prior_(self) -> list[Prior | None]:
        """Prior of the fit, one per regression; None for a model from a file of an earlier version."""
        check_is_fitted(self)
        return [None if fit.prior is None else fit.prior.prior for fit in self._fits]

    @property
    def n_layers_(self) -> int:
        """Number of layers of every expert."""
        return int(self.model_.labelings[0].best.coefficients.shape[1])

    @property
    def n_experts_(self) -> int:
        """Number of experts with counts in the best draws or representatives, labelings and classes added."""
        return sum(int(labeling.best.is_active.sum()) for labeling in self.model_.labelings)

    @property
    def expert_weights_(self) -> list[FloatArray]:
        """Weights of the experts of the best draws or representatives in falling order, by labeling (and class).

        Experts are numbered in this order, from one: expert 1 of an explanation is at index 0.
        """
        return [labeling.best.by_weight().expert_weights for labeling in self.model_.labelings]

    @property
    def coefficients_(self) -> list[FloatArray]:
        """Hyperplanes of the best draws or representatives in the user's units, one array per labeling (and class).

        Each is (experts, layers, 1 + n_features), the heaviest expert and the intercept first.
        """
        return [labeling.best.by_weight().coefficients for labeling in self.model_.labelings]

    @property
    def log_likelihood_(self) -> list[FloatArray]:
        """Log-likelihood of the training rows, (chains, sweeps) per labeling (and class)."""
        return [labeling.log_likelihood for labeling in self.model_.labelings]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
