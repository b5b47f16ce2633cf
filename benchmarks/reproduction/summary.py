"""Means and standard deviations of cells, beside those the paper prints."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from reproduction import paper
from reproduction.cells import Result
from reproduction.plan import N_LARGE_TRIALS, N_PARTITIONS, SMALL

# Numbers of experts may differ by this share before an explanation is due.
EXPERTS_TOLERANCE = 0.25
# The paper prints two decimals.
AS_PRINTED = 0.005


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and standard deviation over trials."""

    mean: float
    deviation: float | None  # None of a single trial
    n_trials: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Moments":
        """Of some numbers."""
        given = np.array(list(values))
        deviation = float(given.std(ddof=1)) if len(given) > 1 else None
        return cls(float(given.mean()), deviation, len(given))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found, and what the paper prints."""

    found: Moments
    paper: float
    paper_deviation: float | None
    n_paper_trials: int

    @property
    def in_deviations(self) -> float | None:
        """Difference from the paper in its standard deviations."""
        return (self.found.mean - self.paper) / self.paper_deviation if self.paper_deviation else None

    @property
    def standard_error(self) -> float | None:
        """Of the difference, if the trials were independent; of one trial the spread is taken to be the paper's."""
        if self.paper_deviation is None:
            return None
        spread = self.found.deviation if self.found.deviation is not None else self.paper_deviation
        return math.sqrt(self.paper_deviation**2 / self.n_paper_trials + spread**2 / self.found.n_trials)

    @property
    def tolerance(self) -> float:
        """One standard deviation of the paper or two standard errors of the difference, whichever is larger.

        A number printed without a spread is met by its digits.
        """
        if self.paper_deviation is None or self.standard_error is None:
            return AS_PRINTED
        return max(self.paper_deviation, 2.0 * self.standard_error)

    @property
    def share(self) -> float:
        """Difference from the paper as a share of its mean."""
        return self.found.mean / self.paper - 1.0

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the tolerance."""
        return abs(self.found.mean - self.paper) <= self.tolerance

    @property
    def is_within_deviation(self) -> bool:
        """Whether it is within one standard deviation of the paper."""
        return abs(self.found.mean - self.paper) <= (self.paper_deviation or AS_PRINTED)

    @property
    def is_within_errors(self) -> bool:
        """Whether it is within two standard errors."""
        return abs(self.found.mean - self.paper) <= (2.0 * self.standard_error if self.standard_error else AS_PRINTED)

    @property
    def is_near(self) -> bool:
        """Whether a number of experts is near enough to need no explanation."""
        return abs(self.share) <= EXPERTS_TOLERANCE


class Summary:
    """Results by set and method."""

    def __init__(self, results: Iterable[Result]) -> None:
        self._results: dict[tuple[str, str], list[Result]] = defaultdict(list)
        for result in results:
            self._results[result.set_name, result.method].append(result)

    def results(self, set_name: str, method: str) -> list[Result]:
        """All trials of a cell of the tables."""
        return self._results.get((set_name, method), [])

    def moments(self, set_name: str, method: str, quantity: str) -> Moments | None:
        """Of one of the numbers of a result."""
        values = [getattr(result, quantity) for result in self.results(set_name, method)]
        return Moments.of(values) if values and None not in values else None

    def comparison(self, set_name: str, method: str, quantity: str) -> Comparison | None:
        """Beside the paper's; None where either is missing."""
        beside = paper.printed(set_name, method, quantity)
        found = self.moments(set_name, method, quantity)
        if beside is None or found is None:
            return None
        return Comparison(found, *beside, N_PARTITIONS if set_name in SMALL else N_LARGE_TRIALS)

    def normalised(self, method: str, quantity: str, *, by_paper: bool = True) -> float | None:
        """Mean over the six sets of a number divided by the SVM's, as printed or as found; None if a set is missing."""
        by = [paper.of_svm(quantity)[name] if by_paper else self._mean(name, "svm", quantity) for name in SMALL]
        found = [self._mean(name, method, quantity) for name in SMALL]
        if None in found or None in by:
            return None
        return float(np.mean(np.divide(found, by)))

    def _mean(self, set_name: str, method: str, quantity: str) -> float | None:
        moments = self.moments(set_name, method, quantity)
        return None if moments is None else moments.mean
