"""The column to predict: its classes, and the class of each row."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope.tabular.spelling import places_of
from softpolytope.tabular.table import LARGEST_EXACT, Chunk, TableError, listed, shown

MOST_CLASSES = 100
# Numbers of more different values than this, not all whole, are a quantity.
MOST_NUMBERS = 20


@dataclass(frozen=True, slots=True)
class Target:
    """Name of the column and its classes in order: whole numbers if all labels are, text else."""

    name: str
    classes: tuple[int, ...] | tuple[str, ...]

    @property
    def labels(self) -> NDArray[Any]:
        """The classes as an array."""
        return np.array(self.classes)

    def codes(self, chunk: Chunk) -> NDArray[np.intp]:
        """The place of each row's label among the classes; a label that is none of them is an error."""
        texts = label_texts(chunk, self.name)
        # A classifier that Python fitted may have the labels 0.0 and 1.0.
        codes = places_of(texts, {_canonical(str(label)): code for code, label in enumerate(self.classes)})
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise TableError(
                f"{chunk.place(row)}, column {self.name!r}: {shown(texts[row])} is none of the classes "
                f"{listed(self.classes)}."
            )
        return codes


def label_texts(chunk: Chunk, name: str) -> Sequence[str]:
    """Labels of rows; whole numbers in one form, whether the file has 1, 1.0 or +1. None may be missing."""
    texts = chunk.texts(name)
    known = {text: _canonical(text) for text in set(texts)}
    if "" in known:
        row = list(texts).index("")
        raise TableError(
            f"{chunk.place(row)}, column {name!r} has no value, and it is the one to predict. Remove such rows."
        )
    return [known[text] for text in texts]


def _canonical(text: str) -> str:
    try:
        value = float(text)
        return str(int(value)) if abs(value) < LARGEST_EXACT and value == int(value) and "_" not in text else text
    except (ValueError, OverflowError):
        return text


def target_of(name: str, labels: Iterable[str]) -> Target:
    """The target with these different labels."""
    texts = sorted(set(labels))
    if any("\x00" in text for text in texts):
        raise TableError(f"column {name!r} holds text with NUL characters. Is it the right target?")
    if len(texts) < 2:
        raise TableError(f"column {name!r} holds only one class, {texts[0]!r}; at least two are needed to tell apart.")
    numbers = [_is_number(text) for text in texts]
    are_whole = all(_is_whole(text) for text in texts)
    if (all(numbers) and not are_whole and len(texts) > MOST_NUMBERS) or len(texts) > MOST_CLASSES:
        raise TableError(
            f"column {name!r} holds {'over ' if len(texts) > MOST_CLASSES else ''}{min(len(texts), MOST_CLASSES)} "
            f"different values (such as {texts[0]!r}): a quantity or a name, not classes. Is it the right target? If "
            "so, replace it by a few classes."
        )
    return Target(name, tuple(sorted(map(int, texts))) if are_whole else tuple(texts))


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,17}", text) is not None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
