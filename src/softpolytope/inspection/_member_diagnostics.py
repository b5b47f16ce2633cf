"""Monte Carlo errors of what the members of a bootstrap predict, and the agreement of its two labelings.

Members are independent given the rows, so there is nothing to converge: only how many they are limits what they say.
The errors are those of another fit of the same rows with other random numbers.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import expit, logit

from softpolytope._format import format_count
from softpolytope._typing import FloatArray
from softpolytope.inspection._diagnostics import FALSE_ALARMS, PROBABILITY
from softpolytope.model import MAX_LOG_ODDS, FittedModel, Pool, central_interval

LEVEL = 0.89
# An end of an interval is worth a sentence if its error is above this, and above this share of the interval's width.
MAX_ERROR = 0.05
MAX_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class MemberDiagnosis:
    """Monte Carlo errors (standard errors) of the probability and of its interval of 89 % at one training row."""

    name: str
    n_members: int  # of all labelings
    probability: float  # that all members predict together
    probability_error: float
    interval: tuple[float, float]
    interval_errors: tuple[float, float]  # of its lower and upper end
    labeling_difference: float  # mean probability by one labeling less that by the other; NaN with one labeling
    labeling_z: float  # the same in units of its Monte Carlo error; NaN if that is zero or not known

    @property
    def is_fine(self) -> bool:
        """Return whether both ends of the interval are known to 0.05 or to a quarter of its width."""
        low, high = self.interval
        return max(self.interval_errors) <= max(MAX_ERROR, MAX_SHARE * (high - low))

    @property
    def labeling_p_value(self) -> float:
        """Return the p-value of a t test that the labelings have one mean; one if there is nothing to compare."""
        if np.isnan(self.labeling_z):
            return 1.0
        return 2.0 * float(stats.t.sf(abs(self.labeling_z), self.n_members - 2))


def diagnose_members(model: FittedModel) -> list[MemberDiagnosis]:
    """Diagnose the probabilities at training rows of a model with members of a bootstrap."""
    regressions, probes = model.posterior.regressions, model.probe_probabilities
    if not has_probes(model):
        raise ValueError(
            "diagnostics requires probabilities at training rows, which this model does not have: the last rows were "
            "given to partial_fit, or it is from a file of an earlier version. Refit with fit."
        )
    found = []
    for index, (regression, own) in enumerate(zip(regressions, probes, strict=True)):
        suffix = "" if len(regressions) == 1 else f" of class {model.classes.tolist()[index]!r}"
        sides = own.reshape(len(regression.labelings), -1, own.shape[1])
        found += [
            diagnose_row(f"{PROBABILITY} {row}{suffix}", sides[:, :, row], regression.pool)
            for row in range(own.shape[1])
        ]
    return found


def has_probes(model: FittedModel) -> bool:
    """Return whether a model has kept probabilities at training rows."""
    probes = model.probe_probabilities
    return len(probes) == len(model.posterior.regressions) and all(own.shape[1] for own in probes)


def diagnose_row(name: str, sides: FloatArray, pool: Pool = "logarithmic") -> MemberDiagnosis:
    """Diagnose P(y = 1) at one row, given that of the members of each labeling, (labelings, members).

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.inspection import diagnose_row
    >>> item = diagnose_row("probability", np.random.default_rng(0).beta(8.0, 2.0, size=(2, 10)))
    >>> round(item.probability, 1), round(item.probability_error, 2), item.labeling_p_value > 0.01
    (0.8, 0.03, True)
    """
    if pool == "linear":
        probability, error = float(sides.mean()), _error_of_mean(sides)
    else:
        log_odds = np.clip(logit(np.clip(sides, 1e-300, 1.0)), -MAX_LOG_ODDS, MAX_LOG_ODDS)
        probability = float(expit(log_odds.mean()))
        # The derivative of the probability by the log odds is p (1 - p).
        error = probability * (1.0 - probability) * _error_of_mean(log_odds)
    low, high = central_interval(sides.reshape(-1), LEVEL).tolist()
    tail = 0.5 * (1.0 - LEVEL)
    errors = quantile_error(sides.reshape(-1), tail), quantile_error(sides.reshape(-1), 1.0 - tail)
    difference, z = np.nan, np.nan
    if len(sides) == 2:
        difference = float(sides[0].mean() - sides[1].mean())
        unit = 2.0 * _error_of_mean(sides)
        z = difference / unit if unit > 0.0 else np.nan
    return MemberDiagnosis(name, sides.size, probability, error, (low, high), errors, difference, z)


def _error_of_mean(sides: FloatArray) -> float:
    """Return the standard error of the mean of all members, of which there is a fixed number in each labeling."""
    n_labelings, n_members = sides.shape
    if n_members == 1:
        return np.nan
    return float(np.sqrt((sides.var(axis=1, ddof=1) / n_members).sum()) / n_labelings)


def quantile_error(members: FloatArray, level: float) -> float:
    """Return the standard error of a quantile at position level x (n + 1), by Maritz and Jarrett (1978).

    It is the standard deviation of the order statistic under the law that gives each member the probability 1 / n.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.inspection import quantile_error
    >>> members = np.random.default_rng(0).normal(size=1000)
    >>> round(quantile_error(members, 0.5), 2)  # (pi / 2 n)^(1/2) = 0.04 for a normal law
    0.04
    """
    n = len(members)
    ends = np.arange(n + 1) / n
    position = min(max(level * (n + 1), 1.0), float(n))
    weights = np.diff(stats.beta.cdf(ends, position, n + 1 - position))
    ordered = np.sort(members)
    mean = float(weights @ ordered)
    return float(np.sqrt(weights @ (ordered - mean) ** 2))


def members_in_words(diagnoses: list[MemberDiagnosis]) -> list[str]:
    """Describe each problem in one plain sentence; return an empty list if there is none.

    A difference of the labelings is reported if chance explains it in less than one fit of a hundred.
    """
    sentences = []
    for item in diagnoses:
        if not item.is_fine:
            (low, high), end = item.interval, int(np.argmax(item.interval_errors))
            sentences.append(
                f"The interval of the {item.name}, {low:.3g} to {high:.3g}, has a Monte Carlo error of "
                f"{item.interval_errors[end]:.2g} at its {('lower', 'upper')[end]} end. Fit more members (n_members) "
                "before relying on it."
            )
    apart = [item for item in diagnoses if item.labeling_p_value < FALSE_ALARMS / len(diagnoses)]
    if apart:
        worst = max(apart, key=lambda item: abs(item.labeling_difference))
        sentences.append(
            f"The two labelings predict different probabilities at {len(apart)} of "
            f"{format_count(len(diagnoses), 'training row')}, by up to {abs(worst.labeling_difference):.2g} "
            f"({abs(worst.labeling_z):.1f} Monte Carlo errors). They are two models of the same rows, and intervals "
            "contain the members of both; more members do not bring them together."
        )
    return sentences
