"""Cells of tables: missing values, numbers, and the texts that mean the same category or label.

pandas writes a column of integers as 2.0 as soon as one of them is missing, SQLite stores booleans as 0 and 1, DuckDB
writes them as true and false. A category learned in one of these forms is recognized in the others.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from softpolytope._typing import FloatArray, IndexArray

# Cells that stand for a missing value in text files.
MISSING = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?"})
# Above this, neighboring integers are the same number in double precision.
MAX_EXACT = 2**53
# Digits with a leading zero are codes, not numbers: 01 is not 1.
_INTEGER = re.compile(r"([-+]?)(0|[1-9][0-9]*)(?:\.0*)?")
_BOOLEANS = (("False", "false", "FALSE", "0"), ("True", "true", "TRUE", "1"))

# Type of a column of a data frame or a Parquet file; text files do not tell.
Kind: TypeAlias = Literal["bool", "int", "float", "str"]


def parse_numbers(values: Sequence[str]) -> FloatArray:
    """Return cells as numbers: NaN where a value is missing, infinity for anything but a finite number."""
    try:
        numbers = np.fromiter(map(float, values), np.float64, len(values))
        # Python reads 1_000 as a number, and NAN in any case and with a sign; a table does not.
        if "_" not in "".join(values) and not np.isnan(numbers).any():
            return numbers
    except (ValueError, OverflowError):
        pass
    known = {text: _parse_number(text) for text in set(values)}
    return np.fromiter((known[text] for text in values), np.float64, len(values))


def _parse_number(text: str) -> float:
    if text in MISSING:
        return np.nan
    try:
        number = np.nan if "_" in text else float(text)
    except ValueError:
        return np.inf
    # The names of missing values are those above, for numbers as for categories.
    return np.inf if np.isnan(number) else number


def format_number(value: float) -> str:
    """Format a number as a category: integers without a point, NaN as the empty text."""
    if value != value:  # noqa: PLR0124  # NaN
        return ""
    return str(int(value)) if np.isfinite(value) and value == int(value) else repr(value)


def quote_cell(value: str | float) -> str:
    """Return a cell for a message, cut to a readable length."""
    text = repr(value if isinstance(value, str) else float(value))
    return text if len(text) <= 40 else f"{text[:37]}..."


def join_names(names: Iterable[object], max_names: int = 10) -> str:
    """Return names for a message, separated by commas."""
    known = [str(name)[:60] for name in names]
    more = f" and {len(known) - max_names} more" if len(known) > max_names else ""
    return ", ".join(known[:max_names]) + more


def normalize(text: str) -> str:
    """Return an integer without a point or a plus sign (2 for 2.0), and any other text unchanged."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return text
    sign, digits = match.groups()
    return f"-{digits}" if sign == "-" and digits != "0" else digits


def is_normalized_integer(text: str) -> bool:
    """Return whether a text is an integer in its normalized form."""
    return _INTEGER.fullmatch(text) is not None and normalize(text) == text


def make_aliases(texts: Sequence[str]) -> dict[str, int]:
    """Return the index of each text under all of its aliases, for `find_index`.

    An alias that two texts share belongs to the closer one: the text itself comes before its normalized form, and that
    before the text without surrounding blanks.
    """
    known = {text: index for index, text in enumerate(texts)}
    normalized = [[normalize(text)] for text in texts]
    stripped = [[normalize(text.strip()) or text] for text in texts]
    for aliases in (normalized, stripped, _boolean_aliases(texts)):
        for index, found in enumerate(aliases):
            for alias in found:
                known.setdefault(alias, index)
    return known


def _boolean_aliases(texts: Sequence[str]) -> Sequence[Sequence[str]]:
    """Return all forms of each text if they are different booleans, else nothing."""
    found = [forms for text in texts for forms in _BOOLEANS if normalize(text) in forms]
    return found if len(found) == len(texts) == len(set(found)) else []


def find_index(text: str, aliases: Mapping[str, int]) -> int:
    """Return the index of a text in any of its forms, -1 if it is unknown."""
    return aliases.get(text, aliases.get(normalize(text), -1))


def find_indices(texts: Sequence[str], aliases: Mapping[str, int]) -> IndexArray:
    """Return the index of each text, -1 where it is unknown."""
    return np.array([find_index(text, aliases) for text in texts], dtype=np.intp)
