"""Which class a display is about, and which labelings speak of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from softpolytope._typing import BoolArray
from softpolytope.model import LabelingPosterior


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
    if not hasattr(estimator, "_validated_rows"):
        raise ValueError(
            f"{display} needs a classifier of softpolytope; got {type(estimator).__name__}. Of a pipeline, give the "
            "last step, and rows as the steps before leave them."
        )
    check_is_fitted(estimator)


def code_of(estimator: Any, target: Any) -> int:
    """The number of a class; by default the second of two."""
    classes = estimator.classes_.tolist()
    if target is None and len(classes) > 2:
        raise ValueError(f"target must be one of the classes {classes}.")
    if target is not None and target not in classes:
        raise ValueError(f"target must be one of the classes {classes}; got {target!r}.")
    return 1 if target is None else int(classes.index(target))


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
    labels = np.asarray(y)
    if labels.shape != (n_rows,) or not np.isin(labels, estimator.classes_).all():
        raise ValueError(f"y must hold one of the classes {estimator.classes_.tolist()} for each row of X.")
    return np.asarray(np.searchsorted(estimator.classes_, labels))
