"""Binary problems, one class against the rest, and their fits by modes or chains."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from softpolytope._typing import FloatArray
from softpolytope.data import (
    ColumnTransform,
    Dataset,
    DataSummary,
    InMemoryRows,
    LabeledRows,
    PartitionedRows,
    identity_transform,
    running_transform,
)
from softpolytope.estimators._parameters import RandomState, Settings, check_same_model, make_seed
from softpolytope.estimators._validation import (
    Labels,
    check_known_classes,
    check_sizes,
    factors_in_partitions,
    set_columns,
)
from softpolytope.exceptions import BlocksLostError
from softpolytope.export import FittedRegression
from softpolytope.gibbs import ChainPlan, GibbsState, SavedChains, fit_chains, logistic_start, state_at
from softpolytope.model import Design, FittedPrior, Prior, TrainingRows
from softpolytope.optimize import (
    DEFAULT_PRIOR,
    OnlineModes,
    SavedModes,
    approximate_posterior,
    choose_n_layers,
    find_modes,
    start_online,
    update_online,
)
from softpolytope.parallel import PartitionStore, RunOptions, Source, one_blas_thread

if TYPE_CHECKING:
    from softpolytope.estimators._base import SoftplusBase


Rows_co = TypeVar("Rows_co", bound=LabeledRows, covariant=True)


@dataclass(frozen=True, slots=True)
class BinaryProblem(Generic[Rows_co]):
    """One class against the rest: its rows, the seed of its fit, and the folder of its checkpoints."""

    rows: Rows_co
    seed: tuple[int, int]
    folder: str


Problem = BinaryProblem[LabeledRows]


def make_array_problems(
    rows: Design, codes: NDArray[np.intp], weights: FloatArray, classes: Labels, random_state: RandomState
) -> tuple[list[BinaryProblem[InMemoryRows]], TrainingRows]:
    """Return the problems of rows in memory, and the fingerprint of the rows; `codes` are indices of classes."""
    intercept = np.ones((rows.shape[0], 1))
    design: Design
    if sparse.issparse(rows):
        design = sparse.csr_array(sparse.hstack([sparse.csr_array(intercept), rows]))
    else:
        design = np.hstack([intercept, rows])
    seed = make_seed(random_state)
    problems = [
        BinaryProblem(InMemoryRows(design, codes == code, weights), (seed, code), f"class{code}")
        for code in ([1] if len(classes) == 2 else range(len(classes)))
    ]
    return problems, TrainingRows.from_rows(design[:, 1:], weights)


def make_partition_problems(
    classifier: "SoftplusBase", source: Source, store: PartitionStore, known: Labels | None
) -> tuple[Labels, list[BinaryProblem[PartitionedRows]]]:
    """Return the classes and the problems of rows in partitions, after a pass over all rows."""
    names = None if source.names is None else np.array(source.names, dtype=object)
    set_columns(classifier, source.n_features, names, is_first=known is None)
    summary = DataSummary.from_store(store, source.names)
    classes, weights = summary.classes()
    factors = factors_in_partitions(classifier.class_weight, classes, weights)
    check_sizes(*summary.ranges(), source.names)
    check_classification_targets(classes)
    check_known_classes(classes, classifier.class_weight, known)
    seed = make_seed(classifier.random_state)
    problems = [
        BinaryProblem(PartitionedRows(store, summary, classes, factors, code), (seed, code), f"class{code}")
        for code in ([1] if len(classes) == 2 else range(len(classes)))
    ]
    return classes, problems


class FitInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a fit, but every class has found something to predict with."""

    def __init__(self, fits: list[FittedRegression]) -> None:
        super().__init__()
        self.fits = fits


def fit_problems(
    problems: Sequence[Problem],
    settings: Settings,
    options: RunOptions,
    earlier: Sequence[FittedRegression],
) -> list[FittedRegression]:
    """Fit one regression after the other, or continue the earlier ones.

    Ctrl-C raises FitInterrupted, or KeyboardInterrupt if some class has nothing to predict with.
    """
    fits: list[FittedRegression] = []
    fit = _fit_chains if settings.inference == "gibbs" else _fit_modes
    before: Sequence[FittedRegression | None] = earlier or [None] * len(problems)
    settings = with_layers(settings, problems, options, earlier)
    for problem, previous in zip(problems, before, strict=True):
        try:
            # The bits of sums by BLAS depend on the number of its threads.
            with one_blas_thread():
                fits.append(fit(problem, settings, replace(options, folder=problem.folder), previous))
        except BlocksLostError as error:
            if settings.checkpoint is not None:
                raise
            # The seed may have been drawn, and then nobody knows it.
            raise BlocksLostError(f"{error} Use random_state={problem.seed[0]}, the seed of this fit.") from error
        except FitInterrupted as stop:
            if len(fits) == len(problems) - 1:
                raise FitInterrupted([*fits, *stop.fits]) from None
            raise KeyboardInterrupt from None
        if not fits[-1].is_complete:
            n_left = len(problems) - len(fits)
            if n_left:
                raise RuntimeError(
                    f"The fit was stopped with {n_left} classes still to fit, so there is no model. With a checkpoint "
                    "folder the same fit would resume from where it was."
                )
            warnings.warn("The fit was stopped early; the model has the draws made until then.", stacklevel=5)
    return fits


def with_layers(
    settings: Settings, problems: Sequence[Problem], options: RunOptions, earlier: Sequence[FittedRegression]
) -> Settings:
    """Return the settings with the number of layers: that of the earlier fit, or one chosen on held-out rows."""
    if settings.n_layers != "auto":
        return settings
    carried = earlier[0].carried if earlier else None
    if carried is not None:
        return settings.with_layers(cast(int, carried["n_layers"]))
    with one_blas_thread():
        rows = [problem.rows.prepare(standardize=settings.standardize).data for problem in problems]
        seeds = [SeedSequence(problem.seed) for problem in problems]
        runs = [replace(options, folder=problem.folder) for problem in problems]
        return settings.with_layers(
            choose_n_layers(list(zip(rows, seeds, runs, strict=True)), settings.modes, settings.labelings)
        )


def _fit_modes(
    problem: Problem, settings: Settings, options: RunOptions, earlier: FittedRegression | None
) -> FittedRegression:
    prepared, start = problem.rows.prepare(standardize=settings.standardize), None
    if earlier is not None and isinstance(earlier.state, SavedModes):
        check_same_model(earlier.carried, settings, "warm_start continues from the modes of the last fit")
        start = earlier.state.transformed(prepared.transform)
    result = find_modes(prepared.data, settings.modes, SeedSequence(problem.seed), settings.labelings, options, start)
    posterior = approximate_posterior(result, prepared.transform, settings.prior)
    is_bootstrap = settings.inference == "bootstrap"
    fitted = FittedRegression(
        posterior,
        prepared.features,
        probe_probabilities=posterior.probability_draws(prepared.get_probes()) if is_bootstrap else None,
        precision_rates=result.precision_rates,
        state=SavedModes(result, prepared.transform),
        carried=settings.mode_model | {"n_restarts": len(result.modes[0])},
        is_complete=result.is_complete,
        prior=_fitted_prior(settings, prepared.transform, result.precision_rates),
    )
    if result.is_interrupted:
        raise FitInterrupted([fitted])
    return fitted


def _fit_chains(
    problem: Problem, settings: Settings, options: RunOptions, earlier: FittedRegression | None
) -> FittedRegression:
    prepared = problem.rows.prepare(standardize=settings.standardize)
    saved, carried = None if earlier is None else earlier.state, settings.mode_model
    start: SavedChains | list[GibbsState] | GibbsState | None
    if earlier is not None and isinstance(saved, SavedChains):
        if settings.given_prior is None and earlier.prior is not None:
            settings = settings.with_prior(earlier.prior.prior)
        digest = prepared.get_digest(settings.chain_model)
        if saved.digest != digest:
            raise ValueError(
                "warm_start continues the chains of the last fit, and these rows, labels, weights or parameters are "
                "not the ones they sampled with. Set warm_start=False to start from scratch."
            )
        if saved.n_done >= settings.schedule.n_sweeps:
            return earlier
        start = saved
    else:
        start, prior = _start_chains(prepared.data, problem, settings, options)
        settings = settings.with_prior(prior)
        digest = prepared.get_digest(settings.chain_model)
    plan = ChainPlan(settings.chains, settings.n_chains, settings.labelings, SeedSequence(problem.seed), digest, start)
    result = fit_chains(prepared.data, prepared.transform, plan, options)
    fitted = FittedRegression(
        result.posterior,
        prepared.features,
        probe_probabilities=result.posterior.probability_draws(prepared.get_probes()),
        state=result.saved,
        carried=carried,
        is_complete=result.is_complete,
        prior=_fitted_prior(settings, prepared.transform),
    )
    if result.is_interrupted:
        raise FitInterrupted([fitted])
    return fitted


def _start_chains(
    data: Dataset,
    problem: Problem,
    settings: Settings,
    options: RunOptions,
) -> tuple[list[GibbsState] | GibbsState | None, Prior]:
    """Return where chains start, and their prior.

    They start at zero, at random (None), or each at a mode, labeling after labeling. By default their prior has the
    scale that the search for modes chose; without a search it is that of the settings.
    """
    prior = settings.prior
    if not settings.fit_weight:
        return logistic_start(settings.chains, data.n_columns), prior
    if settings.start == "random":
        return None, prior
    # Not modes of the very posterior that is sampled: where its prior is tight, they have fewer experts than its draws.
    searched = replace(
        prior,
        precision_rate=DEFAULT_PRIOR.precision_rate,
        precision_shape=DEFAULT_PRIOR.precision_shape,
    )
    modes = replace(settings.modes, prior=searched, n_restarts=settings.n_chains, bootstrap=False)
    options = replace(options, callback=None, folder=f"{problem.folder}/starts")
    seed = SeedSequence(problem.seed)
    result = find_modes(data, modes, seed, settings.labelings, options)
    if result.is_interrupted:
        # Chains that start at unfinished modes would not be those of this seed.
        raise KeyboardInterrupt
    if settings.given_prior is None:
        # Coefficients have a t law of scale (rate / shape)^(1/2), whatever the shape.
        multiple = result.best_rate / searched.precision_shape
        prior = replace(prior, precision_rate=multiple * prior.precision_shape)
    rng = np.random.default_rng(seed)
    states = [
        state_at(found.mode.coefficients, found.mode.log_weights, settings.max_experts, prior, rng)
        for modes_of_labeling in result.modes
        for found in modes_of_labeling
    ]
    return states, prior


def _fitted_prior(settings: Settings, transform: ColumnTransform, mode_rates: FloatArray | None = None) -> FittedPrior:
    """Return the prior of a fit, on the columns that it is a prior for."""
    columns = transform.center, transform.scale
    rates = None if mode_rates is None else mode_rates.reshape(-1)
    return FittedPrior(settings.prior, settings.max_experts, settings.fit_weight, *columns, rates)


def fit_batch(
    problem: BinaryProblem[InMemoryRows], settings: Settings, n_threads: int, earlier: FittedRegression | None
) -> FittedRegression:
    """Learn from a batch of rows, the first one or another."""
    online = None
    if earlier is not None:
        check_same_model(earlier.carried, settings, "partial_fit continues from the modes of earlier rows")
        online = earlier.state
        if isinstance(online, SavedModes):
            online = OnlineModes.from_saved(online, earlier.features)
    modes, standardize = settings.modes, settings.standardize
    with one_blas_thread():
        batch = problem.rows.dataset()
        names = SeedSequence(problem.seed), settings.labelings
        if isinstance(online, OnlineModes):
            online, posterior = update_online(online, batch, modes, *names, n_threads, standardize=standardize)
        else:
            online, posterior = start_online(batch, modes, *names, RunOptions(n_threads), standardize=standardize)
    transform = identity_transform(batch.n_columns)
    if standardize:
        transform = running_transform(online.features, is_sparse=bool(sparse.issparse(batch.design)))
    return FittedRegression(
        posterior,
        online.features,
        precision_rates=online.precision_rates,
        state=online,
        carried=settings.mode_model,
        prior=_fitted_prior(settings, transform, online.precision_rates),
    )
