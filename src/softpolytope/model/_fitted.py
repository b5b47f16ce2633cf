"""Fitted models as other rooms see them: posterior, classes, features and how they were fitted."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.model._fitted_prior import FittedPrior
from softpolytope.model._posterior import Estimate, LabelingPosterior, Posterior
from softpolytope.model._training_rows import TrainingRows


@dataclass(frozen=True, slots=True)
class Features:
    """Names, standard deviations and ranges of the features in the training rows, and which were integers."""

    names: tuple[str, ...]
    scale: FloatArray  # (features,)
    lower: FloatArray  # (features,)
    upper: FloatArray  # (features,)
    is_integer: BoolArray | None = None  # (features,); None if unknown

    @property
    def is_switch(self) -> BoolArray:
        """Whether a feature was one of two neighboring integers, such as 0 and 1, (features,)."""
        if self.is_integer is None:
            return np.zeros(len(self.names), dtype=bool)
        return np.asarray(self.is_integer & (self.upper - self.lower == 1.0))


@dataclass(frozen=True, slots=True)
class FittedModel:
    """Result of a fit, as geometry, inspection, report and export take it."""

    name: str  # of the classifier's class
    posterior: Posterior
    classes: NDArray[Any]
    features: Features
    has_feature_names: bool  # False if the names are made up: x0, x1, ...
    inference: Literal["bootstrap", "gibbs", "map"]
    is_bootstrap: bool  # whether the modes are those of a weighted bootstrap
    estimate: Estimate
    n_burn_in: int  # sweeps before the first one that diagnostics use
    weight: float  # of all training rows
    training_rows: TrainingRows | None  # fingerprint; None if it was not kept
    probe_probabilities: tuple[FloatArray, ...]  # by regression, (draws, probes): P(y = 1) at a few training rows
    n_threads: int = 1
    priors: tuple[FittedPrior, ...] = ()  # by regression; empty for a file of an earlier version

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features.names)

    @property
    def has_posterior_spread(self) -> bool:
        """Whether the spread of the draws approximates that of the posterior, which that of plain modes does not."""
        return self.inference == "gibbs" or self.is_bootstrap

    @property
    def labelings(self) -> list[LabelingPosterior]:
        """Posteriors of all labelings, regression after regression."""
        return self.posterior.labelings

    @property
    def targets(self) -> list[tuple[Any, Any]]:
        """Class that each labeling of each regression predicts; with three or more, the opposite is named by a text."""
        classes = self.classes.tolist()
        if len(classes) == 2:
            return [(classes[1], classes[0])]
        return [(name, f"not {name}") for name in classes]

    def check_has_chains(self, name: str) -> None:
        """Raise unless the draws come from chains; `name` is the function that the user called."""
        if self.inference != "gibbs":
            raise ValueError(
                f"{name} requires posterior draws of chains, but this model was fitted with "
                f'inference="{self.inference}". Refit with inference="gibbs".'
            )

    def class_index(self, target: object) -> int:
        """Return the index of a class, by default of the second of two."""
        return class_index(target, self.classes)

    def encode_labels(self, y: ArrayLike, n_rows: int) -> NDArray[np.intp]:
        """Return labels as indices of classes; raise unless each row has one of the classes."""
        return encode_labels(y, self.classes, n_rows)


def class_index(target: object, classes: NDArray[Any]) -> int:
    """Return the index of a class, by default of the second of two."""
    labels = classes.tolist()
    if target is None and len(labels) > 2:
        raise ValueError(f"target must be one of the classes {labels}.")
    if target is not None and target not in labels:
        raise ValueError(f"target must be one of the classes {labels}; got {target!r}.")
    return 1 if target is None else int(labels.index(target))


def encode_labels(y: ArrayLike, classes: NDArray[Any], n_rows: int) -> NDArray[np.intp]:
    """Return labels as indices of sorted classes; raise unless each row has one of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from softpolytope.model import encode_labels
    >>> encode_labels(["no", "yes", "no"], np.array(["no", "yes"]), 3).tolist()
    [0, 1, 0]
    """
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y must hold one label for each of the {n_rows} rows of X; got shape {labels.shape}.")
    is_known = np.isin(labels, classes)
    if not is_known.all():
        row = int(np.argmin(is_known))
        raise ValueError(
            f"y holds {labels.tolist()[row]!r} at row {row}, which is not one of the classes {classes.tolist()}. Leave "
            "such rows out, or give labels of the type the model was fitted with."
        )
    return np.asarray(np.searchsorted(classes, labels))


class FittedClassifier(Protocol):
    """Interface of a fitted classifier of this package for the rooms below `estimators`."""

    @property
    def model_(self) -> FittedModel:
        """The fitted model."""
        ...

    def predict_proba(self, X: Any) -> FloatArray:  # rows of any type that the classifier takes
        """Return the probabilities of the classes."""
        ...

    def predict(self, X: Any) -> NDArray[Any]:  # likewise
        """Return the most probable classes."""
        ...


def fitted_model(estimator: object, purpose: str) -> FittedModel:
    """Return the fitted model of a classifier of this package; `purpose` names the caller in the error."""
    if not hasattr(type(estimator), "model_"):
        raise ValueError(
            f"{purpose} needs a classifier of softpolytope; got {type(estimator).__name__}. For a pipeline, pass its "
            "last step, and rows transformed by the steps before it; for a TableClassifier, pass its "
            "named_classifier(), and rows encoded by encode()."
        )
    check_is_fitted(estimator)
    found: FittedModel = estimator.model_  # type: ignore[attr-defined]  # the class has it
    return found
