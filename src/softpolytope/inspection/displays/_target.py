"""The class that a display shows, and the labelings that predict it."""

from dataclasses import dataclass

import numpy as np

from softpolytope._typing import BoolArray, IndexArray
from softpolytope.model import FittedModel, LabelingPosterior


@dataclass(frozen=True, slots=True)
class Labeling:
    """Posterior of a labeling, and the class or classes that are positive in it."""

    name: str
    posterior: LabelingPosterior
    code: int  # index of a class
    is_opposite: bool  # whether all other classes are positive

    def is_positive(self, codes: IndexArray) -> BoolArray:
        """Return whether rows, given by the indices of their classes, are positive."""
        return np.asarray((codes == self.code) != self.is_opposite)


@dataclass(frozen=True, slots=True)
class Target:
    """A class, with its name and column of `predict_proba`, and its labelings, that of the class itself first."""

    name: str
    code: int
    labelings: tuple[Labeling, ...]
    name_of_others: str

    def labeling(self, number: int) -> Labeling:
        """Return one of the labelings; raise if there is none of that number."""
        if number not in range(len(self.labelings)):
            raise ValueError(
                f"labeling must be from 0 to {len(self.labelings) - 1}; got {number!r}. "
                "The opposite labeling (1) needs symmetric=True."
            )
        return self.labelings[number]


def get_target(model: FittedModel, target: object) -> Target:
    """Return a class, by default the second of two, with its labelings."""
    code = model.class_index(target)
    names = [str(name) for name in model.classes.tolist()]
    if len(names) > 2:
        posteriors = model.posterior.regressions[code].labelings
        others = f"not {names[code]}"
        named = zip((names[code], others), (False, True), posteriors, strict=False)
        found = [Labeling(name, posterior, code, is_opposite) for name, is_opposite, posterior in named]
    else:
        # One regression serves both classes; its second labeling is that of the first class.
        posteriors = model.posterior.regressions[0].labelings
        others = names[1 - code]
        found = [
            Labeling(names[1 - side], posterior, 1 - side, is_opposite=False)
            for side, posterior in enumerate(posteriors)
        ]
        found.sort(key=lambda labeling: labeling.code != code)
    return Target(names[code], code, tuple(found), others)
