"""Colors, legends and the base class of the displays; matplotlib is imported only when something is drawn."""

from types import ModuleType
from typing import TYPE_CHECKING

from softpolytope.model import FittedClassifier, FittedModel, fitted_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure, SubFigure

# Blue and vermilion of Okabe and Ito: the two that color-blind readers distinguish best.
SIDE_COLORS = ("#D55E00", "#0072B2")  # of the labeling itself, and of its opposite
SIDE_MARKERS = ("^", "o")
SIDE_DASHES = ("-", "--")
# Tol's muted scheme without pale colors and orange, which would not stand out from the map's own colors.
EXPERT_COLORS = ("#332288", "#117733", "#882255", "#44AA99", "#000000", "#999933", "#AA4499", "#666666")
# Pale, so that dots and lines of the same hue stand out.
PROBABILITY_COLORS = ("#8FBFE0", "#FFFFFF", "#F5B48A")
# Inches from the axes down to the legend, which leaves room for tick labels and axis label.
LEGEND_GAP = 0.45


def import_pyplot() -> ModuleType:
    """Return matplotlib.pyplot; raise with an instruction if it is not installed."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("displays need the package matplotlib: pip install softpolytope[plots].") from error
    return plt


class Display:
    """Base class of the displays, with the axes `ax_` and the figure `figure_` of the last drawing."""

    ax_: "Axes"
    figure_: "Figure | SubFigure"

    @classmethod
    def _model(cls, estimator: FittedClassifier) -> FittedModel:
        """Return the fitted model; raise unless it can be drawn."""
        import_pyplot()
        return fitted_model(estimator, cls.__name__)

    def _set_axes(self, ax: "Axes | None") -> "Axes":
        """Set and return the axes to draw on: those given, or those of a new figure."""
        self.ax_ = import_pyplot().subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


def make_probability_colormap(*, is_opposite: bool) -> "Colormap":
    """Return colors for 0 to 1, white at one half and in the target's own color at its end, 0 if `is_opposite`."""
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415  # an extra

    order = -1 if is_opposite else 1
    return LinearSegmentedColormap.from_list("probability", list(PROBABILITY_COLORS)[::order])


def use_integer_ticks(ax: "Axes") -> None:
    """Place the ticks of the horizontal axis at integers only."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  # an extra

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def draw_legend_below(ax: "Axes", n_columns: int = 3) -> None:
    """Draw a legend below the axes and their label, where it covers nothing."""
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415  # an extra

    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    below = ax.transAxes + ScaledTranslation(0.0, -LEGEND_GAP, ax.figure.dpi_scale_trans)
    ax.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below,
        ncols=min(n_columns, len(handles)),
        frameon=False,
        fontsize="small",
    )
