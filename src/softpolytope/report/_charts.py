"""Charts as inline SVG, colored by the page's style sheet so that they follow its theme."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from softpolytope._format import format_count
from softpolytope._typing import FloatArray
from softpolytope.report._scores import N_BINS, Calibration

WIDTH, HEIGHT = 440.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 12.0, 12.0, 44.0
# Points of a line, beyond which a screen shows no more.
MAX_POINTS = 300


@dataclass(frozen=True, slots=True)
class Frame:
    """Numbers to places in the picture."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    height: float = HEIGHT

    def x(self, value: float) -> float:
        """Distance from the left."""
        return LEFT + (value - self.x_low) / (self.x_high - self.x_low) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Distance from the top."""
        return TOP + (self.y_high - value) / (self.y_high - self.y_low) * (self.height - TOP - BOTTOM)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers within bounds, at most so many."""
    step = 10.0 ** np.floor(np.log10((high - low) / most))
    step *= next(factor for factor in (1.0, 2.0, 5.0, 10.0, 20.0) if (high - low) / (step * factor) <= most)
    return [float(k * step) for k in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)]


def calibration_chart(calibration: Calibration, x_label: str, y_label: str) -> str:
    """Share seen against probability given, with bands, over bars of how many rows each bin has."""
    frame = Frame(0.0, 1.0, 0.0, 1.0)
    bars, marks = [], []
    most = int(calibration.counts.max())
    for place in range(len(calibration.counts)):
        left, n_rows = float(calibration.lower[place]), int(calibration.counts[place])
        top, told = frame.y(0.25 * n_rows / most), format_count(n_rows, "row")
        width = frame.x(1.0 / N_BINS) - frame.x(0.0) - 1.5
        bars.append(
            f'<rect class="bar" x="{frame.x(left):.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{frame.y(0.0) - top:.1f}"><title>{told}</title></rect>'
        )
        x, (low, high) = frame.x(float(calibration.predicted[place])), calibration.bands[place]
        kind = "" if calibration.is_covered[place] else " missed"
        y = frame.y(float(calibration.observed[place]))
        marks.append(f'<path class="band{kind}" d="M{x:.1f} {frame.y(low):.1f}V{frame.y(high):.1f}"/>')
        # Bands that miss have a square, so that color is not all that tells.
        marks.append(
            f'<rect class="dot missed" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
            if kind
            else f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        )
    diagonal = f'<path class="guide" d="M{frame.x(0):.1f} {frame.y(0):.1f}L{frame.x(1):.1f} {frame.y(1):.1f}"/>'
    axes = _axes(frame, x_label, y_label)
    label = (
        f"{y_label} against {x_label}, {format_count(len(calibration.counts), 'bin')}; the table below has the numbers"
    )
    return _svg(label, HEIGHT, [*axes, *bars, diagonal, *marks])


def weights_chart(bands: FloatArray, label: str, kind: str) -> str:
    """Sorted weights (ranks, 3), a bar up to the median and a band over draws."""
    height = 190.0
    frame = Frame(0.5, max(len(bands), 3) + 0.5, 0.0, max(float(bands.max()), 1e-12) * 1.05, height)
    parts = _axes(frame, "expert, by rank of weight", "weight r", whole=True)
    for place, (low, middle, high) in enumerate(bands):
        x = frame.x(place + 1.0)
        width = min(0.7 * (frame.x(1.0) - frame.x(0.0)), 40.0)
        top = frame.y(float(middle))
        parts.append(
            f'<rect class="{kind}" x="{x - 0.5 * width:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{frame.y(0.0) - top:.1f}"/>'
        )
        parts.append(f'<path class="whisker" d="M{x:.1f} {frame.y(float(low)):.1f}V{frame.y(float(high)):.1f}"/>')
    return _svg(label, height, parts)


def trace_chart(traces: FloatArray, first_kept: int, label: str) -> str:
    """Log-likelihood of chains (chains, sweeps); the sweeps discarded are shaded."""
    height = 220.0
    low, high = _range_of(traces, first_kept)
    frame = Frame(0.0, max(float(traces.shape[1]), 2.0), low, high, height)
    parts = _axes(frame, "sweep", "log-likelihood")
    if first_kept:
        width = frame.x(float(first_kept)) - frame.x(0.0)
        parts.insert(
            0,
            f'<rect class="discarded" x="{frame.x(0):.1f}" y="{TOP:.1f}" width="{width:.1f}" '
            f'height="{height - TOP - BOTTOM:.1f}"/>',
        )
    places = np.unique(np.linspace(0, traces.shape[1] - 1, MAX_POINTS).astype(int))
    for chain, trace in enumerate(traces):
        points = " ".join(
            f"{frame.x(place + 1.0):.1f},{frame.y(min(max(float(trace[place]), low), high)):.1f}" for place in places
        )
        parts.append(f'<polyline class="chain chain{chain % 4}" points="{points}"/>')
    return _svg(label, height, parts)


def modes_chart(log_likelihood: Sequence[float], label: str) -> str:
    """Training log-likelihood of every mode, the best marked."""
    height = 170.0
    values = np.asarray(log_likelihood, dtype=np.float64)
    # Less than a nat between modes is no difference worth seeing.
    width, middle = max(float(np.ptp(values)), 1.0), 0.5 * float(values.min() + values.max())
    frame = Frame(0.5, max(len(values), 3) + 0.5, middle - 0.6 * width, middle + 0.6 * width, height)
    parts = _axes(frame, "climb", "log-likelihood", whole=True)
    best = int(values.argmax())
    for place, value in enumerate(values.tolist()):
        x, y = frame.x(place + 1.0), frame.y(value)
        kind, radius = ("dot best", 6) if place == best else ("dot", 4)
        parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>')
    return _svg(label, height, parts)


def _range_of(traces: FloatArray, first_kept: int) -> tuple[float, float]:
    """Bounds that show the kept sweeps well, even if the first ones are far below."""
    kept = traces[:, min(first_kept, traces.shape[1] - 1) :]
    low, high = float(kept.min()), float(traces.max())
    width = max(high - low, 1e-9 * (1.0 + abs(high)))
    return max(float(traces.min()), low - 2.0 * width) - 0.05 * width, high + 0.05 * width


def _axes(frame: Frame, x_label: str, y_label: str, *, whole: bool = False) -> list[str]:
    """Grid lines, numbers and labels; whole numbers only along the horizontal one if asked."""
    parts = []
    bottom, right = frame.height - BOTTOM, WIDTH - RIGHT
    for value in ticks(frame.y_low, frame.y_high, 5):
        y = frame.y(value)
        parts.append(f'<path class="grid" d="M{LEFT:.1f} {y:.1f}H{right:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    parts += [
        f'<text x="{frame.x(value):.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{_number(value)}</text>'
        for value in ticks(frame.x_low, frame.x_high, 8)
        if not whole or value.is_integer()
    ]
    parts.append(f'<path class="axis" d="M{LEFT:.1f} {TOP:.1f}V{bottom:.1f}H{right:.1f}"/>')
    middle = 0.5 * (LEFT + right)
    parts.append(f'<text x="{middle:.1f}" y="{frame.height - 8:.1f}" text-anchor="middle">{_cut(x_label)}</text>')
    up = 0.5 * (TOP + bottom)
    parts.append(f'<text transform="translate(14 {up:.1f}) rotate(-90)" text-anchor="middle">{_cut(y_label)}</text>')
    return parts


def _number(value: float) -> str:
    text = f"{value:.6g}".replace("-", "\u2212")
    return "0" if text == "\u22120" else text


def _cut(text: str, most: int = 44) -> str:
    """A text that fits beside an axis, escaped."""
    return escape(text if len(text) <= most else text[: most - 1] + "\u2026")


def _svg(label: str, height: float, parts: list[str]) -> str:
    """An image with a name for those who do not see it."""
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {WIDTH:.0f} {height:.0f}" aria-label="{escape(label)}">'
        f"{''.join(parts)}</svg>"
    )
