"""How good predictions were: error, log-loss, Brier score, and whether probabilities come true."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from softpolytope._typing import BoolArray, FloatArray

# Of all intervals of the report.
LEVEL = 0.89
N_BINS = 15
# Chances of misses beyond which more of them than this are no accident.
ALARM = 0.05
# Names of the model and of the majority vote among scores on held-out rows, as `softpolytope fit` writes them.
OWN, MAJORITY = "softpolytope", "majority vote"


@dataclass(frozen=True, slots=True)
class Score:
    """What one method got wrong on the test rows; None where it is not known."""

    name: str
    error: float | None
    log_loss: float | None
    brier: float | None
    error_interval: tuple[float, float] | None = None
    is_comparable: bool = True  # whether it is of the test rows, and not of others

    def is_better_than(self, other: "Score") -> bool:
        """Return whether both error and log-loss are smaller."""
        is_less_wrong = (self.error or 0.0) < (other.error or 0.0)
        return is_less_wrong and (self.log_loss or 0.0) < (other.log_loss or 0.0)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Bins of predicted probability that have rows, and how often the event came true in each."""

    lower: FloatArray  # (bins,), left edge
    counts: NDArray[np.intp]  # (bins,)
    predicted: FloatArray  # (bins,), mean probability
    observed: FloatArray  # (bins,), share in which it came true
    bands: FloatArray  # (bins, 2), central interval of that share

    @property
    def is_covered(self) -> BoolArray:
        """Whether the band of each bin holds the mean probability."""
        return np.asarray((self.bands[:, 0] <= self.predicted) & (self.predicted <= self.bands[:, 1]))

    @property
    def most_misses(self) -> int:
        """Bands that may miss by chance: more happen in less than one of twenty perfectly calibrated models."""
        return int(stats.binom.ppf(1.0 - ALARM, len(self.counts), 1.0 - LEVEL))

    @property
    def mean_gap(self) -> float:
        """Mean over rows of how far the share of a row's bin is from its mean probability."""
        return float(np.average(np.abs(self.observed - self.predicted), weights=self.counts))


def score_of(name: str, probabilities: FloatArray, decisions: NDArray[np.intp], codes: NDArray[np.intp]) -> Score:
    """Of probabilities (rows, classes), decisions and labels.

    The Brier score is half the squared distance between the probabilities and the label: with two classes, the mean of
    (P(y = 1) - y)^2.
    """
    rows = np.arange(len(codes))
    own = np.maximum(probabilities[rows, codes], np.finfo(float).tiny)
    squares = (probabilities**2).sum(axis=1) - 2.0 * probabilities[rows, codes] + 1.0
    n_wrong = int((decisions != codes).sum())
    return Score(
        name,
        n_wrong / len(codes),
        float(-np.log(own).mean()),
        float(0.5 * squares.mean()),
        share_interval(n_wrong, len(codes)),
    )


def majority_score(codes: NDArray[np.intp], n_classes: int) -> Score:
    """Of one who knows the shares of the classes among these very rows and nothing else."""
    shares = np.bincount(codes, minlength=n_classes) / len(codes)
    probabilities = np.broadcast_to(shares, (len(codes), n_classes))
    decisions = np.full(len(codes), int(shares.argmax()))
    return score_of("Majority vote", probabilities, decisions, codes)


def given_scores(
    baselines: Mapping[str, Mapping[str, float]] | None, elsewhere: Mapping[str, Mapping[str, float]] | None = None
) -> list[Score]:
    """Scores that the user measured, on the test rows and on others."""
    here = [_given(str(name), values, "baselines") for name, values in (baselines or {}).items()]
    others = [_given(str(name), values, "elsewhere") for name, values in (elsewhere or {}).items()]
    return [*here, *(replace(score, is_comparable=False) for score in others)]


def held_out_scores(given: Mapping[str, Mapping[str, float]] | None) -> tuple[Score, Score | None] | None:
    """Scores of the model and of the majority vote on rows held out from its fit; None if the model's are not there."""
    if not given or "error" not in given.get(OWN, {}):
        return None
    majority = _given(MAJORITY, given[MAJORITY], "held_out") if MAJORITY in given else None
    return _given(OWN, given[OWN], "held_out"), majority


def _given(name: str, values: Mapping[str, float], parameter: str) -> Score:
    found: dict[str, float | None] = {}
    for key in ("error", "log_loss", "brier"):
        value = values.get(key)
        found[key] = None if value is None else float(value)
        if value is not None and not np.isfinite(float(value)):
            raise ValueError(f"{parameter}[{name!r}][{key!r}] must be a finite number; got {value!r}.")
    error = found["error"]
    if error is not None and not 0.0 <= error <= 1.0:
        raise ValueError(
            f"{parameter}[{name!r}]['error'] must be a share between 0 and 1; got {error!r}. Divide per cent by 100."
        )
    return Score(name, error, found["log_loss"], found["brier"])


def share_interval(n_hits: int, n_rows: int) -> tuple[float, float]:
    """Central interval of a share under the Beta law that Jeffreys' prior gives, Beta(k + 1/2, n - k + 1/2)."""
    law = stats.beta(n_hits + 0.5, n_rows - n_hits + 0.5)
    return float(law.ppf(0.5 - 0.5 * LEVEL)), float(law.ppf(0.5 + 0.5 * LEVEL))


def calibration_of(probabilities: FloatArray, is_true: BoolArray) -> Calibration:
    """Of events with predicted probabilities (rows,), in bins of equal width."""
    bins = np.minimum((probabilities * N_BINS).astype(np.intp), N_BINS - 1)
    counts = np.bincount(bins, minlength=N_BINS)
    used = np.flatnonzero(counts)
    n_hits = np.bincount(bins, is_true, N_BINS)[used]
    n_rows = counts[used]
    law = stats.beta(n_hits + 0.5, n_rows - n_hits + 0.5)
    return Calibration(
        used / N_BINS,
        n_rows,
        np.bincount(bins, probabilities, N_BINS)[used] / n_rows,
        n_hits / n_rows,
        np.column_stack([law.ppf(0.5 - 0.5 * LEVEL), law.ppf(0.5 + 0.5 * LEVEL)]),
    )


def model_calibration(probabilities: FloatArray, decisions: NDArray[np.intp], codes: NDArray[np.intp]) -> Calibration:
    """Return the calibration of P(second class) if there are two classes, else of the class decided for."""
    if probabilities.shape[1] == 2:
        return calibration_of(probabilities[:, 1], codes == 1)
    return calibration_of(probabilities[np.arange(len(codes)), decisions], decisions == codes)


def auc_of(probabilities: FloatArray, codes: NDArray[np.intp]) -> float | None:
    """Return the area under the ROC curve of probabilities (rows, classes), None if all rows are of one class.

    With two classes it is the share of pairs of rows, one of each class, in which the row of the second class has the
    larger probability of it, ties counted half. With more it is the mean over the classes that have rows, each against
    all others.
    """
    numbers = [1] if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    areas = []
    for number in numbers:
        is_own = codes == number
        n_own, n_others = int(is_own.sum()), int((~is_own).sum())
        if n_own and n_others:
            ranks = stats.rankdata(probabilities[:, number])
            areas.append((float(ranks[is_own].sum()) - 0.5 * n_own * (n_own + 1)) / (n_own * n_others))
    return float(np.mean(areas)) if areas else None
