"""Charts as shapes of inline SVG, colored by the page's style sheet so that they follow its theme.

This module computes shapes and their coordinates; `templates/macros.html` writes them as markup.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from softpolytope._format import format_count
from softpolytope._typing import FloatArray
from softpolytope.report._scores import N_BINS, Calibration

WIDTH = 440.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 12.0, 12.0, 44.0
# Points of a line; a screen does not resolve more.
MAX_POINTS = 300
# Characters of a text beside an axis.
MAX_LABEL = 44


@dataclass(frozen=True, slots=True)
class Shape:
    """One SVG element."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    tooltip: str = ""


@dataclass(slots=True)
class Chart:
    """Coordinate system of one image and the shapes in it."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    height: float
    label: str  # for readers who do not see the image
    shapes: list[Shape] = field(default_factory=list)
    width: float = WIDTH

    def x(self, value: float) -> float:
        """Return the distance of a value from the left edge."""
        low, high = self.x_range
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Return the distance of a value from the top edge."""
        low, high = self.y_range
        return TOP + (high - value) / (high - low) * (self.height - TOP - BOTTOM)

    def add(self, tag: str, kind: str, text: str = "", tooltip: str = "", **attributes: float | str) -> None:
        """Add a shape of a class of the style sheet; numbers are rounded to a tenth of a pixel."""
        named = {
            name.replace("_", "-"): value if isinstance(value, str) else f"{value:.1f}"
            for name, value in attributes.items()
        }
        self.shapes.append(Shape(tag, ({"class": kind} if kind else {}) | named, text, tooltip))

    def add_bar(self, kind: str, left: float, width: float, top: float, tooltip: str = "") -> None:
        """Add a bar that stands on the horizontal axis; all numbers are positions on the image."""
        bottom = self.y(self.y_range[0])
        self.add("rect", kind, tooltip=tooltip, x=left, y=top, width=width, height=bottom - top)

    def add_vertical(self, kind: str, x: float, low: float, high: float) -> None:
        """Add a line between two values at a horizontal position on the image."""
        self.add("path", kind, d=f"M{x:.1f} {self.y(low):.1f}V{self.y(high):.1f}")

    def add_axes(self, x_label: str, y_label: str, *, whole: bool = False) -> None:
        """Add grid lines, numbers and labels; `whole` leaves only integers on the horizontal axis."""
        bottom, right = self.height - BOTTOM, WIDTH - RIGHT
        for value in ticks(*self.y_range, 5):
            y = self.y(value)
            self.add("path", "grid", d=f"M{LEFT:.1f} {y:.1f}H{right:.1f}")
            self.add("text", "", _format_tick(value), x=LEFT - 6, y=y + 4, text_anchor="end")
        for value in ticks(*self.x_range, 8):
            if not whole or value.is_integer():
                self.add("text", "", _format_tick(value), x=self.x(value), y=bottom + 16, text_anchor="middle")
        self.add("path", "axis", d=f"M{LEFT:.1f} {TOP:.1f}V{bottom:.1f}H{right:.1f}")
        middle, center = 0.5 * (LEFT + right), 0.5 * (TOP + bottom)
        self.add("text", "", _shorten(x_label), x=middle, y=self.height - 8, text_anchor="middle")
        turned = f"translate(14 {center:.1f}) rotate(-90)"
        self.add("text", "", _shorten(y_label), transform=turned, text_anchor="middle")


def calibration_chart(calibration: Calibration, x_label: str, y_label: str) -> Chart:
    """Draw observed share against predicted probability, with bands, over bars for the numbers of rows."""
    n_bins = len(calibration.counts)
    label = f"{y_label} against {x_label}, {format_count(n_bins, 'bin')}; the table below has the numbers"
    chart = Chart((0.0, 1.0), (0.0, 1.0), 300.0, label)
    chart.add_axes(x_label, y_label)
    width = chart.x(1.0 / N_BINS) - chart.x(0.0) - 1.5
    largest = int(calibration.counts.max())
    for left, n_rows in zip(calibration.lower.tolist(), calibration.counts.tolist(), strict=True):
        chart.add_bar("bar", chart.x(left), width, chart.y(0.25 * n_rows / largest), format_count(n_rows, "row"))
    diagonal = f"M{chart.x(0):.1f} {chart.y(0):.1f}L{chart.x(1):.1f} {chart.y(1):.1f}"
    chart.add("path", "guide", d=diagonal)
    columns = (calibration.predicted, calibration.observed, calibration.bands, calibration.is_covered)
    for predicted, observed, (low, high), is_covered in zip(*(column.tolist() for column in columns), strict=True):
        x, y = chart.x(predicted), chart.y(observed)
        chart.add_vertical("band" if is_covered else "band missed", x, low, high)
        # A square marks a band that misses, so that color is not the only sign.
        if is_covered:
            chart.add("circle", "dot", cx=x, cy=y, r="4")
        else:
            chart.add("rect", "dot missed", x=x - 4, y=y - 4, width="8", height="8")
    return chart


def weights_chart(bands: FloatArray, label: str, kind: str) -> Chart:
    """Draw sorted weights, (ranks, 3): a bar up to the median and a line over the spread."""
    y_range = 0.0, max(float(bands.max()), 1e-12) * 1.05
    chart = Chart((0.5, max(len(bands), 3) + 0.5), y_range, 190.0, label)
    chart.add_axes("expert, by rank of weight", "weight r", whole=True)
    width = min(0.7 * (chart.x(1.0) - chart.x(0.0)), 40.0)
    for rank, (low, middle, high) in enumerate(bands.tolist(), 1):
        x = chart.x(rank)
        chart.add_bar(kind, x - 0.5 * width, width, chart.y(middle))
        chart.add_vertical("whisker", x, low, high)
    return chart


def trace_chart(traces: FloatArray, first_kept: int, label: str) -> Chart:
    """Draw the log-likelihood of chains, (chains, sweeps), over a shade for the discarded sweeps."""
    low, high = _trace_range(traces, first_kept)
    chart = Chart((0.0, max(float(traces.shape[1]), 2.0)), (low, high), 220.0, label)
    if first_kept:
        chart.add_bar("discarded", chart.x(0.0), chart.x(first_kept) - chart.x(0.0), TOP)
    chart.add_axes("sweep", "log-likelihood")
    shown = np.unique(np.linspace(0, traces.shape[1] - 1, MAX_POINTS).astype(int))
    for number, trace in enumerate(np.clip(traces[:, shown], low, high).tolist()):
        points = (f"{chart.x(sweep + 1):.1f},{chart.y(value):.1f}" for sweep, value in zip(shown, trace, strict=True))
        chart.add("polyline", f"chain chain{number % 4}", points=" ".join(points))
    return chart


def modes_chart(log_likelihood: Sequence[float], label: str) -> Chart:
    """Draw the training log-likelihood of every mode and mark the best."""
    values = np.asarray(log_likelihood, dtype=np.float64)
    # Differences below one nat do not matter, so the range is no smaller.
    width, middle = max(float(np.ptp(values)), 1.0), 0.5 * float(values.min() + values.max())
    chart = Chart((0.5, max(len(values), 3) + 0.5), (middle - 0.6 * width, middle + 0.6 * width), 170.0, label)
    chart.add_axes("restart", "log-likelihood", whole=True)
    best = int(values.argmax())
    for place, value in enumerate(values.tolist()):
        kind, radius = ("dot best", "6") if place == best else ("dot", "4")
        chart.add("circle", kind, cx=chart.x(place + 1), cy=chart.y(value), r=radius)
    return chart


def ticks(low: float, high: float, max_ticks: int = 6) -> list[float]:
    """Return round numbers between two bounds."""
    step = 10.0 ** np.floor(np.log10((high - low) / max_ticks))
    step *= next(factor for factor in (1.0, 2.0, 5.0, 10.0, 20.0) if (high - low) / (step * factor) <= max_ticks)
    return [float(k * step) for k in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)]


def _trace_range(traces: FloatArray, first_kept: int) -> tuple[float, float]:
    """Return bounds that show the kept sweeps well even if the first sweeps are far below."""
    kept = traces[:, min(first_kept, traces.shape[1] - 1) :]
    low, high = float(kept.min()), float(traces.max())
    width = max(high - low, 1e-9 * (1.0 + abs(high)))
    return max(float(traces.min()), low - 2.0 * width) - 0.05 * width, high + 0.05 * width


def _format_tick(value: float) -> str:
    text = f"{value:.6g}".replace("-", "\u2212")
    return "0" if text == "\u22120" else text


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "\u2026"
