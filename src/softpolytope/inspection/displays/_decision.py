"""A map of what a model says over two features, or over any plane."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from numpy.typing import ArrayLike

from softpolytope._deprecation import accept_old_keyword
from softpolytope._typing import BoolArray, FloatArray
from softpolytope.inspection.displays import _drawing
from softpolytope.inspection.displays._experts import HalfSpaceLine, Region, half_space_lines, regions
from softpolytope.inspection.displays._map import draw_colorbar, draw_map
from softpolytope.inspection.displays._plane import Plane
from softpolytope.inspection.displays._surfaces import Response, Subject, subject_of, surface
from softpolytope.inspection.displays._target import check_is_ours, codes_of, target_of
from softpolytope.inspection.displays._view import View, view_of
from softpolytope.model import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar

Experts = Literal["auto", "lines", "regions"]


class DecisionDisplay(_drawing.Display):
    """A map of probabilities, their spread or counts of inequalities, with rows and half-spaces on it.

    Made by `from_estimator`; `plot` draws it again.

    Attributes
    ----------
    view : View
        The plane, the columns (`horizontal`) and rows (`vertical`) of the map, and the training rows on it (`points`).
    values, probability : ndarray, shape (n_cells, n_cells)
        The response, from below upwards, and the probability whose contour at the threshold is drawn.
    experts : list of HalfSpaceLine or Region
        Of the best draw.
    is_target : ndarray or None
        Whether each training row is of the target.
    ax_, figure_, colorbar_
        What was drawn on, once it was; the color bar is None if there is none.
    """

    colorbar_: "Colorbar | None"

    def __init__(
        self,
        view: View,
        subject: Subject,
        values: FloatArray,
        probability: FloatArray,
        experts: Sequence[HalfSpaceLine | Region],
        is_target: BoolArray | None,
    ) -> None:
        self.view = view
        self.subject = subject
        self.values = values
        self.probability = probability
        self.experts = list(experts)
        self.is_target = is_target

    @classmethod
    @accept_old_keyword("labelling", "labeling")
    def from_estimator(  # noqa: PLR0913  # scikit-learn's displays take all at once
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        response: Response = "probability",
        view: Sequence[Any] | Plane | None = None,
        at: ArrayLike | None = None,
        target: Any = None,
        labeling: int | None = None,
        estimate: Estimate | None = None,
        threshold: float = 0.5,
        experts: Experts | None = "auto",
        n_cells: int = 100,
        ax: "Axes | None" = None,
        **kw: Any,
    ) -> Self:
        """Evaluate a fitted classifier over the rows' range, and draw it.

        Parameters
        ----------
        estimator : classifier
            Fitted, of this package.
        X, y : array-like
            Rows that the view shall hold, drawn as dots; and their labels. With more than two features the dots are
            the nearest points of the plane.
        response : str
            "probability", "deviation" (its standard deviation over draws; over plain modes it is much smaller than the
            posterior's, and the color bar says so), "count" (experts that alone lift the probability over the
            threshold: with one layer the violated inequalities of theorem 2, with more the satisfied ones of theorem
            5), "criteria" (those of eq. 21 that the largest expert finds met: for stacks), "count_deviation" or
            "criteria_deviation" (over draws, or modes).
        view : pair of features or Plane, optional
            Names or numbers; by default the first two.
        at : array-like of shape (n_features,), optional
            Where the other features stay; by default at their medians.
        target : label, optional
            The class; by default the second of two.
        labeling : int, optional
            0 for the labeling of the target alone, 1 for its opposite; by default both together, and 0 for counts.
        estimate : str, optional
            "mean" over draws or "best" draw; by default the mean, and the best draw for counts. Both labelings
            together are always as `predict_proba` has them.
        threshold : float
            The probability whose contour is drawn, and that half-spaces and counts are about.
        experts : str, optional
            "lines" draws the criteria of the best draw where they are just met, with ticks on the side where they are:
            those that cross the view and decide at some of the border of their expert's region. With several layers
            they are a rough guide (eq. 21); "regions" draws those borders themselves. "auto" is, on maps of the
            probability, lines for one layer, where both are the same, and regions for more; None draws neither.
        n_cells : int
            The map has this many cells each way.
        ax : matplotlib Axes, optional
            Where to draw.
        **kw
            Passed on to `plot`.

        Examples
        --------
        >>> from softpolytope import SumSoftplusClassifier
        >>> from softpolytope.datasets import make_circle
        >>> from softpolytope.inspection.displays import DecisionDisplay
        >>> X, y = make_circle(100, random_state=0)
        >>> model = SumSoftplusClassifier(max_experts=5, n_restarts=1, random_state=0).fit(X, y)
        >>> display = DecisionDisplay.from_estimator(model, X, y)
        >>> display.values.shape
        (100, 100)
        """
        _drawing.pyplot()
        check_is_ours(estimator, cls.__name__)
        subject = subject_of(target_of(estimator, target), response, labeling, estimate, threshold)
        subject = replace(subject, has_posterior_spread=estimator.model_.has_posterior_spread)
        seen = view_of(estimator, X, view, at, n_cells)
        rows = seen.rows()
        probability = surface(estimator, subject.with_response("probability"), rows)
        values = probability if response == "probability" else surface(estimator, subject, rows)
        display = cls(
            seen,
            subject,
            values.reshape(n_cells, n_cells),
            probability.reshape(n_cells, n_cells),
            _experts(subject, seen, experts),
            None if y is None else codes_of(estimator, y, len(seen.points)) == subject.target.code,
        )
        return display.plot(ax, **kw)

    def plot(self, ax: "Axes | None" = None, *, colorbar: bool = True, legend: bool = True) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        colorbar, legend : bool
            Whether those are drawn too.
        """
        ax = self._take_axes(ax)
        image = draw_map(self, ax)
        self.colorbar_ = draw_colorbar(self, ax, image) if colorbar else None
        if legend:
            _drawing.legend_below(ax)
        return self


def _experts(subject: Subject, view: View, kind: str | None) -> list[HalfSpaceLine | Region]:
    """Lines or regions of the labelings that the map is made of."""
    if kind is not None and kind not in get_args(Experts):
        raise ValueError(f'experts must be "auto", "lines", "regions" or None; got {kind!r}.')
    if kind == "auto" and subject.response != "probability":
        kind = None  # counts show the regions themselves, and their colors would hide the lines
    found: list[HalfSpaceLine | Region] = []
    for number, labeling in enumerate(subject.target.labelings):
        best = labeling.posterior.best
        if kind is None or subject.labeling not in (None, number):
            continue
        if kind == "lines" or (kind == "auto" and best.coefficients.shape[1] == 1):
            found += half_space_lines(best, number, view, subject.threshold)
        else:
            found += regions(best, number, view, subject.threshold)
    return found
