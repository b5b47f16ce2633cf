"""A decision map in two dimensions as SVG, without a plotting library."""

from typing import Any

import numpy as np

from softpolytope._typing import FloatArray

N_CELLS = 90
N_SHADES = 24
SIZE = 540
MARGIN = 0.08
LOW, HIGH = np.array([59, 76, 192]), np.array([180, 4, 38])
MIN_DRAWN_WEIGHT = 0.05


def decision_map(model: Any, X: FloatArray, y: Any) -> str:
    """Probabilities as colors, rows as dots, and the hyperplanes of the best draw or mode as lines."""
    lower, upper = X.min(axis=0), X.max(axis=0)
    lower, upper = lower - MARGIN * (upper - lower), upper + MARGIN * (upper - lower)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" role="img">',
        "<title>Decision map: colors are probabilities, dots are rows, lines are hyperplanes</title>",
        *_cells(model, lower, upper),
        *_lines(model, lower, upper),
    ]
    places = _places(X, lower, upper)
    for (left, top), label in zip(places, np.asarray(y) == model.classes_[1], strict=True):
        red, green, blue = HIGH if label else LOW
        parts.append(
            f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3" fill="rgb({red},{green},{blue})" stroke="white" '
            'stroke-width="0.7"/>'
        )
    return "\n".join([*parts, "</svg>\n"])


def _cells(model: Any, lower: FloatArray, upper: FloatArray) -> list[str]:
    """A grid of squares, pale where the probability is near one half; equal neighbors in a row are one."""
    centers = (np.arange(N_CELLS) + 0.5) / N_CELLS
    grid = np.stack(np.meshgrid(centers, 1.0 - centers), axis=-1).reshape(-1, 2)
    probabilities = model.predict_proba(lower + grid * (upper - lower))[:, 1]
    shades = np.round(probabilities * N_SHADES).astype(int).reshape(N_CELLS, N_CELLS)
    side = SIZE / N_CELLS
    cells = []
    for number, row in enumerate(shades):
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], N_CELLS], strict=True):
            cells.append(
                f'<rect x="{start * side:.1f}" y="{number * side:.1f}" width="{(stop - start) * side + 0.4:.1f}" '
                f'height="{side + 0.4:.1f}" fill="{_color(row[start] / N_SHADES)}"/>'
            )
    return cells


def _color(chance: float) -> str:
    strength = 0.75 * abs(2.0 * chance - 1.0)
    red, green, blue = np.round(255 + strength * ((HIGH if chance > 0.5 else LOW) - 255)).astype(int)
    return f"#{red:02x}{green:02x}{blue:02x}"


def _lines(model: Any, lower: FloatArray, upper: FloatArray) -> list[str]:
    """x'beta = 0 of every layer of every expert that matters; solid for one labeling, dashed for the other."""
    found = []
    for labeling, (weights, coefficients) in enumerate(zip(model.expert_weights_, model.coefficients_, strict=True)):
        dashes = ' stroke-dasharray="6 4"' if labeling else ""
        for row in coefficients[weights >= MIN_DRAWN_WEIGHT].reshape(-1, 3):
            ends = _crossings(row, lower, upper)
            if len(ends) == 2:
                (x1, y1), (x2, y2) = _places(np.array(ends), lower, upper)
                found.append(
                    f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#222" '
                    f'stroke-width="1.4"{dashes}/>'
                )
    return found


def _crossings(row: FloatArray, lower: FloatArray, upper: FloatArray) -> list[list[float]]:
    """Points at which a line crosses the border of the map."""
    found: list[list[float]] = []
    for axis in (0, 1):
        other = 1 - axis
        if row[1 + other] == 0.0:
            continue
        for border in (lower[axis], upper[axis]):
            value = -(row[0] + row[1 + axis] * border) / row[1 + other]
            if lower[other] <= value <= upper[other]:
                point = [0.0, 0.0]
                point[axis], point[other] = float(border), float(value)
                found.append(point)
    return found[:2]


def _places(X: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Pixels of points; up is up."""
    shares = (X - lower) / (upper - lower)
    return np.column_stack([shares[:, 0] * SIZE, (1.0 - shares[:, 1]) * SIZE])
