"""Average latent counts by expert and layer: the paper's guide for choosing the number of layers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from softpolytope._deprecation import accept_old_keyword
from softpolytope._typing import FloatArray
from softpolytope.data import validate_rows
from softpolytope.geometry import linear_predictors
from softpolytope.inspection.displays import _drawing
from softpolytope.inspection.displays._target import check_is_ours, codes_of, target_of
from softpolytope.model import expected_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The law of the counts has tails so heavy that means can be about events that hardly ever happen. Left out are rows of
# an expert whose mean count at the top level is below the first number, and experts whose means add up to less than the
# second: most draws have no count of theirs at all.
MIN_OF_ROW = 0.01
MIN_OF_EXPERT = 0.5
# The ends of the axis at the utmost: the mean of a single layer can be e^500.
MIN_SHOWN, MAX_SHOWN = 1e-3, 1e6
# Experts with a line of their own in the legend.
MAX_NAMED = 8


class LatentCountsDisplay(_drawing.Display):
    """Average latent count per positive row, by expert and level, under the best draw.

    Counts never grow with the level; a level that lowers them no more is a layer with nothing to say. They are
    the means given the parameters, where the paper shows one draw. An expert is shown if half a count of it can be
    expected at the top level, and counts for the rows where its mean there is at least 0.01.

    Parameters
    ----------
    counts : ndarray, shape (n_experts, n_layers + 1)
        Experts in order of falling weight.
    name : str
        What the labeling takes for positive.
    experts : sequence of int, optional
        Numbers of the experts, as in `polytopes`; by default 1, 2, ...

    Attributes
    ----------
    ax_, figure_
        What was drawn on, once it was.
    """

    def __init__(self, counts: FloatArray, name: str, experts: Sequence[int] | None = None) -> None:
        self.counts = counts
        self.name = name
        self.experts = list(range(1, len(counts) + 1)) if experts is None else list(experts)

    @classmethod
    @accept_old_keyword("labelling", "labeling")
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        target: Any = None,
        labeling: int = 0,
        ax: "Axes | None" = None,
        **kw: Any,
    ) -> Self:
        """Compute the counts of a fitted classifier, and draw them.

        Parameters
        ----------
        estimator : classifier
            Fitted, of this package.
        X, y : array-like
            The training rows and their labels.
        target : label, optional
            The class; by default the second of two.
        labeling : int
            0 for the labeling of the target, 1 for its opposite.
        ax : matplotlib Axes, optional
            Where to draw.
        **kw
            Passed on to `plot`.
        """
        _drawing.pyplot()
        check_is_ours(estimator, cls.__name__)
        chosen = target_of(estimator, target).labeling(labeling)
        rows = validate_rows(estimator, X)
        is_positive = chosen.positives(codes_of(estimator, y, rows.shape[0]))
        if not is_positive.any():
            raise ValueError(f"y has no row of {chosen.name}, and the counts of all others are zero.")
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
            Where to draw; by default in a new figure.
        log : bool
            Whether the counts have a logarithmic axis, from 0.001 to a million at the utmost: they fall by factors.
        legend : bool
            Whether the experts are named.
        """
        ax = self._take_axes(ax)
        levels = np.arange(1, self.counts.shape[1] + 1)
        for place, (expert, counts) in enumerate(zip(self.experts, self.counts, strict=True)):
            is_named = place < MAX_NAMED
            color = _drawing.EXPERT_COLORS[place % len(_drawing.EXPERT_COLORS)] if is_named else "lightgrey"
            label = f"expert {expert}" if is_named else None
            ax.plot(levels, counts, color=color, marker="o", markersize=3.0, linewidth=1.0, label=label)
        if log:
            ax.set_yscale("log")
            lower, upper = 0.5 * self.counts.min(initial=1.0), 2.0 * self.counts.max(initial=1.0)
            ax.set_ylim(max(MIN_SHOWN, float(lower)), min(MAX_SHOWN, float(upper)))
        _drawing.whole_ticks(ax)
        ax.set_xlabel("level t")
        ax.set_ylabel(f"mean count per row of {self.name}")
        if legend:
            _drawing.legend_below(ax)
        return self


def average_counts(counts: FloatArray) -> tuple[FloatArray, list[int]]:
    """Return means over rows of counts (experts, levels, rows), rare experts left out, and the experts' numbers."""
    top = counts[:, -1]
    kept = np.where((top < MIN_OF_ROW)[:, None], 0.0, counts).mean(axis=2)
    is_shown = top.sum(axis=1) >= MIN_OF_EXPERT
    return np.asarray(kept[is_shown]), (np.flatnonzero(is_shown) + 1).tolist()
