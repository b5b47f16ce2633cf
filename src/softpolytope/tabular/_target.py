"""The column to predict: its classes, and the class of each row."""

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.exceptions import TableError
from softpolytope.tabular._spelling import open_partition_store, spellings
from softpolytope.tabular._table import MAX_EXACT, Chunk, Kind, listed, number_text, shown

MAX_CLASSES = 100
# Numbers of more different values than this, not all whole, are a quantity.
MAX_NUMBERS = 20
# Digits of a code, of which 01 and 1 are two.
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
Label = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Target:
    """Name of the column and its classes in order, of the kind that the column has."""

    name: str
    classes: tuple[Label, ...]

    @property
    def labels(self) -> NDArray[Any]:
        """The classes as an array."""
        return np.array(self.classes)

    def codes(self, chunk: Chunk) -> NDArray[np.intp]:
        """The place of each row's label among the classes; a label that is none of them is an error."""
        texts = label_texts(chunk, self.name)
        known = spellings([_text(label) for label in self.classes])
        places = {text: self._place(text, known) for text in set(texts)}
        codes = np.fromiter((places[text] for text in texts), np.intp, len(texts))
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise TableError(
                f"{chunk.place(row)}, column {self.name!r}: {shown(texts[row])} is none of the classes "
                f"{listed(self.classes)}. Correct it, or leave the row out."
            )
        return codes

    def _place(self, text: str, known: Mapping[str, int]) -> int:
        """The place of a text; of numbers in any form, such as 1e0 for 1."""
        place = open_partition_store(text, known)
        is_number = place < 0 and not any(isinstance(label, str) for label in self.classes)
        return open_partition_store(_as_whole(text), known) if is_number else place


def _text(label: Label) -> str:
    return number_text(label) if isinstance(label, float) else str(label)


def label_texts(chunk: Chunk, name: str) -> Sequence[str]:
    """Labels of rows as they are written. None may be missing."""
    texts = chunk.texts(name)
    if "" in texts:
        row = list(texts).index("")
        raise TableError(
            f"{chunk.place(row)}, column {name!r} has no value, and it is the one to predict. Remove such rows."
        )
    return texts


def target_of(name: str, labels: Iterable[str], kind: Kind | None = None) -> Target:
    """The target with these different labels, which stay of their kind; those of a text file may be whole numbers."""
    texts = sorted(set(labels))
    if any("\x00" in text for text in texts):
        raise TableError(f"column {name!r} holds text with NUL characters. Is it the right target?")
    if len(texts) < 2:
        raise TableError(f"column {name!r} holds only one class, {texts[0]!r}; at least two are needed to tell apart.")
    are_whole = all(_is_whole(_as_whole(text)) for text in texts)
    if (all(map(_is_number, texts)) and not are_whole and len(texts) > MAX_NUMBERS) or len(texts) > MAX_CLASSES:
        raise TableError(
            f"column {name!r} holds {'over ' if len(texts) > MAX_CLASSES else ''}{min(len(texts), MAX_CLASSES)} "
            f"different values (such as {texts[0]!r}): a quantity or a name, not classes. Is it the right target? If "
            "so, replace it by a few classes."
        )
    if kind is None:
        return Target(name, _classes_of_texts(name, texts))
    classes = tuple(sorted(_READERS[kind](text) for text in texts))
    # Whole numbers beyond 64 bits have no type of array.
    return Target(name, tuple(texts) if np.array(classes).dtype.kind == "O" else classes)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise TableError(f"the column to predict holds {text}, which is not a finite number. Remove such rows.")
    return value


_READERS: dict[Kind, Callable[[str], Any]] = {
    "bool": lambda text: text == "True",
    "int": int,
    "float": _finite,
    "str": str,
}


def _classes_of_texts(name: str, texts: Sequence[str]) -> tuple[Label, ...]:
    """Whole numbers if all texts are, unless that would change or merge some; else the texts."""
    codes = [text for text in texts if _LEADING_ZERO.match(text)]
    numbers = {text: _as_whole(text) for text in texts if text not in codes}
    twice = [text for text in numbers if list(numbers.values()).count(numbers[text]) > 1]
    if twice:
        warnings.warn(
            f"column {name!r} holds the same number in several forms, {listed(map(repr, twice))}; each of them is a "
            "class of its own. Write the number in one form if they are one class.",
            stacklevel=2,
        )
    if codes or twice or not all(map(_is_whole, numbers.values())):
        return tuple(texts)
    return tuple(sorted(map(int, numbers.values())))


def _as_whole(text: str) -> str:
    """The text of a whole number in one form, whether it is written as 1, 1.0, +1 or 1e0; else the text."""
    try:
        value = float(text)
        return str(int(value)) if abs(value) < MAX_EXACT and value == int(value) and "_" not in text else text
    except (ValueError, OverflowError):
        return text


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,17}", text) is not None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def fit_to_labels(classifier: Any, rows: FloatArray, labels: NDArray[Any], codes: NDArray[np.intp]) -> Any:
    """Fit a classifier to rows whose labels are those of the codes, and return it.

    scikit-learn takes fractions for a quantity: classes such as 0.5 and 1.5 are fitted as 0 and 1 and named afterwards.
    """
    if labels.dtype.kind != "f" or bool((labels == np.floor(labels)).all()):
        return classifier.fit(rows, labels[codes])
    weights = classifier.class_weight
    if isinstance(weights, dict):
        places = {label: code for code, label in enumerate(labels.tolist())}
        strange = [label for label in weights if label not in places]
        if strange:
            raise ValueError(f"class_weight names {strange[0]!r}, which is none of the classes {labels.tolist()}.")
        classifier.set_params(class_weight={places[label]: weight for label, weight in weights.items()})
    if np.array_equal(getattr(classifier, "classes_", []), labels):  # a fit that goes on
        classifier.classes_ = np.arange(len(labels))
    try:
        classifier.fit(rows, codes)
    finally:
        classifier.set_params(class_weight=weights)
    classifier.classes_ = labels
    return classifier
