"""Log-likelihood of the training rows by sweep, for each chain."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from softpolytope._typing import FloatArray
from softpolytope.data import validate_rows
from softpolytope.inspection.displays import _drawing
from softpolytope.inspection.displays._target import get_target
from softpolytope.model import FittedClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class LogLikelihoodDisplay(_drawing.Display):
    """Average log-likelihood per training row of each chain and labeling.

    Parameters
    ----------
    traces : dict of str to ndarray of shape (n_chains, n_sweeps)
        Traces by the name of the labeling's positive class.
    n_burn_in : int
        Number of sweeps without kept draws.

    Attributes
    ----------
    ax_, figure_
        Matplotlib objects of the last drawing.
    """

    traces: dict[str, FloatArray]
    n_burn_in: int

    @classmethod
    def from_estimator(
        cls,
        estimator: FittedClassifier,
        X: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        target: object = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the traces of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Fitted classifier of this package with inference="gibbs".
        X : array-like, optional
            Rows by whose number the log-likelihood is divided, by default by the total weight of the training rows,
            which is their number if they had no weights.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in X, whose sum replaces the number of rows.
        target : label, optional
            The class, by default the second of two.
        ax : matplotlib Axes, optional
            Axes to draw on.
        """
        model = cls._model(estimator)
        model.check_has_chains(cls.__name__)
        if X is None and sample_weight is not None:
            raise ValueError("sample_weight was given without X. Give both, or neither.")
        n_rows = model.weight if X is None else _total_weight(validate_rows(estimator, X).shape[0], sample_weight)
        labelings = get_target(model, target).labelings
        traces = {labeling.name: labeling.posterior.log_likelihood / n_rows for labeling in labelings}
        return cls(traces, model.n_burn_in).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw a line per chain on the given axes, by default on those of a new figure."""
        ax = self._set_axes(ax)
        for side, (name, traces) in enumerate(self.traces.items()):
            for chain, trace in enumerate(traces):
                label = f"{name} is positive" if chain == 0 else None
                sweeps = np.arange(1, len(trace) + 1)
                ax.plot(sweeps, trace, color=_drawing.SIDE_COLORS[side], linewidth=0.8, label=label)
        if self.n_burn_in:
            ax.axvline(self.n_burn_in, color="gray", linestyle=":", label="end of burn-in")
        ax.set(xlabel="sweep", ylabel="log-likelihood per row, nats")
        _drawing.draw_legend_below(ax)
        return self


def _total_weight(n_rows: int, sample_weight: ArrayLike | None) -> float:
    """Return the total weight of rows, which is their number if they have no weights."""
    if sample_weight is None:
        return float(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not weights.sum() > 0.0:
        raise ValueError("sample_weight must hold one weight for each row of X, not all of them zero.")
    return float(weights.sum())
