"""Calibration of predicted probabilities."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.inspection.displays import _drawing
from softpolytope.model import class_index, encode_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Strategy = Literal["uniform", "quantile"]


class ProbabilisticClassifier(Protocol):
    """Any fitted classifier that predicts probabilities."""

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels of the classes."""
        ...

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probabilities of the classes."""
        ...


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(_drawing.Display):
    """Calibration curve: observed frequency of a class by its predicted probability in bins, with a histogram.

    The error bars are central intervals of the frequency under the posterior of k of n rows with Jeffreys' prior,
    Beta(k + 1/2, n - k + 1/2). If the probabilities are calibrated, most of them cover the diagonal.

    Parameters
    ----------
    predicted, observed : ndarray of shape (n_bins,)
        Mean prediction and observed frequency in each bin that has rows.
    intervals : ndarray of shape (n_bins, 2)
        Intervals of the frequency.
    counts : ndarray of shape (n_bins,)
        Number of rows in each bin.
    probabilities : ndarray of shape (n_rows,)
        All predictions, for the histogram.
    name : str
        Name of the class.
    level : float
        Probability of the intervals.

    Attributes
    ----------
    ax_, figure_, histogram_ax_
        Matplotlib objects of the last drawing.
    """

    predicted: FloatArray
    observed: FloatArray
    intervals: FloatArray
    counts: FloatArray
    probabilities: FloatArray
    name: str
    level: float
    histogram_ax_: "Axes" = field(init=False)

    @classmethod
    def from_estimator(  # noqa: PLR0913  # scikit-learn's displays take all at once
        cls,
        estimator: ProbabilisticClassifier,
        X: ArrayLike,
        y: ArrayLike,
        *,
        target: object = None,
        n_bins: int = 10,
        strategy: Strategy = "uniform",
        level: float = 0.89,
        ax: "Axes | None" = None,
    ) -> Self:
        """Predict rows that the model was not trained on, and draw the calibration curve.

        Parameters
        ----------
        estimator : classifier
            Any fitted classifier with `predict_proba` and `classes_`.
        X, y : array-like
            Rows and their labels.
        target : label, optional
            The class, by default the second of two.
        n_bins : int
            Number of bins of the predictions.
        strategy : {"uniform", "quantile"}
            Bins of equal width, or bins with equal numbers of rows.
        level : float
            Probability of the intervals.
        ax : matplotlib Axes, optional
            Axes to draw on.
        """
        _drawing.import_pyplot()
        code = class_index(target, estimator.classes_)
        probabilities = np.asarray(estimator.predict_proba(X))[:, code]
        is_target = encode_labels(y, estimator.classes_, len(probabilities)) == code
        name = str(estimator.classes_.tolist()[code])
        return cls.from_predictions(
            is_target, probabilities, name=name, n_bins=n_bins, strategy=strategy, level=level, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        is_target: ArrayLike,
        probabilities: ArrayLike,
        *,
        name: str = "1",
        n_bins: int = 10,
        strategy: Strategy = "uniform",
        level: float = 0.89,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the calibration curve of predicted probabilities, given whether each row is of the class."""
        hits, probabilities = _validate_predictions(is_target, probabilities)
        if not n_bins >= 1 or not 0.0 < level < 1.0 or strategy not in ("uniform", "quantile"):
            raise ValueError(
                'n_bins must be at least 1, level between 0 and 1, strategy "uniform" or "quantile"; '
                f"got {n_bins!r}, {level!r} and {strategy!r}."
            )
        edges = np.linspace(0.0, 1.0, n_bins + 1)
        if strategy == "quantile":
            edges = np.quantile(probabilities, edges)
        bins = np.searchsorted(edges[1:-1], probabilities, side="right")
        counts = np.bincount(bins, minlength=n_bins).astype(np.float64)
        is_used = counts > 0.0
        n_hits = np.bincount(bins, hits, n_bins)[is_used]
        sums, counts = np.bincount(bins, probabilities, n_bins)[is_used], counts[is_used]
        laws = stats.beta(n_hits + 0.5, counts - n_hits + 0.5)
        intervals = np.column_stack([laws.ppf(0.5 - 0.5 * level), laws.ppf(0.5 + 0.5 * level)])
        return cls(sums / counts, n_hits / counts, intervals, counts, probabilities, name, level).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the curve, and behind it a pale histogram, on the given axes or on those of a new figure."""
        ax = self._set_axes(ax)
        ax.plot([0.0, 1.0], [0.0, 1.0], color="gray", linestyle=":", label="perfectly calibrated")
        # An interval may exclude the frequency itself: that of 0 of n rows does.
        lower, upper = self.intervals.T
        errors = np.maximum([self.observed - lower, upper - self.observed], 0.0)
        ax.errorbar(
            self.predicted,
            self.observed,
            yerr=errors,
            color=_drawing.SIDE_COLORS[1],
            marker="o",
            capsize=3.0,
            linewidth=1.2,
            label=f"share of {self.name}, {self.level:.0%} intervals",
        )
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set(xlabel=f"predicted P({self.name})", ylabel=f"share of {self.name} among the rows")
        _drawing.draw_legend_below(ax)
        self._plot_histogram()
        return self

    def _plot_histogram(self) -> None:
        """Draw the histogram in the lower quarter, with an axis of its own at the right."""
        self.histogram_ax_ = self.ax_.twinx()
        edges = np.linspace(0.0, 1.0, 21).tolist()
        counts = self.histogram_ax_.hist(self.probabilities, bins=edges, color="lightgrey", edgecolor="white")[0]
        self.histogram_ax_.set_ylim(0.0, 4.0 * float(np.max(counts)))
        self.histogram_ax_.set_ylabel("rows (bars)")
        # The curve belongs on top, not the axes created last.
        self.ax_.set_zorder(self.histogram_ax_.get_zorder() + 1)
        self.ax_.patch.set_visible(False)


def _validate_predictions(is_target: ArrayLike, probabilities: ArrayLike) -> tuple[BoolArray, FloatArray]:
    """Return truth values and probabilities as arrays; raise unless each row has both."""
    hits, probabilities = np.asarray(is_target, dtype=bool), np.asarray(probabilities, dtype=np.float64)
    if hits.ndim != 1 or hits.shape != probabilities.shape or not len(hits):
        raise ValueError(
            "is_target and probabilities must hold a truth value and a probability for each row; got shapes "
            f"{hits.shape} and {probabilities.shape}."
        )
    if not ((probabilities >= 0.0) & (probabilities <= 1.0)).all():
        raise ValueError("probabilities must be from 0 to 1.")
    return hits, probabilities
