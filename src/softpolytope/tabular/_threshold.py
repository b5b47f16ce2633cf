"""Decisions by probabilities: the most probable class, or one of two classes above a threshold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.tabular._target import Label


@dataclass(frozen=True, slots=True)
class Threshold:
    """Decide for one of two classes where its probability is above a threshold, and for the other elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.tabular import Threshold
    >>> rule = Threshold.of(("no", "yes"), 0.3)
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
    def of(cls, classes: tuple[Label, ...], probability: float, label: str | None = None) -> "Threshold":
        """Return the rule for the class that prints as `label`, by default the second of the two."""
        said = ", ".join(map(str, classes))
        if len(classes) != 2:
            raise ValueError(f"a threshold decides between two classes, but this model has {len(classes)}: {said}.")
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"a threshold is a probability from 0 to 1; got {probability!r}.")
        texts = [str(value) for value in classes]
        if label is not None and label not in texts:
            raise ValueError(f"there is no class {label!r} to set a threshold for. The classes are {said}.")
        place = 1 if label is None else texts.index(label)
        return cls(classes[place], classes[1 - place], place == 1, float(probability))

    def codes(self, probabilities: FloatArray) -> NDArray[np.intp]:
        """Return the decisions of probabilities (rows, 2) as places among the two classes."""
        is_chosen = probabilities[:, int(self.is_second)] > self.probability
        return np.asarray(is_chosen == self.is_second, dtype=np.intp)

    def in_words(self) -> str:
        """Return the rule in a few words."""
        return f"{self.label!r} where P({self.label}) is above {self.probability:g}, else {self.other!r}"


def decided(probabilities: FloatArray, threshold: Threshold | None = None) -> NDArray[np.intp]:
    """Return the place of the class decided for in each row of probabilities (rows, classes).

    Without a threshold it is the most probable class, and of equally probable ones the first, as `predict` has it.
    """
    return np.asarray(probabilities.argmax(axis=1)) if threshold is None else threshold.codes(probabilities)
