"""Wording that results share: numbers with their nouns, distances, and which row is meant."""

from operator import index
from typing import SupportsIndex

# Rows that a printed result tells of; the rest are counted.
MAX_ROWS_PRINTED = 5


def counted(number: int, noun: str) -> str:
    """Return a number and its noun: 1 row, 2 rows.

    Examples
    --------
    >>> from softpolytope.geometry import counted
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def in_deviations(distance: float) -> str:
    """Return a distance with two digits and its unit, singular where the digits say 1.

    Examples
    --------
    >>> from softpolytope.geometry import in_deviations
    >>> in_deviations(0.9981), in_deviations(1.1)
    ('1 standard deviation', '1.1 standard deviations')
    """
    text = f"{distance:.2g}"
    return f"{text} standard deviation" + ("" if text == "1" else "s")


def row_at(row: SupportsIndex, n_rows: int) -> int:
    """Return the place of a row, counted from the end if it is negative; raise IndexError if there is no such row."""
    place = index(row)
    if not -n_rows <= place < n_rows:
        held = f"the rows 0 to {n_rows - 1}" if n_rows > 1 else "one row, 0" if n_rows else "no rows"
        raise IndexError(f"there is no row {place}: this result has {held}.")
    return place % n_rows


def rows_left_out(n_rows: int) -> str:
    """Return the line that ends a printed result of many rows; nothing if all rows were printed."""
    n_left = n_rows - MAX_ROWS_PRINTED
    return f"... and {counted(n_left, 'more row')}: [i] or in_words(i) has one, table() all." if n_left > 0 else ""
