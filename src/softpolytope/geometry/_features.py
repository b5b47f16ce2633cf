"""Half-spaces as inequalities in the names of the features."""

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.model import Features

# Terms of less than this share of the largest, in standard deviations, are not worth reading.
MIN_TERM = 0.01


def inequality(normal: FloatArray, offset: float, features: Features, most_terms: int = 5) -> str:
    """normal . x > offset in words: the largest term, in standard deviations, comes first and alone has no factor.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.geometry import inequality
    >>> from softpolytope.model import Features
    >>> known = Features(("income", "age"), np.array([1.0, 10.0]), np.zeros(2), np.ones(2))
    >>> inequality(np.array([-2.0, -0.08]), -6.2, known)
    'income + 0.04 age < 3.1'
    """
    sizes = np.abs(normal * features.scale)
    order = np.argsort(-sizes, kind="stable")
    lead = order[0]
    if sizes[lead] == 0.0:
        return "any x" if offset < 0.0 else "no x"
    shown = [column for column in order if sizes[column] >= MIN_TERM * sizes[lead]]
    parts = [features.names[lead]]
    for column in shown[1:most_terms]:
        factor = normal[column] / normal[lead]
        parts.append(f"{'-' if factor < 0.0 else '+'} {_factor(abs(factor))}{features.names[column]}")
    if len(shown) > most_terms:
        n_left = len(shown) - most_terms
        parts.append(f"+ {n_left} smaller term" + "s" * (n_left > 1))
    if not np.isfinite(offset):
        return f"{' '.join(parts)} beyond any number"
    return f"{' '.join(parts)} {'<' if normal[lead] < 0.0 else '>'} {_number(offset / normal[lead], 3)}"


def _factor(value: float) -> str:
    text = _number(value, 2)
    return "" if text == "1" else f"{text} "


def _number(value: float, n_digits: int) -> str:
    """A few digits, and no exponent where a person would write none."""
    rounded = float(f"{value:.{n_digits}g}") + 0.0
    if rounded == 0.0 or not 1e-4 <= abs(rounded) < 1e7:
        return f"{rounded:.{n_digits}g}"
    return np.format_float_positional(rounded, trim="-")
