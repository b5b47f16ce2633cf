"""Maps of the predictions of a model over two features, or over any plane."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from softpolytope._deprecation import accept_old_keyword
from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import validate_rows
from softpolytope.inspection.displays import _drawing
from softpolytope.inspection.displays._experts import Experts, HalfSpaceLine, LineStyle, Region, find_experts
from softpolytope.inspection.displays._plane import Plane, View, make_view
from softpolytope.inspection.displays._responses import Response, Subject, evaluate, make_subject
from softpolytope.model import Estimate, FittedClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap
    from matplotlib.image import AxesImage

# Larger dots of more rows would hide the map.
MANY_ROWS = 2000


@dataclass(eq=False, repr=False)
class DecisionDisplay(_drawing.Display):
    """Map of probabilities, their spread or counts of inequalities, with rows and half-spaces.

    Create it with `from_estimator`; `plot` draws it again.

    Attributes
    ----------
    view : View
        The plane, the positions of the map's columns (`horizontal`) and rows (`vertical`), and the training rows on it
        (`points`).
    values, probability : ndarray of shape (n_cells, n_cells)
        The response, from the bottom up, and the probability whose contour at the threshold is drawn.
    experts : list of HalfSpaceLine or Region
        Experts of the best draw or representative.
    is_target : ndarray or None
        Whether each training row is of the target.
    ax_, figure_, colorbar_
        Matplotlib objects of the last drawing; the color bar may be None.
    """

    view: View
    subject: Subject
    values: FloatArray
    probability: FloatArray
    experts: list[HalfSpaceLine | Region]
    is_target: BoolArray | None
    colorbar_: "Colorbar | None" = field(init=False)

    @classmethod
    @accept_old_keyword("labelling", "labeling")
    def from_estimator(  # noqa: PLR0913  # scikit-learn's displays take all at once
        cls,
        estimator: FittedClassifier,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        response: Response = "probability",
        view: Sequence[str | int] | Plane | None = None,
        at: ArrayLike | None = None,
        target: object = None,
        labeling: int | None = None,
        estimate: Estimate | None = None,
        threshold: float = 0.5,
        experts: Experts | None = "auto",
        n_cells: int = 100,
        ax: "Axes | None" = None,
        **kw: bool,
    ) -> Self:
        """Evaluate a fitted classifier over the range of the rows and draw the map.

        Parameters
        ----------
        estimator : classifier
            Fitted classifier of this package.
        X, y : array-like
            Rows that the view must contain, drawn as dots, and their labels. With more than two features the dots are
            the nearest points of the plane.
        response : str
            "probability"; "deviation", its standard deviation over draws (over plain modes it is much smaller than the
            posterior's, as the color bar says); "count", the number of experts that alone lift the probability above
            the threshold (with one layer the violated inequalities of theorem 2, with more the satisfied ones of
            theorem 5); "criteria", for stacks, the number of criteria of eq. 21 that the largest expert meets;
            "count_deviation" or "criteria_deviation", their standard deviations over draws or modes.
        view : pair of features or Plane, optional
            Names or numbers of two features, by default the first two.
        at : array-like of shape (n_features,), optional
            Values of the other features, by default their medians.
        target : label, optional
            The class, by default the second of two.
        labeling : int, optional
            0 for the labeling of the target alone, 1 for its opposite; by default both together, and 0 for counts.
        estimate : str, optional
            "mean" over draws or "best" draw; by default the mean, and the best draw for counts. Both labelings
            together are always predicted as in `predict_proba`.
        threshold : float
            Probability at which the contour is drawn and to which half-spaces and counts refer.
        experts : str, optional
            "lines" draws the criteria of the best draw where they are just met, with ticks on the side where they are
            met: those that cross the view and decide on some part of the border of their expert's region. With several
            layers they are a rough guide (eq. 21); "regions" draws the borders themselves. "auto" draws, on maps of the
            probability, lines for one layer, where both agree, and regions for more. None draws neither.
        n_cells : int
            Number of cells of the map in each direction.
        ax : matplotlib Axes, optional
            Axes to draw on.
        **kw
            Passed to `plot`.

        Examples
        --------
        >>> from softpolytope import SumSoftplusClassifier
        >>> from softpolytope.datasets import make_circle
        >>> from softpolytope.inspection.displays import DecisionDisplay
        >>> X, y = make_circle(100, random_state=0)
        >>> model = SumSoftplusClassifier(max_experts=5, n_members=2, random_state=0).fit(X, y)
        >>> display = DecisionDisplay.from_estimator(model, X, y)
        >>> display.values.shape
        (100, 100)
        """
        model = cls._model(estimator)
        subject = make_subject(model, target, response, labeling, estimate, threshold)
        shown = make_view(model, validate_rows(estimator, X), view, at, n_cells)
        rows, shape = shown.rows(), (n_cells, n_cells)
        probability = evaluate(model, replace(subject, response="probability"), rows).reshape(shape)
        return cls(
            shown,
            subject,
            probability if response == "probability" else evaluate(model, subject, rows).reshape(shape),
            probability,
            find_experts(subject, shown, experts),
            None if y is None else model.encode_labels(y, len(shown.points)) == subject.target.code,
        ).plot(ax, **kw)

    def plot(self, ax: "Axes | None" = None, *, colorbar: bool = True, legend: bool = True) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on, by default those of a new figure.
        colorbar, legend : bool
            Whether to draw a color bar and a legend.
        """
        ax = self._set_axes(ax)
        image = self._draw_values(ax)
        self._draw_contour(ax)
        self._draw_experts(ax)
        self._draw_rows(ax)
        left, right, bottom, top = self.view.extent
        ax.set(xlim=(left, right), ylim=(bottom, top))
        ax.set(xlabel=self.view.plane.horizontal_label, ylabel=self.view.plane.vertical_label)
        self.colorbar_ = self._draw_colorbar(ax, image) if colorbar else None
        if legend:
            _drawing.draw_legend_below(ax)
        return self

    @property
    def _is_count(self) -> bool:
        """Whether the values are counts of one draw."""
        return self.subject.response in ("count", "criteria") and bool((self.values % 1.0 == 0.0).all())

    def _draw_values(self, ax: "Axes") -> "AxesImage":
        """Draw the response as an image."""
        colors: str | Colormap = "cividis"
        low, high = 0.0, None
        if self.subject.response == "probability":
            colors = _drawing.make_probability_colormap(is_opposite=self.subject.labeling == 1)
            high = 1.0
        elif self._is_count:
            largest = max(int(self.values.max()), 1)
            colors = _drawing.import_pyplot().get_cmap("cividis", largest + 1)
            low, high = -0.5, largest + 0.5
        return ax.imshow(
            self.values,
            cmap=colors,
            vmin=low,
            vmax=high,
            extent=self.view.extent,
            origin="lower",
            aspect="auto",
            interpolation="nearest" if self._is_count else None,
        )

    def _draw_colorbar(self, ax: "Axes", image: "AxesImage") -> "Colorbar":
        """Draw the color bar, with integers only for counts."""
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  # an extra

        ticks = MaxNLocator(nbins=6, integer=True) if self._is_count else None
        return ax.figure.colorbar(image, ax=ax, label=self.subject.label, ticks=ticks)

    def _draw_contour(self, ax: "Axes") -> None:
        """Draw the contour of the probability at the threshold, if it passes through the view."""
        threshold = self.subject.threshold
        if not self.probability.min() < threshold < self.probability.max():
            return
        # Black on pale colors, white on the dark ones of counts and deviations.
        is_pale = self.subject.response == "probability"
        position = (self.view.horizontal, self.view.vertical)
        ax.contour(
            *position, self.probability, levels=[threshold], colors="black" if is_pale else "white", linewidths=2.0
        )
        name = f"P({self.subject.name}) = {threshold:g}"
        ax.plot([], [], color="black" if is_pale else "lightgrey", linewidth=2.0, label=name)

    def _draw_experts(self, ax: "Axes") -> None:
        """Draw each expert in a color of its own, solid for the labeling itself and dashed for its opposite."""
        names = [labeling.name for labeling in self.subject.target.labelings]
        numbers: dict[tuple[int, int], int] = {}
        for item in self.experts:
            is_new = (item.labeling, item.expert) not in numbers
            number = numbers.setdefault((item.labeling, item.expert), len(numbers))
            style: LineStyle = {
                "color": _drawing.EXPERT_COLORS[number % len(_drawing.EXPERT_COLORS)],
                "linestyle": _drawing.SIDE_DASHES[item.labeling],
                "linewidth": 1.3,
                "label": f"expert {item.expert} for {names[item.labeling]}" if is_new else None,
            }
            item.draw(ax, self.view, style)

    def _draw_rows(self, ax: "Axes") -> None:
        """Draw training rows as dots, by class if labels were given."""
        points, target = self.view.points, self.subject.target
        groups = [(np.ones(len(points), dtype=bool), "rows", "dimgrey", "o")]
        if self.is_target is not None:
            names = (target.name, target.name_of_others)
            parts = (self.is_target, ~self.is_target)
            groups = list(zip(parts, names, _drawing.SIDE_COLORS, _drawing.SIDE_MARKERS, strict=True))
        for is_shown, name, color, marker in groups:
            ax.scatter(
                points[is_shown, 0],
                points[is_shown, 1],
                s=16.0 if len(points) <= MANY_ROWS else 3.0,
                color=color,
                marker=marker,
                edgecolors="white",
                label=name,
                linewidths=0.5,
                alpha=0.9 if len(self.view.plane.origin) == 2 else 0.6,
                zorder=3,
            )
