"""The weights of the experts in decreasing order."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from softpolytope._deprecation import accept_old_keyword
from softpolytope._typing import FloatArray
from softpolytope.inspection.displays import _drawing
from softpolytope.inspection.displays._target import get_target
from softpolytope.model import FittedClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class ExpertWeightsDisplay(_drawing.Display):
    """Weights r_k of the best draw or representative of each labeling, in the order in which experts are numbered.

    Parameters
    ----------
    weights : dict of str to ndarray
        Weights of expert 1, 2, ... by the name of the labeling's positive class; 0 for experts that were removed.
    labeling : int, optional
        Number of the labeling if there is only one; it determines the color.

    Attributes
    ----------
    ax_, figure_
        Matplotlib objects of the last drawing.
    """

    weights: dict[str, FloatArray]
    labeling: int | None = None

    @classmethod
    @accept_old_keyword("labelling", "labeling")
    def from_estimator(
        cls,
        estimator: FittedClassifier,
        *,
        target: object = None,
        labeling: int | None = None,
        with_empty: bool = False,
        ax: "Axes | None" = None,
        **kw: bool,
    ) -> Self:
        """Draw the weights of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Fitted classifier of this package.
        target : label, optional
            The class, by default the second of two.
        labeling : int, optional
            0 for the labeling of the target alone, 1 for its opposite; by default both.
        with_empty : bool
            Whether to show the weights of experts without counts, by default shown as 0. Their regions contain no row,
            so the data do not limit their weights, which can be the largest of all.
        ax : matplotlib Axes, optional
            Axes to draw on.
        **kw
            Passed to `plot`.
        """
        chosen = get_target(cls._model(estimator), target)
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
            Axes to draw on, by default those of a new figure.
        log : bool
            Whether to use a logarithmic axis for the weights.
        """
        ax = self._set_axes(ax)
        width = 0.8 / len(self.weights)
        for number, (name, weights) in enumerate(self.weights.items()):
            positions = np.arange(1, len(weights) + 1) + (number - 0.5 * (len(self.weights) - 1)) * width
            side = number if self.labeling is None else self.labeling
            ax.bar(
                positions,
                weights,
                width,
                color=_drawing.SIDE_COLORS[side],
                hatch=(None, "////")[side],  # distinguishes the labelings in gray, too
                linewidth=0.0,
                edgecolor="white",
                label=f"experts for {name}",
            )
        _drawing.use_integer_ticks(ax)
        ax.set(xlabel="expert, in order of weight", ylabel="weight r")
        if log:
            ax.set_yscale("log")
        _drawing.draw_legend_below(ax)
        return self
