"""Numbers to draw over a plane: probabilities, their spread, counts of inequalities."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.geometry import n_criteria_met, needed_rate
from softpolytope.inspection.displays._target import Target
from softpolytope.model import Draws, Estimate, RegressionPosterior, combined

Response = Literal["probability", "deviation", "count", "count_deviation", "criteria", "criteria_deviation"]
_OF_PROBABILITY = ("probability", "deviation")
_LABELS = {
    "probability": "P({name})",
    "deviation": "standard deviation of P({name})",
    "count": "experts that vote for {name}",
    "count_deviation": "standard deviation of the experts that vote for {name}",
    "criteria": "criteria for {name} met",
    "criteria_deviation": "standard deviation of the criteria for {name} met",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """What a map is about."""

    target: Target
    response: Response
    labeling: int | None  # None: both together
    estimate: Estimate | None  # None: the mean of probabilities, the counts of the best draw
    threshold: float
    has_posterior_spread: bool = True  # False for plain modes

    def with_response(self, response: Response) -> "Subject":
        """The same of another response."""
        return replace(self, response=response)

    @property
    def name(self) -> str:
        """The class, or classes, that count as positive."""
        return self.target.name if self.labeling is None else self.target.labelings[self.labeling].name

    @property
    def label(self) -> str:
        """The response in words."""
        label = _LABELS[self.response].format(name=self.name)
        is_of_modes = self.response.endswith("deviation") and not self.has_posterior_spread
        return f"{label} over modes, not the posterior" if is_of_modes else label


def subject_of(target: Target, response: str, labeling: int | None, estimate: str | None, threshold: float) -> Subject:
    """Check what was asked for."""
    if response not in get_args(Response):
        raise ValueError(f"response must be one of {', '.join(map(repr, get_args(Response)))}; got {response!r}.")
    if estimate is not None and estimate not in get_args(Estimate):
        raise ValueError(f'estimate must be "mean", "best" or None; got {estimate!r}.')
    needed_rate(threshold)  # raises if it is no probability
    if labeling is None and response not in _OF_PROBABILITY:
        labeling = 0  # experts of the two labelings vote for different classes
    if labeling is not None:
        target.labeling(labeling)  # raises if there is none
    return Subject(target, response, labeling, estimate, threshold)  # type: ignore[arg-type]  # checked above


def surface(estimator: Any, subject: Subject, rows: FloatArray) -> FloatArray:
    """The response at every row."""
    if subject.response in _OF_PROBABILITY:
        return _probabilities(estimator, subject, rows)
    posterior = subject.target.labelings[subject.labeling or 0].posterior
    is_deviation = subject.response.endswith("_deviation")
    draws = posterior.draws if subject.estimate == "mean" or is_deviation else posterior.best
    count = _criteria_of_largest if subject.response.startswith("criteria") else _n_votes
    counts = count(draws, rows, subject.threshold)
    return np.asarray(counts.std(axis=0) if is_deviation else counts.mean(axis=0))


def _probabilities(estimator: Any, subject: Subject, rows: FloatArray) -> FloatArray:
    """P(positive), or its standard deviation over draws."""
    is_deviation = subject.response == "deviation"
    if subject.labeling is not None:
        posterior = subject.target.labelings[subject.labeling].posterior
        draws = posterior.chosen("mean" if is_deviation else subject.estimate or "mean")
        probabilities = -np.expm1(-draws.rate_function()(rows))
        return np.asarray(probabilities.std(axis=0) if is_deviation else probabilities.mean(axis=0))
    # As `predict_proba` and `predict_proba_draws` have it; those would miss the names of the features here.
    regressions: tuple[RegressionPosterior, ...] = estimator.posterior_.regressions
    if is_deviation:
        positive = np.array([item.probability_draws(rows) for item in regressions])
        return np.asarray(_of_class(subject.target.code, positive, 1.0 - positive).std(axis=0))
    pairs = np.array([item.probabilities(rows, estimator.estimate) for item in regressions])
    return _of_class(subject.target.code, pairs[:, 0], pairs[:, 1])


def _of_class(code: int, positive: FloatArray, negative: FloatArray) -> FloatArray:
    """P(class) from those of all regressions, (regressions, ...): one for two classes, else one per class."""
    if len(positive) == 1:
        return np.asarray(positive[0] if code == 1 else negative[0])
    return np.asarray(combined(positive, negative)[code])


def _n_votes(draws: Draws, rows: FloatArray, threshold: float) -> FloatArray:
    """Experts of every draw that vote yes, (draws, rows)."""
    # The sum starts at zero: a draw may have no expert at all.
    is_yes = log_margins(draws, rows, threshold) > 0.0
    sums = np.cumsum(np.vstack([np.zeros(len(rows)), is_yes]), axis=0)
    return np.asarray(np.diff(sums[draws.starts], axis=0))


def log_margins(draws: Draws, rows: FloatArray, threshold: float) -> FloatArray:
    """Log of every expert's rate over the one that alone would reach the threshold, (experts of all draws, rows).

    An expert votes yes where it is positive; far below, it is cut off.
    """
    # Each expert as a draw of its own: prediction is compiled, so this takes maps of many draws in a moment.
    n_experts = len(draws.expert_weights)
    singles = replace(draws, starts=np.arange(n_experts + 1), log_likelihood=np.zeros(n_experts))
    rates = np.maximum(singles.rate_function()(rows), np.finfo(np.float64).tiny)
    return np.asarray(np.log(rates) - np.log(needed_rate(threshold)))


def _criteria_of_largest(draws: Draws, rows: FloatArray, threshold: float) -> FloatArray:
    """Criteria met of the expert of largest weight of every draw, (draws, rows): of a stack, the only one."""
    every = [draws[number] for number in range(len(draws))]
    largest = [int(np.argmax(draw.expert_weights)) for draw in every]
    counts = [n_criteria_met(draw, rows, threshold)[index] for draw, index in zip(every, largest, strict=True)]
    return np.array(counts, dtype=np.float64)
