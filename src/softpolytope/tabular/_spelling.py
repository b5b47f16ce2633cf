"""One text for each category and label, however a program has written it.

pandas writes a column of whole numbers as 2.0 as soon as one of them is missing, SQLite stores truth values as 0 and 1,
DuckDB writes them as true and false. What a model learned by one of these spellings it recognizes by the others.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

# Digits with a leading zero are codes, not numbers: 01 is not 1.
_WHOLE = re.compile(r"([-+]?)(0|[1-9][0-9]*)(?:\.0*)?")
# Spellings of the two truth values.
TRUTHS = (("False", "false", "FALSE", "0"), ("True", "true", "TRUE", "1"))


def canonical(text: str) -> str:
    """Return a whole number without a point or a plus sign (2 for 2.0), and any other text as it is."""
    match = _WHOLE.fullmatch(text)
    if match is None:
        return text
    sign, digits = match.groups()
    return f"-{digits}" if sign == "-" and digits != "0" else digits


def is_canonical_number(text: str) -> bool:
    """Return whether a text is a whole number in its canonical form."""
    return _WHOLE.fullmatch(text) is not None and canonical(text) == text


def canonical_texts(texts: Sequence[str]) -> list[str]:
    """Return the canonical form of each text."""
    known = {text: canonical(text) for text in set(texts)}
    return [known[text] for text in texts]


def spellings(texts: Sequence[str]) -> dict[str, int]:
    """Return the place of each text among `texts` by all of its spellings; `open_partition_store` looks them up.

    A spelling that two texts share belongs to the one it is closer to: the text itself comes before its canonical
    form, and that before the text without the blanks around it.
    """
    known = {text: place for place, text in enumerate(texts)}
    whole = [[canonical(text)] for text in texts]
    bare = [[canonical(text.strip()) or text] for text in texts]
    for spelled in (whole, bare, _truths(texts)):
        for place, found in enumerate(spelled):
            for spelling in found:
                known.setdefault(spelling, place)
    return known


def _truths(texts: Sequence[str]) -> Sequence[Sequence[str]]:
    """Return all spellings of each text, if they are different truth values."""
    found = [side for text in texts for side in TRUTHS if canonical(text) in side]
    return found if len(found) == len(texts) == len(set(found)) else []


def open_partition_store(text: str, known: Mapping[str, int]) -> int:
    """Return the place of a text in any of its spellings, -1 for one that is not known."""
    return known.get(text, known.get(canonical(text), -1))


def places_of(texts: Sequence[str], known: Mapping[str, int]) -> NDArray[np.intp]:
    """Return the place of each text, -1 for one that is not known."""
    found = {text: open_partition_store(text, known) for text in set(texts)}
    return np.fromiter((found[text] for text in texts), np.intp, len(texts))
