"""What all displays share of matplotlib, which is imported here only, when something is drawn."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Blue and vermilion of Okabe and Ito: the two that color-blind readers tell apart most surely.
SIDE_COLORS = ("#D55E00", "#0072B2")  # of the labeling itself, and of its opposite
SIDE_MARKERS = ("^", "o")
SIDE_DASHES = ("-", "--")
# Tol's muted scheme without its pale and orange members, which the map's own colors would hide.
EXPERT_COLORS = ("#332288", "#117733", "#882255", "#44AA99", "#000000", "#999933", "#AA4499", "#666666")
# Inches from the axes down to a legend below them: numbers and label stand between.
LEGEND_GAP = 0.45
# Pale, so that dots and lines of the same family stand out.
PROBABILITY_COLORS = ("#8FBFE0", "#FFFFFF", "#F5B48A")


def pyplot() -> Any:
    """matplotlib.pyplot, or a word on how to get it."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("displays need the package matplotlib: pip install softpolytope[plots].") from error
    return plt


class Display:
    """What all displays keep of what they were drawn on last: `ax_` and `figure_`."""

    ax_: "Axes"
    figure_: "Figure | SubFigure"

    def _take_axes(self, ax: "Axes | None") -> "Axes":
        """The axes given, or those of a new figure."""
        plt = pyplot()
        self.ax_ = plt.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


def probability_colors(*, is_opposite: bool) -> Any:
    """Colors of 0 to 1, white at one half; the target's own where its probability, or 1 minus that of others, is 1."""
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415  # an extra

    order = -1 if is_opposite else 1
    return LinearSegmentedColormap.from_list("probability", list(PROBABILITY_COLORS)[::order])


def whole_ticks(ax: "Axes") -> None:
    """Whole numbers on the horizontal axis."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  # an extra

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def legend_below(ax: "Axes", n_columns: int = 3) -> None:
    """A legend under the axes and their label, where it covers nothing."""
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415  # an extra

    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    below = ax.transAxes + ScaledTranslation(0.0, -LEGEND_GAP, ax.figure.dpi_scale_trans)
    shape = {"ncols": min(n_columns, len(handles)), "frameon": False, "fontsize": "small"}
    ax.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=below, **shape)
