"""Means and standard deviations over trials, compared with those the paper prints."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from softpolytope.paper.tables._plan import CELLS, N_LARGE_TRIALS, N_PARTITIONS, SMALL, Quantity, paper_moments
from softpolytope.paper.tables._results import Result

# A number of experts may differ by this share without an explanation.
EXPERTS_TOLERANCE = 0.25
# The paper prints two decimals.
PRINTED_PRECISION = 0.005


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and standard deviation over trials."""

    mean: float
    deviation: float | None  # None for a single trial
    n_trials: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Moments found and the numbers the paper prints."""

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
        """Standard error of the difference for independent trials; a single trial is given the paper's deviation."""
        if self.paper_deviation is None:
            return None
        spread = self.found.deviation if self.found.deviation is not None else self.paper_deviation
        return math.sqrt(self.paper_deviation**2 / self.n_paper_trials + spread**2 / self.found.n_trials)

    @property
    def share(self) -> float:
        """Difference from the paper as a share of its mean."""
        return self.found.mean / self.paper - 1.0

    @property
    def agrees(self) -> bool:
        """Whether the difference is within one standard deviation of the paper or two standard errors."""
        return self.is_within_deviation or self.is_within_errors

    @property
    def is_within_deviation(self) -> bool:
        """Whether the difference is within one standard deviation of the paper."""
        return self._is_within(self.paper_deviation)

    @property
    def is_within_errors(self) -> bool:
        """Whether the difference is within two standard errors."""
        return self._is_within(2.0 * self.standard_error if self.standard_error else None)

    @property
    def is_near(self) -> bool:
        """Whether a number of experts is near enough to need no explanation."""
        return abs(self.share) <= EXPERTS_TOLERANCE

    def _is_within(self, tolerance: float | None) -> bool:
        # A number printed without a deviation must agree to its digits.
        return abs(self.found.mean - self.paper) <= (tolerance or PRINTED_PRECISION)


class Summary:
    """Results by set and method."""

    def __init__(self, results: Iterable[Result]) -> None:
        self._results: dict[tuple[str, str], list[Result]] = defaultdict(list)
        for result in results:
            self._results[result.set_name, result.method].append(result)

    def results(self, set_name: str, method: str) -> list[Result]:
        """Return all trials of a cell of the tables."""
        return self._results.get((set_name, method), [])

    def moments(self, set_name: str, method: str, quantity: Quantity) -> Moments | None:
        """Return the moments of a quantity, None without trials."""
        values = np.array([getattr(result, quantity) for result in self.results(set_name, method)])
        if not len(values):
            return None
        return Moments(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None, len(values))

    def comparison(self, set_name: str, method: str, quantity: Quantity) -> Comparison | None:
        """Return a quantity beside the paper's, None if either is missing."""
        beside = paper_moments(set_name, method, quantity)
        found = self.moments(set_name, method, quantity)
        if beside is None or found is None:
            return None
        return Comparison(found, *beside, N_PARTITIONS if set_name in SMALL else N_LARGE_TRIALS)

    def normalized(self, method: str, quantity: Quantity, *, by_paper: bool = True) -> float | None:
        """Return the mean over the six sets of a number divided by the SVM's, printed or found; None if incomplete."""
        found, by = self._means(method, quantity), self._means("svm", quantity)
        if by_paper:
            by = [CELLS[quantity][name]["svm"][0] for name in SMALL]
        return None if found is None or by is None else float(np.mean(np.divide(found, by)))

    def _means(self, method: str, quantity: Quantity) -> list[float] | None:
        """Return the means on the six sets, None if a set is missing."""
        moments = [self.moments(name, method, quantity) for name in SMALL]
        means = [item.mean for item in moments if item is not None]
        return means if len(means) == len(SMALL) else None
