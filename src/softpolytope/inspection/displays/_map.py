"""How a decision map is drawn: colors, contour, lines and dots, in this order."""

from typing import TYPE_CHECKING, Any

from softpolytope.inspection.displays import _drawing
from softpolytope.inspection.displays._experts import HalfSpaceLine, Region
from softpolytope.inspection.displays._view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from softpolytope.inspection.displays._decision import DecisionDisplay

# Dots of more rows than this would hide the map.
MANY_ROWS = 2000


def draw_map(display: "DecisionDisplay", ax: "Axes") -> Any:
    """Draw everything but color bar and legend; returns the colored image."""
    image = _draw_values(display, ax)
    _draw_contour(display, ax)
    _draw_experts(display, ax)
    _draw_rows(display, ax)
    left, right, bottom, top = display.view.extent
    ax.set(xlim=(left, right), ylim=(bottom, top))
    ax.set_xlabel(display.view.plane.horizontal_label)
    ax.set_ylabel(display.view.plane.vertical_label)
    return image


def _draw_values(display: "DecisionDisplay", ax: "Axes") -> Any:
    plt = _drawing.pyplot()
    how: dict[str, Any] = {"extent": display.view.extent, "origin": "lower", "aspect": "auto"}
    if display.subject.response == "probability":
        colors = _drawing.probability_colors(is_opposite=display.subject.labeling == 1)
        return ax.imshow(display.values, cmap=colors, vmin=0.0, vmax=1.0, **how)
    if _is_whole(display):
        most = max(int(display.values.max()), 1)
        colors = plt.get_cmap("cividis", most + 1)
        return ax.imshow(display.values, cmap=colors, vmin=-0.5, vmax=most + 0.5, interpolation="nearest", **how)
    return ax.imshow(display.values, cmap="cividis", vmin=0.0, **how)


def _is_whole(display: "DecisionDisplay") -> bool:
    """Whether the values are counts of one draw."""
    return display.subject.response in ("count", "criteria") and bool((display.values % 1.0 == 0.0).all())


def draw_colorbar(display: "DecisionDisplay", ax: "Axes", image: Any) -> Any:
    """What the colors mean; whole numbers where they are counts."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  # an extra

    ticks = MaxNLocator(nbins=6, integer=True) if _is_whole(display) else None
    return ax.figure.colorbar(image, ax=ax, label=display.subject.label, ticks=ticks)


def _draw_contour(display: "DecisionDisplay", ax: "Axes") -> None:
    """The contour of the probability at the threshold, if it passes through the view."""
    threshold, view = display.subject.threshold, display.view
    if not display.probability.min() < threshold < display.probability.max():
        return
    # Black on pale colors, white on the dark ones of counts and deviations.
    color = "black" if display.subject.response == "probability" else "white"
    ax.contour(view.horizontal, view.vertical, display.probability, levels=[threshold], colors=color, linewidths=2.0)
    name = f"P({display.subject.name}) = {threshold:g}"
    ax.plot([], [], color="black" if color == "black" else "lightgrey", linewidth=2.0, label=name)


def _draw_experts(display: "DecisionDisplay", ax: "Axes") -> None:
    """One color per expert, solid for the labeling itself and dashed for its opposite."""
    names = [labeling.name for labeling in display.subject.target.labelings]
    numbers: dict[tuple[int, int], int] = {}
    for item in display.experts:
        is_new = (item.labeling, item.expert) not in numbers
        number = numbers.setdefault((item.labeling, item.expert), len(numbers))
        how: dict[str, Any] = {
            "color": _drawing.EXPERT_COLORS[number % len(_drawing.EXPERT_COLORS)],
            "linestyle": _drawing.SIDE_DASHES[item.labeling],
            "linewidth": 1.3,
            "label": f"expert {item.expert} for {names[item.labeling]}" if is_new else None,
        }
        if isinstance(item, HalfSpaceLine):
            _draw_line(item, ax, how)
        else:
            _draw_region(item, display.view, ax, how)


def _draw_line(line: HalfSpaceLine, ax: "Axes", how: dict[str, Any]) -> None:
    from matplotlib.patheffects import Normal, withTickedStroke  # noqa: PLC0415  # an extra

    # The ends are in order: the criterion is met on the left.
    ticks = withTickedStroke(spacing=12, angle=90, length=0.35, linewidth=0.8)
    ax.plot(*line.ends.T, path_effects=[Normal(), ticks], **how)


def _draw_region(region: Region, view: View, ax: "Axes", how: dict[str, Any]) -> None:
    # Contours have no label of their own.
    ax.plot([], [], **how)
    style = {"colors": how["color"], "linestyles": how["linestyle"], "linewidths": how["linewidth"]}
    ax.contour(view.horizontal, view.vertical, region.margin, levels=[0.0], **style)


def _draw_rows(display: "DecisionDisplay", ax: "Axes") -> None:
    """Training rows as dots, by class where labels were given."""
    points = display.view.points
    on_plane = len(display.view.plane.origin) == 2
    how: dict[str, Any] = {"linewidths": 0.5, "alpha": 0.9 if on_plane else 0.6, "zorder": 3}
    size = 16.0 if len(points) <= MANY_ROWS else 3.0
    if display.is_target is None:
        ax.scatter(points[:, 0], points[:, 1], s=size, color="dimgrey", edgecolors="white", label="rows", **how)
        return
    target = display.subject.target
    groups = ((display.is_target, target.name), (~display.is_target, target.name_of_others))
    for side, (chosen, name) in enumerate(groups):
        how |= {"c": _drawing.SIDE_COLORS[side], "marker": _drawing.SIDE_MARKERS[side]}
        ax.scatter(points[chosen, 0], points[chosen, 1], s=size, edgecolors="white", label=name, **how)
