"""The weights of the experts, in falling order."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from softpolytope._deprecation import accept_old_keyword
from softpolytope._typing import FloatArray
from softpolytope.inspection.displays import _drawing
from softpolytope.inspection.displays._target import check_is_ours, target_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ExpertWeightsDisplay(_drawing.Display):
    """Weights r_k of the best draw, in the order in which experts are numbered, of every labeling.

    Parameters
    ----------
    weights : dict from str to ndarray
        Weights of expert 1, 2, ... by what the labeling takes for positive; experts that are gone have weight 0.
    labeling : int, optional
        Which one it is, if it is one alone: each has its color.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, once it was.
    """

    def __init__(self, weights: dict[str, FloatArray], labeling: int | None = None) -> None:
        self.weights = weights
        self.labeling = labeling

    @classmethod
    @accept_old_keyword("labelling", "labeling")
    def from_estimator(
        cls,
        estimator: Any,
        *,
        target: Any = None,
        labeling: int | None = None,
        with_empty: bool = False,
        ax: "Axes | None" = None,
        **kw: Any,
    ) -> Self:
        """Take the weights from a fitted classifier, and draw them.

        Parameters
        ----------
        estimator : classifier
            Fitted, of this package.
        target : label, optional
            The class; by default the second of two.
        labeling : int, optional
            0 for the labeling of the target alone, 1 for its opposite; by default both.
        with_empty : bool
            Whether experts without counts keep the weight they were drawn with; by default it is shown as 0. Their
            regions hold no row, so the data do not limit their weights: those can be the largest of all.
        ax : matplotlib Axes, optional
            Where to draw.
        **kw
            Passed on to `plot`.
        """
        _drawing.pyplot()
        check_is_ours(estimator, cls.__name__)
        chosen = target_of(estimator, target)
        labelings = chosen.labelings if labeling is None else (chosen.labeling(labeling),)
        n_experts = int(getattr(estimator, "max_experts", 1))
        weights = {}
        for item in labelings:
            best = item.posterior.best.by_weight()
            found = np.where(best.is_active | with_empty, best.expert_weights, 0.0)
            weights[item.name] = np.pad(found, (0, max(n_experts - len(found), 0)))
        return cls(weights, labeling).plot(ax, **kw)

    def plot(self, ax: "Axes | None" = None, *, log: bool = False) -> Self:
        """Draw a bar per expert and labeling.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        log : bool
            Whether the weights have a logarithmic axis.
        """
        ax = self._take_axes(ax)
        width = 0.8 / len(self.weights)
        for number, (name, weights) in enumerate(self.weights.items()):
            places = np.arange(1, len(weights) + 1) + (number - 0.5 * (len(self.weights) - 1)) * width
            side = number if self.labeling is None else self.labeling
            # Hatches tell the labelings apart in gray, too.
            look: dict[str, Any] = {"color": _drawing.SIDE_COLORS[side], "hatch": (None, "////")[side]}
            ax.bar(places, weights, width, linewidth=0.0, edgecolor="white", label=f"experts for {name}", **look)
        _drawing.whole_ticks(ax)
        ax.set_xlabel("expert, in order of weight")
        ax.set_ylabel("weight r")
        if log:
            ax.set_yscale("log")
        _drawing.legend_below(ax)
        return self
