"""From rows and settings to a posterior: one regression per class, by chains or by climbs."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.data import ColumnTransform, FeatureSummary, InMemoryRows, LabeledRows
from softpolytope.estimators._chains import Chains, sample
from softpolytope.estimators._climbs import maximize, with_transform
from softpolytope.estimators._parameters import Settings, carried_parameters, check_same_model
from softpolytope.estimators._streaming import Stream, online_modes, start_online, update_online
from softpolytope.estimators._tasks import BinaryProblem, How
from softpolytope.gibbs import RunResult
from softpolytope.model import RegressionPosterior
from softpolytope.optimize import ModesResult
from softpolytope.parallel import one_blas_thread


@dataclass(frozen=True, slots=True)
class FittedRegression:
    """A regression, and what it takes to go on with it."""

    posterior: RegressionPosterior
    chains: Chains | None  # of a fit by Gibbs sampling
    modes: ModesResult | None  # of a fit by climbs
    stream: Stream | None  # the same, ready for more rows
    units: ColumnTransform | None  # in which the modes are
    model: dict[str, object]  # what a fit that goes on must share with this one
    is_complete: bool  # False if it was stopped before its end
    probe_probabilities: FloatArray  # (draws, probes)  P(y = 1) at a few training rows, for diagnostics
    features: FeatureSummary
    precision_rates: FloatArray | None  # (restarts,)  of a fit by climbs

    @property
    def kind_of_state(self) -> Literal["modes", "stream", "chains"] | None:
        """What a fit could go on from; None if the regression was read from a file without it, or kept no chains."""
        if self.modes is not None:
            return "modes"
        if self.stream is not None:
            return "stream"
        return "chains" if self.chains is not None and self.chains.states is not None else None


class FitInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a fit; it has something to predict with all the same."""

    def __init__(self, fitted: FittedRegression) -> None:
        super().__init__()
        self.fitted = fitted


def fit_regression(
    task: BinaryProblem[LabeledRows], settings: Settings, how: How, earlier: FittedRegression | None
) -> FittedRegression:
    """Fit one regression, or go on with an earlier fit; Ctrl-C raises FitInterrupted, or without a draw its base."""
    # One thread for sums by BLAS too: their bits depend on the number.
    with one_blas_thread():
        given = task.rows.prepare(settings.model, standardize=settings.standardize)
        data, units, digest = given.data, given.transform, given.digest
        chains = modes = stream = rates = None
        result: RunResult | ModesResult
        if settings.inference == "gibbs":
            before = earlier.chains if earlier is not None else None
            if earlier is not None and before is not None and before.are_done(digest, settings):
                return earlier
            posterior, chains, result = sample(data, units, task, settings, how, digest, before)
        else:
            start = earlier.modes if earlier is not None else None
            if earlier is not None and start is not None:
                check_same_model(earlier.model, settings, "warm_start goes on with the modes of the last fit")
                start = with_transform(start, earlier.units, units)
            posterior, modes = maximize(data, units, task, settings, how, start)
            result = modes
            stream, rates = online_modes(modes, units, given.features), modes.precision_rates
        probabilities = posterior.probability_draws(given.probes)
    carried = carried_parameters(settings)
    is_complete = result.is_complete
    fitted = FittedRegression(
        posterior, chains, modes, stream, units, carried, is_complete, probabilities, given.features, rates
    )
    if result.is_interrupted:
        raise FitInterrupted(fitted)
    return fitted


def take_batch(
    task: BinaryProblem[InMemoryRows], settings: Settings, how: How, earlier: FittedRegression | None
) -> FittedRegression:
    """Learn from a batch of rows, the first one or another."""
    with one_blas_thread():
        if earlier is None or earlier.stream is None:
            stream, posterior = start_online(task, settings, how)
        else:
            check_same_model(earlier.model, settings, "partial_fit goes on with the modes of earlier rows")
            stream, posterior = update_online(earlier.stream, task, settings, how)
    no_probes = np.zeros((len(posterior.labelings[0].draws), 0))
    carried = carried_parameters(settings)
    rates = stream.precision_rates
    return FittedRegression(posterior, None, None, stream, None, carried, True, no_probes, stream.features, rates)  # noqa: FBT003
