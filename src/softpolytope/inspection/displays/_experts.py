"""Experts on a plane: their criteria as lines, their regions as borders."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.geometry import criterion_offsets, layer_derivatives, linear_predictors
from softpolytope.inspection.displays._surfaces import log_margins
from softpolytope.inspection.displays._view import View
from softpolytope.model import Draws

# A layer matters to an expert if it decides at this share of the border of the expert's region.
MIN_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class HalfSpaceLine:
    """Where the criterion of a layer of an expert is just met, within a view."""

    ends: FloatArray  # (2, 2); going from the first to the second, the criterion is met on the left
    labeling: int
    expert: int  # from 1, in order of falling weight
    layer: int


@dataclass(frozen=True, slots=True)
class Region:
    """The part of a view where an expert votes yes."""

    margin: FloatArray  # (cells, cells), log of the expert's rate over the one needed: positive inside
    labeling: int
    expert: int  # from 1, in order of falling weight


def regions(draw: Draws, labeling: int, view: View, threshold: float) -> list[Region]:
    """Regions with a border in the view, in order of the experts' weights."""
    draw = draw.by_weight()
    margins = log_margins(draw, view.rows(), threshold)
    has_border = (margins.max(axis=1) > 0.0) & (margins.min(axis=1) <= 0.0)
    shape = (len(view.vertical), len(view.horizontal))
    return [
        Region(margins[expert].reshape(shape), labeling, expert + 1)
        for expert in range(len(margins))
        if has_border.item(expert)
    ]


def half_space_lines(draw: Draws, labeling: int, view: View, threshold: float) -> list[HalfSpaceLine]:
    """Criteria that matter and cross the view, in order of the experts' weights.

    An expert matters if it votes yes somewhere in the view and no elsewhere; of its layers, those that decide at some
    stretch of the border between.
    """
    draw = draw.by_weight()
    offsets = criterion_offsets(draw.expert_weights, threshold, draw.coefficients.shape[1])
    # On the plane the criterion is constant + slopes . (u, v) > 0.
    constants = draw.coefficients[..., 0] + draw.coefficients[..., 1:] @ view.plane.origin - offsets
    slopes = draw.coefficients[..., 1:] @ view.plane.directions.T
    margins = log_margins(draw, view.rows(), threshold)
    bounds = np.array([view.extent[::2], view.extent[1::2]])
    found = []
    for expert in range(len(draw.expert_weights)):
        border = _border(np.asarray(margins[expert].reshape(len(view.vertical), -1) > 0.0))
        for layer in _deciding_layers(draw.coefficients[expert], slopes[expert], view.rows()[border]):
            ends = line_within(float(constants[expert, layer]), slopes[expert, layer], bounds)
            if ends is not None:
                found.append(HalfSpaceLine(ends, labeling, expert + 1, int(layer)))
    return found


def _border(is_yes: BoolArray) -> BoolArray:
    """Cells of a map that differ from their right or upper neighbor, flattened."""
    border = np.zeros(is_yes.shape, dtype=bool)
    border[:, :-1] |= is_yes[:, :-1] != is_yes[:, 1:]
    border[:-1] |= is_yes[:-1] != is_yes[1:]
    return border.ravel()


def _deciding_layers(coefficients: FloatArray, slopes: FloatArray, rows: FloatArray) -> NDArray[np.intp]:
    """Layers of an expert along which log q rises most, at some share of the rows."""
    if not len(rows):
        return np.empty(0, dtype=np.intp)
    rises = layer_derivatives(linear_predictors(coefficients[None], rows))[0] * np.linalg.norm(slopes, axis=1)[:, None]
    n_rows = np.bincount(np.argmax(rises, axis=0), minlength=len(coefficients))
    return np.flatnonzero(n_rows >= MIN_SHARE * len(rows))


def line_within(constant: float, slopes: FloatArray, bounds: FloatArray) -> FloatArray | None:
    """The ends of the line constant + slopes . (u, v) = 0 within a rectangle; None if it passes by."""
    norm = float(np.hypot(*slopes))
    if not np.isfinite(constant) or norm == 0.0:
        return None
    nearest = -constant / norm * (slopes / norm)
    # With the slopes to the left of it, the criterion is met on the left.
    along = np.array([slopes[1], -slopes[0]]) / norm
    start, stop = -np.inf, np.inf
    for place, step, lower, upper in zip(nearest, along, *bounds, strict=True):
        if step == 0.0:
            if not lower <= place <= upper:
                return None
            continue
        near, far = sorted(((lower - place) / step, (upper - place) / step))
        start, stop = max(start, near), min(stop, far)
    return np.array([nearest + start * along, nearest + stop * along]) if start < stop else None
