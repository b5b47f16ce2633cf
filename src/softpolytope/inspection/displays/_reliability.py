"""Whether probabilities come true."""

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.inspection.displays import _drawing
from softpolytope.inspection.displays._target import code_of, codes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Strategy = Literal["uniform", "quantile"]


class ReliabilityDisplay(_drawing.Display):
    """Observed shares of a class against its predicted probability, in bins, and how many predictions are in each.

    The bars are central intervals of the share under the Beta law that k of n rows and Jeffreys' prior give,
    Beta(k + 1/2, n - k + 1/2). If probabilities come true, the diagonal crosses most of them.

    Parameters
    ----------
    predicted, observed : ndarray, shape (n_bins,)
        Mean prediction and share of the class in every bin that has rows.
    intervals : ndarray, shape (n_bins, 2)
        Of the share.
    counts : ndarray, shape (n_bins,)
        Rows in every bin.
    probabilities : ndarray
        All predictions, for the histogram.
    name : str
        The class.
    level : float
        Of the intervals.

    Attributes
    ----------
    ax_, figure_, histogram_ax_
        What was drawn on, once it was.
    """

    histogram_ax_: "Axes"

    def __init__(
        self,
        predicted: FloatArray,
        observed: FloatArray,
        intervals: FloatArray,
        counts: FloatArray,
        probabilities: FloatArray,
        name: str,
        level: float,
    ) -> None:
        self.predicted = predicted
        self.observed = observed
        self.intervals = intervals
        self.counts = counts
        self.probabilities = probabilities
        self.name = name
        self.level = level

    @classmethod
    def from_estimator(  # noqa: PLR0913  # scikit-learn's displays take all at once
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        target: Any = None,
        n_bins: int = 10,
        strategy: Strategy = "uniform",
        level: float = 0.89,
        ax: "Axes | None" = None,
    ) -> Self:
        """Predict rows that the model has not seen, and draw how often it was right.

        Parameters
        ----------
        estimator : classifier
            Fitted; any with `predict_proba` and `classes_`.
        X, y : array-like
            Rows and their labels.
        target : label, optional
            The class; by default the second of two.
        n_bins : int
            Bins of the predictions.
        strategy : str
            "uniform" for bins of equal width, "quantile" for bins of equally many rows.
        level : float
            Of the intervals.
        ax : matplotlib Axes, optional
            Where to draw.
        """
        _drawing.pyplot()
        code = code_of(estimator, target)
        probabilities = np.asarray(estimator.predict_proba(X))[:, code]
        is_target = codes_of(estimator, y, len(probabilities)) == code
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
        """The same from truth values and predicted probabilities."""
        hits, probabilities = _checked(is_target, probabilities)
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
        """Draw the curve, and the histogram of the predictions, pale, behind it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        """
        ax = self._take_axes(ax)
        ax.plot([0.0, 1.0], [0.0, 1.0], color="gray", linestyle=":", label="comes true")
        # An interval need not hold the share itself: that of 0 of n rows does not.
        lower, upper = self.intervals.T
        reach = np.maximum([self.observed - lower, upper - self.observed], 0.0)
        ax.errorbar(
            self.predicted,
            self.observed,
            yerr=reach,
            color=_drawing.SIDE_COLORS[1],
            marker="o",
            capsize=3.0,
            linewidth=1.2,
            label=f"share of {self.name}, {self.level:.0%} intervals",
        )
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_ylabel(f"share of {self.name} among the rows")
        ax.set_xlabel(f"predicted P({self.name})")
        _drawing.legend_below(ax)
        self._plot_histogram()
        return self

    def _plot_histogram(self) -> None:
        """Bars that take the lower quarter, on an axis of their own at the right."""
        self.histogram_ax_ = self.ax_.twinx()
        edges = np.linspace(0.0, 1.0, 21).tolist()
        counts = self.histogram_ax_.hist(self.probabilities, bins=edges, color="lightgrey", edgecolor="white")[0]
        self.histogram_ax_.set_ylim(0.0, 4.0 * float(np.max(counts)))
        self.histogram_ax_.set_ylabel("rows (bars)")
        # The later axes would lie on top; the curve belongs there.
        self.ax_.set_zorder(self.histogram_ax_.get_zorder() + 1)
        self.ax_.patch.set_visible(False)


def _checked(is_target: ArrayLike, probabilities: ArrayLike) -> tuple[BoolArray, FloatArray]:
    hits, probabilities = np.asarray(is_target, dtype=bool), np.asarray(probabilities, dtype=np.float64)
    if hits.ndim != 1 or hits.shape != probabilities.shape or not len(hits):
        raise ValueError(
            f"a truth value and a probability are needed for each row; got {hits.shape}, {probabilities.shape}."
        )
    if not ((probabilities >= 0.0) & (probabilities <= 1.0)).all():
        raise ValueError("probabilities must be from 0 to 1.")
    return hits, probabilities
