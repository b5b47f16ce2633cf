"""Responses that a map shows over a plane: probabilities, their spread, and counts of inequalities."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.geometry import n_criteria_met, needed_rate
from softpolytope.inspection.displays._target import Target, get_target
from softpolytope.model import Draws, Estimate, FittedModel

Response = Literal["probability", "deviation", "count", "count_deviation", "criteria", "criteria_deviation"]
LABELS: dict[Response, str] = {
    "probability": "P({name})",
    "deviation": "standard deviation of P({name})",
    "count": "experts that vote for {name}",
    "count_deviation": "standard deviation of the experts that vote for {name}",
    "criteria": "criteria for {name} met",
    "criteria_deviation": "standard deviation of the criteria for {name} met",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of a map: a response for a class."""

    target: Target
    response: Response
    labeling: int | None  # None for both together
    estimate: Estimate | None  # None for the mean of probabilities and the counts of the best draw
    threshold: float
    has_posterior_spread: bool  # False for plain modes

    @property
    def name(self) -> str:
        """Name of the class or classes that are positive."""
        return self.target.name if self.labeling is None else self.target.labelings[self.labeling].name

    @property
    def label(self) -> str:
        """Description of the response."""
        label = LABELS[self.response].format(name=self.name)
        is_of_modes = self.response.endswith("deviation") and not self.has_posterior_spread
        return f"{label}\nover modes, not the posterior" if is_of_modes else label


def make_subject(
    model: FittedModel,
    target: object,
    response: Response,
    labeling: int | None,
    estimate: Estimate | None,
    threshold: float,
) -> Subject:
    """Return the subject of a map; raise unless the model has it."""
    if response not in get_args(Response):
        raise ValueError(f"response must be one of {', '.join(map(repr, get_args(Response)))}; got {response!r}.")
    if estimate is not None and estimate not in get_args(Estimate):
        raise ValueError(f'estimate must be "mean", "best" or None; got {estimate!r}.')
    needed_rate(threshold)  # raises unless it is a probability
    found = get_target(model, target)
    if labeling is None and response not in ("probability", "deviation"):
        labeling = 0  # experts of the two labelings vote for different classes
    if labeling is not None:
        found.labeling(labeling)  # raises unless it exists
    return Subject(found, response, labeling, estimate, threshold, model.has_posterior_spread)


def evaluate(model: FittedModel, subject: Subject, rows: FloatArray) -> FloatArray:
    """Return the response at every row."""
    is_deviation = subject.response.endswith("deviation")
    if subject.labeling is None:
        return _class_probability(model, subject.target.code, rows, is_deviation=is_deviation)
    posterior = subject.target.labelings[subject.labeling].posterior
    if subject.response in ("probability", "deviation"):
        draws = posterior.select_draws("mean" if is_deviation else subject.estimate or "mean")
        values = -np.expm1(-draws.rates(rows))
    else:
        draws = posterior.draws if subject.estimate == "mean" or is_deviation else posterior.best
        count = _criteria_of_largest if subject.response.startswith("criteria") else _n_votes
        values = count(draws, rows, subject.threshold)
    return np.asarray(values.std(axis=0) if is_deviation else values.mean(axis=0))


def _class_probability(model: FittedModel, code: int, rows: FloatArray, *, is_deviation: bool) -> FloatArray:
    """Return P(class) of both labelings together as predicted by the model, or its standard deviation over draws."""
    if not is_deviation:
        return model.posterior.class_probabilities(rows, model.estimate)[:, code]
    probabilities = model.posterior.class_probability_draws(rows)
    if probabilities.ndim == 3:
        return np.asarray(probabilities[:, :, code].std(axis=0))
    return np.asarray((probabilities if code == 1 else 1.0 - probabilities).std(axis=0))


def _n_votes(draws: Draws, rows: FloatArray, threshold: float) -> FloatArray:
    """Return the number of experts of every draw that vote yes, (draws, rows)."""
    # The sum starts at zero: a draw may have no expert at all.
    is_yes = log_margins(draws, rows, threshold) > 0.0
    sums = np.cumsum(np.vstack([np.zeros(len(rows)), is_yes]), axis=0)
    return np.asarray(np.diff(sums[draws.starts], axis=0))


def log_margins(draws: Draws, rows: FloatArray, threshold: float) -> FloatArray:
    """Return the log of each expert's rate over the rate needed for the threshold, (experts of all draws, rows).

    An expert votes yes where it is positive. Very small rates are cut off.
    """
    # Each expert becomes a draw of its own, since prediction is compiled: maps of many draws take a moment only.
    n_experts = len(draws.expert_weights)
    singles = replace(draws, starts=np.arange(n_experts + 1), log_likelihood=np.zeros(n_experts))
    rates = np.maximum(singles.rates(rows), np.finfo(np.float64).tiny)
    return np.asarray(np.log(rates) - np.log(needed_rate(threshold)))


def _criteria_of_largest(draws: Draws, rows: FloatArray, threshold: float) -> FloatArray:
    """Return the number of criteria met of the largest expert of every draw, (draws, rows); a stack has only one."""
    counts = [
        n_criteria_met(draw, rows, threshold)[int(np.argmax(draw.expert_weights))]
        for draw in (draws[number] for number in range(len(draws)))
    ]
    return np.array(counts, dtype=np.float64)
