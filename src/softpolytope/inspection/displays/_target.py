"""Which class a display is about, and which labelings speak of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import BoolArray
from softpolytope.model import LabelingPosterior, class_index, encode_labels, fitted_model


@dataclass(frozen=True, slots=True)
class Labeling:
    """A posterior and what it takes for positive."""

    name: str
    posterior: LabelingPosterior
    code: int  # of a class
    is_opposite: bool  # whether all other classes are the positive ones

    def positives(self, codes: NDArray[np.intp]) -> BoolArray:
        """Which rows are positive."""
        return np.asarray((codes == self.code) != self.is_opposite)


@dataclass(frozen=True, slots=True)
class Target:
    """A class, by name and column of `predict_proba`, and its labelings: that of the class itself first."""

    name: str
    code: int
    labelings: tuple[Labeling, ...]
    name_of_others: str

    def labeling(self, number: int) -> Labeling:
        """One of the labelings; raises if there is none of that number."""
        if number not in range(len(self.labelings)):
            raise ValueError(
                f"labeling must be from 0 to {len(self.labelings) - 1}; got {number!r}. "
                "The opposite labeling (1) needs symmetric=True."
            )
        return self.labelings[number]


def check_is_ours(estimator: Any, display: str) -> None:
    """Raise unless the estimator is a fitted classifier of this package."""
    fitted_model(estimator, display)


def code_of(estimator: Any, target: Any) -> int:
    """The number of a class; by default the second of two."""
    return class_index(target, estimator.classes_)


def target_of(estimator: Any, target: Any) -> Target:
    """The class asked for, with its labelings."""
    code = code_of(estimator, target)
    names = [str(name) for name in estimator.classes_.tolist()]
    if len(names) == 2:
        # One regression serves both classes; its second labeling is that of the first class.
        posteriors = estimator.posterior_.regressions[0].labelings
        found = [
            Labeling(names[1 - side], posterior, 1 - side, is_opposite=False)
            for side, posterior in enumerate(posteriors)
        ]
        found.sort(key=lambda labeling: labeling.code != code)
    else:
        posteriors = estimator.posterior_.regressions[code].labelings
        named = zip((names[code], f"not {names[code]}"), (False, True), posteriors, strict=False)
        found = [Labeling(name, posterior, code, is_opposite) for name, is_opposite, posterior in named]
    others = names[1 - code] if len(names) == 2 else f"not {names[code]}"
    return Target(names[code], code, tuple(found), others)


def codes_of(estimator: Any, y: Any, n_rows: int) -> NDArray[np.intp]:
    """Labels as numbers of classes."""
    return encode_labels(y, estimator.classes_, n_rows)
