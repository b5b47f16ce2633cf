"""What the page's own program needs: the model in full precision, the rows in as few characters as will do.

Arrays travel as base64 of little-endian numbers. The model is in doubles, so that the browser computes what Python
does. Values of rows are single precision, counted from their column's smallest, which is a ten-millionth of its range.
"""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.model import Draws
from softpolytope.report._scores import LEVEL
from softpolytope.report._summary import Content, dense, draw_probabilities

# Characters that rows may take: probabilities and labels first, then values. With the rest of the page below 2 MB.
MAX_CHARACTERS_OF_PROBABILITY = 400_000
MAX_CHARACTERS_OF_VALUES = 1_150_000
# Coefficients of all draws on the page, 11 characters each, and hyperplanes, each of which the map evaluates at some
# ten thousand points.
MAX_COEFFICIENTS = 22_000
MAX_HYPERPLANES = 1500
# Longer texts in cells are cut.
MAX_TEXT = 60
# Different values up to which a column is a list of these and one byte a row.
MAX_LISTED = 256


def make_payload(content: Content) -> dict[str, Any]:
    """Plain lists, numbers and texts, without NaN or infinity."""
    n_all = len(content.codes)
    order = _most_telling(content)
    n_rows = min(n_all, int(MAX_CHARACTERS_OF_PROBABILITY / _characters_of_probabilities(content)))
    kept = np.sort(order[:n_rows])
    values = _values(content, order[:n_rows], kept)
    return {
        "classes": list(content.classes),
        "features": _features(content),
        "model": model_payload(content),
        "level": LEVEL,
        "rows": {
            "nAll": n_all,
            "noun": content.noun,
            "n": len(kept),
            "numbers": None if len(kept) == n_all else encoded(kept, "<u4"),
            "labels": encoded(content.codes[kept], _code_type(content)),
            "decisions": encoded(content.decisions[kept], _code_type(content)),
            **_probabilities(content, kept),
            **values,
        },
    }


def encoded(values: Any, kind: str) -> dict[str, str]:
    """Numbers as base64 of a little-endian type."""
    return {"type": kind[1:], "data": base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()}


def _code_type(content: Content) -> str:
    return "<u1" if len(content.classes) <= MAX_LISTED else "<u2"


def _most_telling(content: Content) -> NDArray[np.intp]:
    """Rows, wrong ones first, then by how little the best class is ahead: what stays if there is no room for all."""
    ranked = np.sort(content.probabilities, axis=1)
    return np.lexsort((ranked[:, -1] - ranked[:, -2], ~content.is_wrong))


def _features(content: Content) -> dict[str, Any]:
    features = content.features
    medians = _medians(content.X)
    return {
        "names": list(features.names),
        "scale": [shortened(value) for value in features.scale.tolist()],
        "lower": [shortened(value) for value in features.lower.tolist()],
        "upper": [shortened(value) for value in features.upper.tolist()],
        "medians": [shortened(value) for value in medians.tolist()],
    }


def _medians(X: Any) -> FloatArray:
    """Of columns, in blocks, so that sparse rows need little room."""
    return np.concatenate([np.median(dense(X[:, start : start + 200]), axis=0) for start in range(0, X.shape[1], 200)])


def shortened(value: float) -> float | int:
    """Nine digits, and no decimal point where there is nothing after it."""
    rounded = float(f"{value:.9g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


# The model.


def model_payload(content: Content) -> dict[str, Any]:
    """All labelings: the best draw, and as many of the others as keep the page small and quick."""
    kept = kept_draws(content)
    labelings = [
        [_draws(item.best.by_weight(), None) | {"kept": _draws(item.draws, kept)} for item in regression.labelings]
        for regression in content.posterior.regressions
    ]
    return {
        "estimate": content.estimate,
        "oneOf": content.one_of,
        "nDraws": content.n_draws,
        "nKept": len(kept),
        "nLayers": content.n_layers,
        "regressions": labelings,
        "targets": [side.target for side in content.sides],
    }


def kept_draws(content: Content) -> NDArray[np.intp]:
    """Numbers of the draws on the page: all, or as many as there is room for, evenly spaced; none if unused."""
    if content.estimate == "best":
        return np.array([], dtype=np.intp)
    n_draws = content.n_draws
    n_hyperplanes = sum(side.posterior.draws.coefficients[:, :, 0].size for side in content.sides)
    n_coefficients = sum(side.posterior.draws.coefficients.size for side in content.sides)
    share = min(1.0, MAX_HYPERPLANES / max(n_hyperplanes, 1), MAX_COEFFICIENTS / max(n_coefficients, 1))
    n_kept = max(1, int(share * n_draws))
    return np.unique(np.linspace(0, n_draws - 1, n_kept).round().astype(np.intp))


def largest_difference(content: Content) -> float:
    """How far the probabilities of the draws on the page are from those of all, at worst, on up to 2,000 rows."""
    kept = kept_draws(content)
    if len(kept) in (0, content.n_draws):
        return 0.0
    n_rows = len(content.codes)
    chosen = np.unique(np.linspace(0, n_rows - 1, min(n_rows, 2000)).astype(np.intp))
    by_draw = draw_probabilities(content.posterior, content.X[chosen])
    return float(np.abs(by_draw[kept].mean(axis=0) - by_draw.mean(axis=0)).max())


def _draws(draws: Draws, kept: NDArray[np.intp] | None) -> dict[str, Any]:
    """Draws of the given numbers, or all."""
    parts = [draws[int(number)] for number in (range(len(draws)) if kept is None else kept)]
    starts = np.cumsum([0, *(len(part.expert_weights) for part in parts)])
    empty = draws.coefficients[:0]
    return {
        "starts": starts.tolist(),
        "weights": encoded(np.concatenate([np.empty(0), *(part.expert_weights for part in parts)]), "<f8"),
        "coefficients": encoded(np.concatenate([empty, *(part.coefficients for part in parts)]), "<f8"),
    }


# The rows.


def _characters_of_probabilities(content: Content) -> float:
    """Of one row, about."""
    n_bytes = 4 if len(content.classes) == 2 else 2 * len(content.classes)
    return (n_bytes + (8 if content.has_draws else 0) + 6) * 4.0 / 3.0


def _probabilities(content: Content, kept: NDArray[np.intp]) -> dict[str, Any]:
    """Probabilities of the second of two classes, or of all; intervals of it, or of the class decided for."""
    own = content.probabilities[kept]
    found: dict[str, Any] = {}
    if own.shape[1] == 2:
        found["probabilities"] = [encoded(own[:, 1], "<f4")]
    else:
        # Sixteen bits are five digits, more than are shown.
        found["probabilities"] = [encoded(np.round(column * 65535.0), "<u2") for column in own.T]
    if content.has_draws:
        low, high = _intervals(content, kept)
        found |= {"low": encoded(low, "<f4"), "high": encoded(high, "<f4")}
    return found


def _intervals(content: Content, kept: NDArray[np.intp]) -> FloatArray:
    """Central intervals over draws, (2, rows)."""
    tail = 0.5 * (1.0 - LEVEL)
    parts = []
    for start in range(0, len(kept), 1000):
        rows = kept[start : start + 1000]
        by_draw = draw_probabilities(content.posterior, content.X[rows])
        shown = np.ones(len(rows), dtype=np.intp) if by_draw.shape[2] == 2 else content.decisions[rows]
        parts.append(np.quantile(by_draw[:, np.arange(len(rows)), shown], [tail, 1.0 - tail], axis=0))
    return np.concatenate(parts, axis=1)


def _values(content: Content, order: NDArray[np.intp], kept: NDArray[np.intp]) -> dict[str, Any]:
    """Columns of the features and of the rows as the user knows them, of as many rows as there is room for."""
    n_rows = len(order)
    # Once with all rows to learn what one takes; twice at most.
    for _ in range(3):
        chosen = np.sort(order[:n_rows])
        values = [encoded_column(column) for column in dense(content.X[chosen]).T]
        raw = [encoded_column(column[chosen]) | {"name": name} for name, column in content.raw]
        size = sum(_size(column) for column in (*values, *raw))
        if size <= MAX_CHARACTERS_OF_VALUES or n_rows <= 1:
            break
        n_rows = max(1, int(0.98 * n_rows * MAX_CHARACTERS_OF_VALUES / size))
    places = np.searchsorted(kept, chosen)
    return {
        "nValues": len(chosen),
        "places": None if len(chosen) == len(kept) else encoded(places, "<u4"),
        "values": values,
        "raw": raw,
    }


def _size(column: dict[str, Any]) -> int:
    return len(column["data"]) + sum(len(str(item)) + 3 for item in column.get("list", ()))


def encoded_column(column: NDArray[Any]) -> dict[str, Any]:
    """A column of numbers or texts: a list of what occurs and a byte or two a row, or single precision numbers."""
    numbers = _as_numbers(column)
    items = [_text(item) for item in column] if numbers is None else numbers
    # What is missing is one value, the last.
    listed, codes = np.unique(np.array(items, dtype=object if numbers is None else np.float64), return_inverse=True)
    if numbers is None or len(listed) <= MAX_LISTED:
        kind = "<u1" if len(listed) <= MAX_LISTED else "<u4"
        shown = listed.tolist() if numbers is None else [exact(value) for value in listed.tolist()]
        return encoded(codes, kind) | {"list": shown}
    start, width = float(listed[0]), float(np.nanmax(listed) - listed[0])
    # Single precision ends at 3e38.
    return encoded(numbers - start, "<f4" if width < 1e38 else "<f8") | {"start": start}


def exact(value: float) -> float | int | None:
    """The same number, without a decimal point where there is nothing after it; None where there is none."""
    if np.isnan(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _as_numbers(column: NDArray[Any]) -> FloatArray | None:
    """A column of finite numbers, NaN where one is missing; None if it is no such column, or has no number."""
    if column.dtype == object and any(isinstance(item, str | bool) for item in column):
        return None
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):
        return None
    is_number = ~np.isnan(numbers)
    return numbers if is_number.any() and np.isfinite(numbers[is_number]).all() else None


def _text(item: Any) -> str:
    """What a cell shows; nothing for what is missing."""
    if item is None or (isinstance(item, float) and np.isnan(item)):
        return ""
    text = str(item)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "\u2026"
