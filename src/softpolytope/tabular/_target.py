"""The column to predict: its classes, the class of each row, and the threshold between two classes."""

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.exceptions import TableError
from softpolytope.tabular._cells import MAX_EXACT, Kind, find_index, format_number, join_names, make_aliases, quote_cell
from softpolytope.tabular._columns import Codes
from softpolytope.tabular._table import Chunk

MAX_CLASSES = 100
# More distinct numbers than this, unless all are integers, are a quantity.
MAX_NUMBERS = 20
# Digits with a leading zero are a code: 01 and 1 are different.
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
Label = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Target:
    """Name of the column and its classes in order, of the type that the column has."""

    name: str
    classes: tuple[Label, ...]

    @property
    def labels(self) -> NDArray[Any]:
        """Classes as an array."""
        return np.array(self.classes)

    def codes(self, chunk: Chunk) -> IndexArray:
        """Return the index of each row's class; raise if a label is not one of the classes."""
        labels = label_codes(chunk, self.name)
        aliases = make_aliases([_format_label(label) for label in self.classes])
        known = np.array([self._find_code(text, aliases) for text in labels.texts], dtype=np.intp)
        codes: IndexArray = known[labels.indices]
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise TableError(
                f"{chunk.locate(row)}, column {self.name!r}: {quote_cell(labels.cell(row))} is not one of the classes "
                f"{join_names(self.classes)}. Correct it, or remove the row."
            )
        return codes

    def _find_code(self, text: str, aliases: Mapping[str, int]) -> int:
        """Return the index of a text; numbers may have any form, such as 1e0 for 1."""
        code = find_index(text, aliases)
        is_number = code < 0 and not any(isinstance(label, str) for label in self.classes)
        return find_index(_normalize_number(text), aliases) if is_number else code


def _format_label(label: Label) -> str:
    return format_number(label) if isinstance(label, float) else str(label)


def label_codes(chunk: Chunk, name: str) -> Codes:
    """Return the labels of rows as codes of texts; raise if one is missing."""
    labels = chunk.codes(name)
    is_missing = np.array([not text for text in labels.texts], dtype=bool)
    if is_missing.any():
        row = int(np.argmax(is_missing[labels.indices]))
        raise TableError(
            f"{chunk.locate(row)}, column {name!r} has no value, but it is the column to predict. Remove such rows."
        )
    return labels


def infer_target(name: str, labels: Iterable[str], kind: Kind | None = None) -> Target:
    """Return the target with these distinct labels, of their kind; those of a text file may be integers."""
    texts = sorted(set(labels))
    if any("\x00" in text for text in texts):
        raise TableError(f"column {name!r} holds text with NUL characters. Check that it is the right target.")
    if len(texts) < 2:
        raise TableError(f"column {name!r} holds only one class, {texts[0]!r}; a classifier needs at least two.")
    are_integers = all(_is_integer(_normalize_number(text)) for text in texts)
    if (all(map(_is_number, texts)) and not are_integers and len(texts) > MAX_NUMBERS) or len(texts) > MAX_CLASSES:
        raise TableError(
            f"column {name!r} holds {'over ' if len(texts) > MAX_CLASSES else ''}{min(len(texts), MAX_CLASSES)} "
            f"different values (such as {texts[0]!r}), like a quantity or a name rather than classes. Check that it is "
            "the right target; if it is, group its values into a few classes."
        )
    if kind is None:
        return Target(name, _classes_from_texts(name, texts))
    classes = tuple(sorted(_PARSERS[kind](text) for text in texts))
    # Integers beyond 64 bits do not fit into an array.
    return Target(name, tuple(texts) if np.array(classes).dtype.kind == "O" else classes)


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise TableError(f"the column to predict holds {text}, which is not a finite number. Remove such rows.")
    return value


_PARSERS: dict[Kind, Callable[[str], Any]] = {
    "bool": lambda text: text == "True",
    "int": int,
    "float": _parse_float,
    "str": str,
}


def _classes_from_texts(name: str, texts: Sequence[str]) -> tuple[Label, ...]:
    """Return integers if all texts are and conversion neither changes nor merges any; else the texts."""
    codes = [text for text in texts if _LEADING_ZERO.match(text)]
    numbers = {text: _normalize_number(text) for text in texts if text not in codes}
    duplicates = [text for text in numbers if list(numbers.values()).count(numbers[text]) > 1]
    if duplicates:
        warnings.warn(
            f"column {name!r} holds the same number in several forms, {join_names(map(repr, duplicates))}; each of "
            "them is a class of its own. Write the number in one form if they are one class.",
            stacklevel=2,
        )
    if codes or duplicates or not all(map(_is_integer, numbers.values())):
        return tuple(texts)
    return tuple(sorted(map(int, numbers.values())))


def _normalize_number(text: str) -> str:
    """Return one form for an integer written as 1, 1.0, +1 or 1e0; any other text unchanged."""
    try:
        value = float(text)
        return str(int(value)) if abs(value) < MAX_EXACT and value == int(value) and "_" not in text else text
    except (ValueError, OverflowError):
        return text


def _is_integer(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,17}", text) is not None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Threshold:
    """Rule that predicts one of two classes where its probability is above a threshold, and the other elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.tabular import Threshold
    >>> rule = Threshold.between(("no", "yes"), 0.3)
    >>> rule.in_words()
    "'yes' where P(yes) is above 0.3, else 'no'"
    >>> rule.codes(np.array([[0.6, 0.4], [0.7, 0.3]])).tolist()
    [1, 0]
    """

    label: Label
    other: Label
    is_second: bool  # whether the label is the second of the two classes
    probability: float

    @classmethod
    def between(cls, classes: tuple[Label, ...], probability: float, label: str | None = None) -> "Threshold":
        """Return the rule for the class that prints as `label`, by default the second of the two."""
        names = ", ".join(map(str, classes))
        if len(classes) != 2:
            raise ValueError(f"a threshold requires two classes, but this model has {len(classes)}: {names}.")
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"a threshold must be a probability between 0 and 1; got {probability!r}.")
        texts = [str(value) for value in classes]
        if label is not None and label not in texts:
            raise ValueError(f"there is no class {label!r} to set a threshold for. The classes are {names}.")
        index = 1 if label is None else texts.index(label)
        return cls(classes[index], classes[1 - index], index == 1, float(probability))

    def codes(self, probabilities: FloatArray) -> IndexArray:
        """Return the predictions for probabilities (rows, 2) as indices of the two classes."""
        is_chosen = probabilities[:, int(self.is_second)] > self.probability
        return np.asarray(is_chosen == self.is_second, dtype=np.intp)

    def in_words(self) -> str:
        """Return the rule in a few words."""
        return f"{self.label!r} where P({self.label}) is above {self.probability:g}, else {self.other!r}"


def predict_codes(probabilities: FloatArray, threshold: Threshold | None = None) -> IndexArray:
    """Return the index of the class predicted for each row of probabilities (rows, classes).

    Without a threshold it is the most probable class, the first of equally probable ones, as in `predict`.
    """
    return np.asarray(probabilities.argmax(axis=1)) if threshold is None else threshold.codes(probabilities)
