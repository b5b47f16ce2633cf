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
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from softpolytope._typing import FloatArray
from softpolytope.estimators._exports import ExportMixin
from softpolytope.estimators._fitting import Fitted, fit_regression, take_batch
from softpolytope.estimators._geometry import GeometryMixin
from softpolytope.estimators._inputs import (
    check_class_weight,
    check_finite,
    naming_columns,
    plain_labels,
    row_weights,
    take_columns,
)
from softpolytope.estimators._parameters import Settings, check_for_partitions, checked_settings, seed_of
from softpolytope.estimators._partitions import PartitionedTask, labels_of, surveyed
from softpolytope.estimators._prediction import PredictionMixin
from softpolytope.estimators._progress import CallbackSupportMixin, Reporter, reporter_of, with_callbacks
from softpolytope.estimators._tasks import AnyTask, How, Task
from softpolytope.estimators._uncertainty import UncertaintyMixin
from softpolytope.inspection.diagnostics import in_words
from softpolytope.model.posterior import Posterior
from softpolytope.model.prior import Prior
from softpolytope.optimise.search import most_climbs
from softpolytope.parallel.homes import HomeLostError
from softpolytope.parallel.memory import bytes_of
from softpolytope.parallel.places import Place, place_of
from softpolytope.parallel.sources import Source, source_of

# Chains that differ by more than this are worth a warning at once.
WARNING_R_HAT = 1.2


def _moves_modes(classifier: Any) -> bool:
    """Whether there is a `partial_fit`: scikit-learn's way is to have none where it cannot work."""
    if classifier.inference == "gibbs":
        raise AttributeError('partial_fit moves modes, and inference="gibbs" has none; set inference="map".')
    return True


class SoftplusBase(
    PredictionMixin,
    GeometryMixin,
    UncertaintyMixin,
    ExportMixin,
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
        estimate: str,
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

        Rows need not fit into memory (docs/scale.md): a Dask array or data frame is fitted on the workers of a cluster;
        a memory map, a .npy or Parquet file, or a Dask collection is read part by part where `max_memory` is given.
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
            The cluster for rows of Dask collections, by default the current client's, or of files its workers can read.
        max_memory : int or str, optional
            Bytes that this process, or with a client each worker, may take in all, such as "4GB".

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
        limit = None if max_memory is None else bytes_of(max_memory)
        source = source_of(X, y, sample_weight, has_client=client is not None, is_limited=limit is not None)
        if source is None:
            return self._fit_tasks(self._tasks(X, y, sample_weight, goes_on=bool(earlier)), earlier)
        check_for_partitions(self, settings)
        with place_of(source, client, limit, self._n_threads()) as place:
            return self._fit_tasks(self._tasks_elsewhere(source, place, goes_on=bool(earlier)), earlier)

    def _fit_tasks(self, tasks: Sequence[AnyTask], earlier: list[Fitted]) -> Self:
        """Fit one regression after the other."""
        settings = checked_settings(self, tasks[0].auto_inference())
        if earlier and self.inference_ != settings.inference:
            warnings.warn(f"warm_start starts anew: the last fit had inference {self.inference_!r}.", stacklevel=4)
            earlier = []
            self._first_kept = settings.schedule.n_burn_in
        how = How(self._n_threads(), self._reporter(tasks, settings), keeps_states=bool(self.warm_start))
        fits: list[Fitted] = []
        before: Sequence[Fitted | None] = earlier or [None] * len(tasks)
        for task, previous in zip(tasks, before, strict=True):
            try:
                fits.append(fit_regression(task, settings, how, previous))
            except HomeLostError as error:
                if settings.checkpoint is not None:
                    raise
                # The seed may have been drawn, and then nobody knows it.
                raise HomeLostError(f"{error} Set random_state={task.seed[0]} for it, the seed of this fit.") from error
            if not fits[-1].is_complete:
                self._tell_of_stop(len(tasks) - len(fits))
        if earlier and all(fit is previous for fit, previous in zip(fits, earlier, strict=True)):
            message = "warm_start has nothing to do: the chains have made all sweeps already; raise n_sweeps."
            warnings.warn(message, stacklevel=4)
            return self
        self.inference_ = settings.inference
        self._fits = fits
        self.posterior_ = Posterior(tuple(fit.posterior for fit in fits))
        self._warn_of_disagreement(settings)
        return self

    def _reporter(self, tasks: Sequence[AnyTask], settings: Settings) -> Reporter | None:
        """Who is told of progress."""
        n_runs = len(tasks) * (2 if settings.symmetric else 1)
        if settings.inference == "gibbs":
            return reporter_of(self, n_runs * settings.n_chains, settings.schedule.n_sweeps)
        n_climbs = most_climbs(tasks[0].n_rows, settings.prior)
        return reporter_of(self, n_runs * settings.n_restarts, n_climbs)

    @available_if(_moves_modes)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from one more batch of rows, which are not kept.

        The first batch decides the prior's precision rate and where the modes begin, so it should be as large and as
        mixed as can be; each later one moves them by steps of Adam. After `fit` it goes on from the modes found there.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; a batch need not have all classes.
        classes : array-like, optional
            All labels there will be; needed in the first call.

        Returns
        -------
        self
            The classifier after the batch.

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
            return self._take_batch(X, y, classes, sample_weight)
        except BaseException:
            # A batch that fails, or is interrupted, changes nothing.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _take_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        settings = checked_settings(self)
        if self.class_weight == "balanced":
            raise ValueError('class_weight="balanced" needs all rows at once; give weights by class as a dict.')
        fits: list[Fitted] = getattr(self, "_fits", [])
        if fits and self.inference_ == "gibbs":
            warnings.warn("partial_fit begins anew: chains, as the last fit ran, cannot take more rows.", stacklevel=3)
            fits, classes = [], self.classes_ if classes is None else classes
        if any(fit.stream is None for fit in fits):
            raise ValueError("partial_fit cannot go on with a model that was read from a file; fit it again.")
        is_first = not fits
        X, y, weights = self._checked_rows(X, y, sample_weight, is_first=is_first)
        self._take_classes(classes, is_first=is_first)
        check_class_weight(self.class_weight, self.classes_)
        is_known = np.isin(y, self.classes_)
        if not is_known.all():
            strange = np.asarray(y)[~is_known].tolist()[0]
            raise ValueError(f"y holds {strange!r}, which is none of the classes {self.classes_.tolist()}.")
        tasks = self._tasks_of(X, np.searchsorted(self.classes_, y), weights)
        if not (weights > 0.0).any():
            raise ValueError("sample_weight is zero for all rows of the batch; leave such batches out.")
        how = How(self._n_threads(), None, keeps_states=False)
        before: Sequence[Fitted | None] = fits or [None] * len(tasks)
        self._fits = [take_batch(task, settings, how, fit) for task, fit in zip(tasks, before, strict=True)]
        self.inference_ = "map"
        self._first_kept = 0
        self.posterior_ = Posterior(tuple(fit.posterior for fit in self._fits))
        return self

    def _take_classes(self, classes: ArrayLike | None, *, is_first: bool) -> None:
        """Learn the classes in the first call of `partial_fit`, and check them in later ones."""
        if is_first:
            if classes is None:
                raise ValueError("classes must be given in the first call of partial_fit: all labels there will be.")
            self.classes_ = np.unique(np.asarray(classes))
            if len(self.classes_) < 2:
                raise ValueError(f"classes must hold at least two labels; got {self.classes_.tolist()}.")
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(
                f"classes were {self.classes_.tolist()} in the first call; got {np.unique(classes).tolist()}."
            )

    def _tasks(self, X: Any, y: Any, sample_weight: Any, *, goes_on: bool) -> list[Task]:
        """Check the data; one task for two classes, one per class for more."""
        X, y, weights = self._checked_rows(X, y, sample_weight, is_first=not goes_on)
        classes, codes = np.unique(y, return_inverse=True)
        check_class_weight(self.class_weight, classes)
        totals = np.bincount(codes, weights)
        if len(classes) < 2:
            raise ValueError(f"y holds only one class, {classes.tolist()[0]!r}; at least two classes are needed.")
        if not (totals > 0.0).all():
            missing = classes.tolist()[int(np.argmin(totals))]
            raise ValueError(f"class {missing!r} has no row of positive weight; leave its rows out or weight them.")
        if goes_on and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start goes on from the last fit, which had other classes.")
        self.classes_ = classes
        return self._tasks_of(X, codes, weights)

    def _tasks_elsewhere(self, source: Source, place: Place, *, goes_on: bool) -> list[PartitionedTask]:
        """Look at rows that live elsewhere; one task for two classes, one per class for more."""
        names = np.array(source.names, dtype=object) if source.names is not None else None
        take_columns(self, source.n_features, names, reset=not goes_on)
        labels = labels_of(survey := surveyed(place, source.names), self.class_weight)
        check_classification_targets(labels.classes)
        check_class_weight(self.class_weight, labels.classes)
        if goes_on and not np.array_equal(labels.classes, self.classes_):
            raise ValueError("warm_start goes on from the last fit, which had other classes.")
        self.classes_ = labels.classes
        seed = seed_of(self.random_state)
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [PartitionedTask(place, survey, labels, code, (seed, code), f"class{code}") for code in positives]

    def _checked_rows(self, X: Any, y: Any, sample_weight: Any, *, is_first: bool) -> tuple[Any, Any, FloatArray]:
        """Rows, labels and weights."""
        with naming_columns(X):
            X, y = validate_data(
                self,
                X,
                plain_labels(y),
                accept_sparse="csr",
                dtype=np.float64,
                order="C",
                ensure_all_finite=False,
                ensure_min_samples=2 if is_first else 1,
                reset=is_first,
            )
        check_finite(X, getattr(self, "feature_names_in_", None))
        check_classification_targets(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return X, y, row_weights(self, y, sample_weight)

    def _tasks_of(self, X: Any, codes: NDArray[np.intp], weights: FloatArray) -> list[Task]:
        """One task for two classes, one per class for more."""
        stack: Any = sparse.hstack if sparse.issparse(X) else np.hstack
        design = stack([np.ones((X.shape[0], 1)), X])
        seed = seed_of(self.random_state)
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [Task(design, codes == code, weights, (seed, code), f"class{code}") for code in positives]

    def _resumable_fits(self) -> list[Fitted]:
        """The fits whose chains or modes can go on, if that is wanted."""
        fits: list[Fitted] = getattr(self, "_fits", []) if self.warm_start else []
        if fits and self.inference_ == "map":
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
        warnings.warn("fitting was stopped early; the model has the draws made until then.", stacklevel=5)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def _warn_of_disagreement(self, settings: Settings) -> None:
        if settings.inference != "gibbs" or settings.n_chains < 2:
            return
        loud = [item for item in self.diagnostics() if item.r_hat > WARNING_R_HAT and "log-likelihood" in item.name]
        for sentence in in_words(loud[:1]):
            warnings.warn(sentence, ConvergenceWarning, stacklevel=5)

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
