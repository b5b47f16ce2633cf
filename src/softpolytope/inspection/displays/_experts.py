"""Experts on a plane: their criteria as lines, their regions as borders."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

import numpy as np

from softpolytope._typing import BoolArray, FloatArray, IndexArray
from softpolytope.geometry import criterion_offsets, layer_derivatives, linear_predictors
from softpolytope.inspection.displays._plane import View
from softpolytope.inspection.displays._responses import Subject, log_margins
from softpolytope.model import Draws

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Experts = Literal["auto", "lines", "regions"]

# A layer is drawn if it decides on at least this fraction of the border of its expert's region.
MIN_SHARE = 0.05


class LineStyle(TypedDict):
    """Arguments of matplotlib's `plot`."""

    color: str
    linestyle: str
    linewidth: float
    label: str | None


@dataclass(frozen=True, slots=True)
class HalfSpaceLine:
    """Line within a view on which the criterion of a layer is just met."""

    ends: FloatArray  # (2, 2); from the first to the second, the criterion is met on the left
    labeling: int
    expert: int  # from 1, in order of decreasing weight
    layer: int

    def draw(self, ax: "Axes", _view: View, style: LineStyle) -> None:
        """Draw the line with ticks on its left, where the criterion is met."""
        from matplotlib.patheffects import Normal, withTickedStroke  # noqa: PLC0415  # an extra

        ticks = withTickedStroke(spacing=12, angle=90, length=0.35, linewidth=0.8)
        ax.plot(*self.ends.T, path_effects=[Normal(), ticks], **style)


@dataclass(frozen=True, slots=True)
class Region:
    """Part of a view in which an expert votes yes."""

    margin: FloatArray  # (cells, cells), log of the expert's rate over the rate needed: positive inside
    labeling: int
    expert: int  # from 1, in order of decreasing weight

    def draw(self, ax: "Axes", view: View, style: LineStyle) -> None:
        """Draw the border of the region."""
        # Contours have no label of their own.
        ax.plot([], [], **style)
        ax.contour(
            view.horizontal,
            view.vertical,
            self.margin,
            levels=[0.0],
            colors=style["color"],
            linestyles=style["linestyle"],
            linewidths=style["linewidth"],
        )


def find_experts(subject: Subject, view: View, kind: Experts | None) -> list[HalfSpaceLine | Region]:
    """Return the lines or regions of the labelings that a map shows."""
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
            found += find_lines(best, number, view, subject.threshold)
        else:
            found += find_regions(best, number, view, subject.threshold)
    return found


def find_regions(draw: Draws, labeling: int, view: View, threshold: float) -> list[Region]:
    """Return the regions with a border in the view, in order of the experts' weights."""
    margins = log_margins(draw.by_weight(), view.rows(), threshold)
    has_border = (margins.max(axis=1) > 0.0) & (margins.min(axis=1) <= 0.0)
    shape = (len(view.vertical), len(view.horizontal))
    return [
        Region(margins[expert].reshape(shape), labeling, expert + 1) for expert in np.flatnonzero(has_border).tolist()
    ]


def find_lines(draw: Draws, labeling: int, view: View, threshold: float) -> list[HalfSpaceLine]:
    """Return the lines of relevant criteria that cross the view, in order of the experts' weights.

    An expert is relevant if it votes yes somewhere in the view and no elsewhere; of its layers, those that decide on
    some part of the border in between.
    """
    draw = draw.by_weight()
    offsets = criterion_offsets(draw.expert_weights, threshold, draw.coefficients.shape[1])
    # On the plane, the criterion is constant + normal . (u, v) > 0.
    constants = draw.coefficients[..., 0] + draw.coefficients[..., 1:] @ view.plane.origin - offsets
    normals = draw.coefficients[..., 1:] @ view.plane.directions.T
    rows = view.rows()
    margins = log_margins(draw, rows, threshold)
    bounds = np.array([view.extent[::2], view.extent[1::2]])
    found = []
    for expert in range(len(draw.expert_weights)):
        border = _border(np.asarray(margins[expert].reshape(len(view.vertical), -1) > 0.0))
        for layer in _deciding_layers(draw.coefficients[expert], normals[expert], rows[border]):
            ends = clip_line(float(constants[expert, layer]), normals[expert, layer], bounds)
            if ends is not None:
                found.append(HalfSpaceLine(ends, labeling, expert + 1, int(layer)))
    return found


def _border(is_yes: BoolArray) -> BoolArray:
    """Return which cells of a map differ from their right or upper neighbor, flattened."""
    border = np.zeros(is_yes.shape, dtype=bool)
    border[:, :-1] |= is_yes[:, :-1] != is_yes[:, 1:]
    border[:-1] |= is_yes[:-1] != is_yes[1:]
    return border.ravel()


def _deciding_layers(coefficients: FloatArray, normals: FloatArray, rows: FloatArray) -> IndexArray:
    """Return the layers of an expert along whose normals log q increases most at enough of the rows."""
    if not len(rows):
        return np.empty(0, dtype=np.intp)
    derivatives = layer_derivatives(linear_predictors(coefficients[None], rows))[0]
    rises = derivatives * np.linalg.norm(normals, axis=1)[:, None]
    n_rows = np.bincount(np.argmax(rises, axis=0), minlength=len(coefficients))
    return np.flatnonzero(n_rows >= MIN_SHARE * len(rows))


def clip_line(constant: float, normal: FloatArray, bounds: FloatArray) -> FloatArray | None:
    """Return the ends of the line constant + normal . (u, v) = 0 within a rectangle; None if they do not meet."""
    norm = float(np.hypot(*normal))
    if not np.isfinite(constant) or norm == 0.0:
        return None
    nearest = -constant / norm * (normal / norm)
    # In this direction the normal points to the left, where the criterion is met.
    along = np.array([normal[1], -normal[0]]) / norm
    start, stop = -np.inf, np.inf
    for position, step, lower, upper in zip(nearest, along, *bounds, strict=True):
        if step == 0.0:
            if not lower <= position <= upper:
                return None
            continue
        near, far = sorted(((lower - position) / step, (upper - position) / step))
        start, stop = max(start, near), min(stop, far)
    return np.array([nearest + start * along, nearest + stop * along]) if start < stop else None
