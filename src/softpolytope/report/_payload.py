"""Data for the page's script: the model in full precision, the rows in as few characters as possible.

Arrays are base64 of little-endian numbers. The model has doubles, so that the browser computes the same as Python.
Values of rows are in single precision, relative to the smallest of their column: exact to a ten-millionth of its range.
"""

import base64
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.model import MAX_LOG_ODDS, Design, Draws, Posterior, RegressionPosterior, central_interval
from softpolytope.report._scores import LEVEL
from softpolytope.report._summary import Summary, draw_probabilities, to_dense

# Characters for rows: first probabilities and labels, then values. With everything else the page is below 2 MB.
MAX_CHARACTERS_OF_PROBABILITY = 400_000
MAX_CHARACTERS_OF_VALUES = 1_150_000
# Coefficients of all draws on the page, 11 characters each, and hyperplanes, each of which the map evaluates at about
# ten thousand points.
MAX_COEFFICIENTS = 22_000
MAX_HYPERPLANES = 1500
# Longer texts in cells are cut.
MAX_TEXT = 60
# Columns with at most this many distinct values are a list of these and one byte per row.
MAX_LISTED = 256
# Rows on which averages over some and over all draws are compared.
MAX_ROWS_COMPARED = 2000
# Columns, or rows, that are dense at a time.
BLOCK_OF_COLUMNS, BLOCK_OF_ROWS = 200, 1000

JsonObject: TypeAlias = dict[str, Any]


def make_payload(summary: Summary) -> JsonObject:
    """Return plain lists, numbers and texts, without NaN or infinity."""
    n_all = len(summary.codes)
    order = _least_certain_first(summary)
    n_rows = min(n_all, int(MAX_CHARACTERS_OF_PROBABILITY / _characters_per_row(summary)))
    kept = np.sort(order[:n_rows])
    code_type = "<u1" if len(summary.classes) <= MAX_LISTED else "<u2"
    return {
        "classes": list(summary.classes),
        "features": _features(summary),
        "model": _model(summary),
        "level": LEVEL,
        "rows": {
            "nAll": n_all,
            "noun": summary.row_noun,
            "n": len(kept),
            "numbers": None if len(kept) == n_all else encode_array(kept, "<u4"),
            "labels": encode_array(summary.codes[kept], code_type),
            "decisions": encode_array(summary.decisions[kept], code_type),
            **_probabilities(summary, kept),
            **_values(summary, order[:n_rows], kept),
        },
    }


def encode_array(values: ArrayLike, kind: str) -> dict[str, str]:
    """Encode numbers as base64 of a little-endian type."""
    return {"type": kind[1:], "data": base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()}


def _least_certain_first(summary: Summary) -> IndexArray:
    """Return rows, misclassified ones first, then by the lead of the best class."""
    ranked = np.sort(summary.probabilities, axis=1)
    return np.lexsort((ranked[:, -1] - ranked[:, -2], ~summary.is_wrong))


def _features(summary: Summary) -> JsonObject:
    features = summary.model.features
    columns = {
        "scale": features.scale,
        "lower": features.lower,
        "upper": features.upper,
        "medians": _medians(summary.X),
    }
    # Nine digits.
    rounded = {
        name: [_drop_decimal_point(float(f"{value:.9g}")) for value in column.tolist()]
        for name, column in columns.items()
    }
    return {"names": list(features.names), **rounded}


def _medians(X: Design) -> FloatArray:
    """Return medians of columns, in blocks so that sparse rows need little memory."""
    starts = range(0, X.shape[1], BLOCK_OF_COLUMNS)
    return np.concatenate([np.median(to_dense(X[:, start : start + BLOCK_OF_COLUMNS]), axis=0) for start in starts])


def _drop_decimal_point(value: float) -> float | int:
    """Return a whole number as an integer, which JSON writes without a decimal point, and others as they are."""
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


# The model.


def _model(summary: Summary) -> JsonObject:
    """Return all labelings: the best draw, and as many of the others as keep the page small and fast."""
    kept = kept_draws(summary)
    labelings = [
        [
            _draws(item.best.by_weight(), [0]) | {"kept": _draws(item.draws, kept.tolist())}
            for item in regression.labelings
        ]
        for regression in summary.model.posterior.regressions
    ]
    return {
        "estimate": summary.model.estimate,
        "drawNoun": summary.draw_noun,
        "bestNoun": summary.best_noun,
        "nKept": len(kept),
        "nLayers": summary.n_layers,
        "pools": [regression.pool for regression in summary.model.posterior.regressions],
        "maxLogOdds": MAX_LOG_ODDS,
        "regressions": labelings,
    }


def kept_draws(summary: Summary) -> IndexArray:
    """Return the numbers of each labeling's draws on the page: evenly spaced if some have no room, none if unused."""
    if summary.model.estimate == "best":
        return np.array([], dtype=np.intp)
    n_draws = summary.n_draws
    draws = [labeling.draws for labeling in summary.model.labelings]
    n_hyperplanes = sum(item.coefficients[:, :, 0].size for item in draws)
    n_coefficients = sum(item.coefficients.size for item in draws)
    share = min(1.0, MAX_HYPERPLANES / max(n_hyperplanes, 1), MAX_COEFFICIENTS / max(n_coefficients, 1))
    n_kept = max(1, int(share * n_draws))
    return np.unique(np.linspace(0, n_draws - 1, n_kept).round().astype(np.intp))


def max_difference(summary: Summary) -> float:
    """Return the largest difference between probabilities by the draws on the page and by all, on up to 2,000 rows."""
    kept = kept_draws(summary)
    if len(kept) in (0, summary.n_draws):
        return 0.0
    n_rows = len(summary.codes)
    chosen = np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_ROWS_COMPARED)).astype(np.intp))
    X, posterior = summary.X[chosen], summary.model.posterior
    regressions = tuple(_with_draws(regression, kept.tolist()) for regression in posterior.regressions)
    shown, full = (item.class_probabilities(X, "mean") for item in (Posterior(regressions), posterior))
    return float(np.abs(shown - full).max())


def _with_draws(regression: RegressionPosterior, kept: list[int]) -> RegressionPosterior:
    """Return a regression with some of the draws of each labeling."""
    labelings = []
    for labeling in regression.labelings:
        parts = [labeling.draws[number] for number in kept]
        own = [
            (part.coefficients, part.expert_weights, part.is_active, float(part.log_likelihood[0])) for part in parts
        ]
        labelings.append(replace(labeling, draws=Draws.from_parts(own)))
    return replace(regression, labelings=tuple(labelings))


def _draws(draws: Draws, kept: list[int]) -> JsonObject:
    parts = [draws[number] for number in kept]
    starts = np.cumsum([0, *(len(part.expert_weights) for part in parts)])
    empty = draws.coefficients[:0]
    return {
        "starts": starts.tolist(),
        "weights": encode_array(np.concatenate([np.empty(0), *(part.expert_weights for part in parts)]), "<f8"),
        "coefficients": encode_array(np.concatenate([empty, *(part.coefficients for part in parts)]), "<f8"),
    }


# The rows.


def _characters_per_row(summary: Summary) -> float:
    """Estimate the number of characters of a row without its values."""
    n_bytes = 4 if len(summary.classes) == 2 else 2 * len(summary.classes)
    return (n_bytes + (8 if summary.model.has_posterior_spread else 0) + 6) * 4.0 / 3.0


def _probabilities(summary: Summary, kept: IndexArray) -> JsonObject:
    """Return probabilities of the second of two classes, or of all, and intervals of the predicted class."""
    own = summary.probabilities[kept]
    found: JsonObject = {}
    if own.shape[1] == 2:
        found["probabilities"] = [encode_array(own[:, 1], "<f4")]
    else:
        # Sixteen bits are five digits, more than the page shows.
        found["probabilities"] = [encode_array(np.round(column * 65535.0), "<u2") for column in own.T]
    if summary.model.has_posterior_spread:
        low, high = _intervals(summary, kept)
        found |= {"low": encode_array(low, "<f4"), "high": encode_array(high, "<f4")}
    return found


def _intervals(summary: Summary, kept: IndexArray) -> FloatArray:
    """Return central intervals over draws, (2, rows): of the second of two classes, or of the predicted class."""
    parts = []
    for start in range(0, len(kept), BLOCK_OF_ROWS):
        rows = kept[start : start + BLOCK_OF_ROWS]
        by_draw = draw_probabilities(summary.model.posterior, summary.X[rows])
        shown = np.ones(len(rows), dtype=np.intp) if by_draw.shape[2] == 2 else summary.decisions[rows]
        parts.append(central_interval(by_draw[:, np.arange(len(rows)), shown], LEVEL))
    return np.concatenate(parts, axis=1)


def _values(summary: Summary, order: IndexArray, kept: IndexArray) -> JsonObject:
    """Return columns of the features, and of the rows as the user knows them, for as many rows as there is room for."""
    n_rows = len(order)
    # First with all rows, to learn the size of one, then at most twice with fewer.
    for _ in range(3):
        chosen = np.sort(order[:n_rows])
        values = [encode_column(column) for column in to_dense(summary.X[chosen]).T]
        raw = [encode_column(column[chosen]) | {"name": name} for name, column in summary.raw]
        size = sum(_count_characters(column) for column in (*values, *raw))
        if size <= MAX_CHARACTERS_OF_VALUES or n_rows <= 1:
            break
        n_rows = max(1, int(0.98 * n_rows * MAX_CHARACTERS_OF_VALUES / size))
    places = np.searchsorted(kept, chosen)
    return {
        "nValues": len(chosen),
        "places": None if len(chosen) == len(kept) else encode_array(places, "<u4"),
        "values": values,
        "raw": raw,
    }


def _count_characters(column: JsonObject) -> int:
    return len(column["data"]) + sum(len(str(item)) + 3 for item in column.get("list", ()))


def encode_column(column: NDArray[Any]) -> JsonObject:
    """Encode a column as distinct values with a byte or two per row, or as numbers in single precision."""
    numbers = _to_numbers(column)
    items = np.array([_cell_text(item) for item in column], dtype=object) if numbers is None else numbers
    # Missing values are equal here, and last.
    listed, codes = np.unique(items, return_inverse=True)
    if numbers is None or len(listed) <= MAX_LISTED:
        kind = "<u1" if len(listed) <= MAX_LISTED else "<u4"
        if numbers is not None:
            shown = [None if np.isnan(value) else _drop_decimal_point(value) for value in listed.tolist()]
            return encode_array(codes, kind) | {"list": shown}
        return encode_array(codes, kind) | {"list": listed.tolist()}
    start, width = float(listed[0]), float(np.nanmax(listed) - listed[0])
    # Single precision ends at 3e38.
    return encode_array(numbers - start, "<f4" if width < 1e38 else "<f8") | {"start": start}


def _to_numbers(column: NDArray[Any]) -> FloatArray | None:
    """Return a column of finite numbers, NaN where one is missing; None if it holds anything else or no number."""
    if column.dtype == object and any(isinstance(item, str | bool) for item in column):
        return None
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):
        return None
    is_number = ~np.isnan(numbers)
    return numbers if is_number.any() and np.isfinite(numbers[is_number]).all() else None


def _cell_text(item: object) -> str:
    """Return the text of a cell, empty if the value is missing."""
    if item is None or (isinstance(item, float) and np.isnan(item)):
        return ""
    text = str(item)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "\u2026"
