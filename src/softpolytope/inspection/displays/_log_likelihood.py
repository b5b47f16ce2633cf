"""How well the chains fit the training rows, sweep after sweep."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from softpolytope._typing import FloatArray
from softpolytope.data import validate_rows
from softpolytope.inspection.displays import _drawing
from softpolytope.inspection.displays._target import check_is_ours, target_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LogLikelihoodDisplay(_drawing.Display):
    """Average log-likelihood per training row of every chain and labeling.

    Parameters
    ----------
    traces : dict from str to ndarray of shape (n_chains, n_sweeps)
        By what the labeling takes for positive.
    n_burn_in : int
        Sweeps of which no draw was kept.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, once it was.
    """

    def __init__(self, traces: dict[str, FloatArray], n_burn_in: int) -> None:
        self.traces = traces
        self.n_burn_in = n_burn_in

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        target: Any = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Take the traces from a fitted classifier, and draw them.

        Parameters
        ----------
        estimator : classifier
            Fitted, of this package, with inference="gibbs".
        X : array-like, optional
            Rows whose number the log-likelihood is divided by; by default it is divided by the sum of the training
            rows' weights, which is their number if they had none.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in X: their sum then stands for the number of rows.
        target : label, optional
            The class; by default the second of two.
        ax : matplotlib Axes, optional
            Where to draw.
        """
        _drawing.pyplot()
        check_is_ours(estimator, cls.__name__)
        estimator.model_.check_has_chains(cls.__name__)
        n_rows = _n_rows(estimator, X, sample_weight)
        labelings = target_of(estimator, target).labelings
        traces = {labeling.name: labeling.posterior.log_likelihood / n_rows for labeling in labelings}
        return cls(traces, int(estimator.model_.n_burn_in)).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw a line per chain.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        """
        ax = self._take_axes(ax)
        for side, (name, traces) in enumerate(self.traces.items()):
            how: dict[str, Any] = {"color": _drawing.SIDE_COLORS[side], "linewidth": 0.8}
            for chain, trace in enumerate(traces):
                label = f"{name} is positive" if chain == 0 else None
                ax.plot(np.arange(1, len(trace) + 1), trace, label=label, **how)
        if self.n_burn_in:
            ax.axvline(self.n_burn_in, color="gray", linestyle=":", label="end of burn-in")
        ax.set_xlabel("sweep")
        ax.set_ylabel("log-likelihood per row, nats")
        _drawing.legend_below(ax)
        return self


def _n_rows(estimator: Any, X: ArrayLike | None, sample_weight: ArrayLike | None) -> float:
    """The number of rows given, or their weight; without any, the weight of the training rows."""
    if X is None:
        if sample_weight is not None:
            raise ValueError("sample_weight was given without X. Give both, or neither.")
        return float(estimator.model_.weight)
    n_rows = float(validate_rows(estimator, X).shape[0])
    if sample_weight is None:
        return n_rows
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not weights.sum() > 0.0:
        raise ValueError("sample_weight must hold one weight for each row of X, not all of them zero.")
    return float(weights.sum())
