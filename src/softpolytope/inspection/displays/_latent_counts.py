"""Average latent counts by expert and layer: the paper's guide for choosing the number of layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from softpolytope._deprecation import accept_old_keyword
from softpolytope._typing import FloatArray
from softpolytope.data import validate_rows
from softpolytope.geometry import linear_predictors
from softpolytope.inspection.displays import _drawing
from softpolytope.inspection.displays._target import get_target
from softpolytope.model import FittedClassifier, expected_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The tails of the counts' law are so heavy that means can be dominated by events that hardly ever happen. Rows of an
# expert whose mean count at the top level is below the first number are left out, and experts whose means sum to less
# than the second: in most draws they have no count at all.
MIN_OF_ROW = 0.01
MIN_OF_EXPERT = 0.5
# Limits of the axis: the mean of a single layer can be e^500.
MIN_SHOWN, MAX_SHOWN = 1e-3, 1e6
# Experts named in the legend.
MAX_NAMED = 8


@dataclass(eq=False, repr=False)
class LatentCountsDisplay(_drawing.Display):
    """Average latent count per positive row, by expert and level, under the best draw.

    Counts never increase with the level; where they stop decreasing, further layers contribute nothing. They are means
    given the parameters, whereas the paper shows one draw. An expert is shown if its expected count at the top level is
    at least one half, summed over the rows; rows where it is below 0.01 are left out.

    Parameters
    ----------
    counts : ndarray of shape (n_experts, n_layers + 1)
        Counts of the experts in order of decreasing weight.
    name : str
        Name of the labeling's positive class.
    experts : sequence of int, optional
        Numbers of the experts as in `polytopes`, by default 1, 2, ...

    Attributes
    ----------
    ax_, figure_
        Matplotlib objects of the last drawing.
    """

    counts: FloatArray
    name: str
    experts: Sequence[int] | None = None

    @classmethod
    @accept_old_keyword("labelling", "labeling")
    def from_estimator(
        cls,
        estimator: FittedClassifier,
        X: ArrayLike,
        y: ArrayLike,
        *,
        target: object = None,
        labeling: int = 0,
        ax: "Axes | None" = None,
        **kw: bool,
    ) -> Self:
        """Compute and draw the counts of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Fitted classifier of this package.
        X, y : array-like
            The training rows and their labels.
        target : label, optional
            The class, by default the second of two.
        labeling : int
            0 for the labeling of the target, 1 for its opposite.
        ax : matplotlib Axes, optional
            Axes to draw on.
        **kw
            Passed to `plot`.
        """
        model = cls._model(estimator)
        chosen = get_target(model, target).labeling(labeling)
        rows = validate_rows(estimator, X)
        is_positive = chosen.is_positive(model.encode_labels(y, rows.shape[0]))
        if not is_positive.any():
            raise ValueError(f"y has no row of {chosen.name}, and the counts of all other rows are zero.")
        best = chosen.posterior.best.by_weight()
        predictors = linear_predictors(best.coefficients, rows[np.flatnonzero(is_positive)])
        counts = expected_counts(predictors, best.expert_weights)
        averages, numbers = average_counts(counts)
        return cls(averages, chosen.name, numbers).plot(ax, **kw)

    def plot(self, ax: "Axes | None" = None, *, log: bool = True, legend: bool = True) -> Self:
        """Draw a line per expert.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on, by default those of a new figure.
        log : bool
            Whether to use a logarithmic axis for the counts, at most from 0.001 to a million.
        legend : bool
            Whether to name the experts.
        """
        ax = self._set_axes(ax)
        levels = np.arange(1, self.counts.shape[1] + 1)
        experts = range(1, len(self.counts) + 1) if self.experts is None else self.experts
        for position, (expert, counts) in enumerate(zip(experts, self.counts, strict=True)):
            is_named = position < MAX_NAMED
            color = _drawing.EXPERT_COLORS[position % len(_drawing.EXPERT_COLORS)] if is_named else "lightgrey"
            label = f"expert {expert}" if is_named else None
            ax.plot(levels, counts, color=color, marker="o", markersize=3.0, linewidth=1.0, label=label)
        if log:
            ax.set_yscale("log")
            lower, upper = 0.5 * self.counts.min(initial=1.0), 2.0 * self.counts.max(initial=1.0)
            ax.set_ylim(max(MIN_SHOWN, float(lower)), min(MAX_SHOWN, float(upper)))
        _drawing.use_integer_ticks(ax)
        ax.set(xlabel="level t", ylabel=f"mean count per row of {self.name}")
        if legend:
            _drawing.draw_legend_below(ax)
        return self


def average_counts(counts: FloatArray) -> tuple[FloatArray, list[int]]:
    """Return means over rows of counts (experts, levels, rows) without rare experts, and the experts' numbers."""
    top = counts[:, -1]
    kept = np.where((top < MIN_OF_ROW)[:, None], 0.0, counts).mean(axis=2)
    is_shown = top.sum(axis=1) >= MIN_OF_EXPERT
    return np.asarray(kept[is_shown]), (np.flatnonzero(is_shown) + 1).tolist()
