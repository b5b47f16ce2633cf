"""The plane on which a row's prediction can be seen, however many features there are."""

import numpy as np
from numpy.typing import ArrayLike

from softpolytope._typing import FloatArray
from softpolytope.data import validate_rows
from softpolytope.geometry import Constraints, explain_rows, find_counterfactuals, model_polytopes
from softpolytope.inspection.displays._plane import Plane
from softpolytope.model import Design, FittedClassifier, FittedModel, fitted_model

# A candidate for the second direction is skipped if its part orthogonal to the first is a smaller fraction of it.
MIN_ORTHOGONAL = 0.05
# Features named in the label of an axis, and the smallest coefficient of one.
MAX_NAMES, MIN_COEFFICIENT = 3, 0.05


def explanation_plane(classifier: FittedClassifier, row: ArrayLike) -> Plane:
    """Return the plane through a row that shows why its class is predicted.

    One axis leads from the row straight to the nearest point with a different prediction. The other one follows the
    normal of the criterion on which the vote of the largest share depends, as far as it is orthogonal to the first; if
    it is not, that of the next vote. Both are measured in standard deviations.

    Parameters
    ----------
    classifier : classifier
        Fitted classifier of this package with two features or more.
    row : array-like of shape (n_features,) or (1, n_features), or data frame of one row
        The row to explain.

    Returns
    -------
    Plane
        For `DecisionDisplay.from_estimator(..., view=plane)`; the row is at (0, 0).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softpolytope import SumStackSoftplusClassifier
    >>> from softpolytope.inspection.displays import explanation_plane
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = SumStackSoftplusClassifier(random_state=0).fit(X, y)
    >>> plane = explanation_plane(model, X[0])
    >>> bool(model.predict(plane.rows_at([[0.0, 0.0]]))[0] == model.predict(X[:1])[0])
    True
    """
    model = fitted_model(classifier, "explanation_plane")
    rows = validate_rows(classifier, row if hasattr(row, "columns") else np.atleast_2d(np.asarray(row, np.float64)))
    found = find_counterfactuals(model, rows, None, Constraints())
    if len(found) != 1:
        raise ValueError(f"explanation_plane takes one row; got {len(found)}.")
    scale, names = found.features.scale, found.features.names
    normals = _normals_by_share(model, rows) * scale
    if found.is_found[0]:
        direction = found.changes[0] / scale
        label = f"towards {found.counterfactual_class.tolist()[0]!r}"
    else:  # no point to go towards
        direction, label = normals[0], "along the first criterion"
    first = direction / np.linalg.norm(direction)
    second = _orthogonal_part([*normals, *np.eye(len(scale))], first)
    return Plane(
        found.rows[0],
        first * scale,
        second * scale,
        f"{label}, standard deviations ({_describe(first, names)})",
        f"across, standard deviations\n{_describe(second, names)}",
        scale,
    )


def _normals_by_share(model: FittedModel, rows: Design) -> FloatArray:
    """Return the normals of the criteria on which the votes depend, in order of decreasing share."""
    experts = explain_rows(model, rows).experts
    polytopes = {(item.target, item.labeling): item for item in model_polytopes(model)}
    normals = []
    for vote in np.argsort(-experts["share"], kind="stable"):
        labeling = polytopes[experts["target"][vote], int(experts["labeling"][vote])]
        normals.append(labeling.draw.coefficients[experts["expert"][vote] - 1, experts["criterion"][vote] - 1, 1:])
    return np.array(normals)


def _orthogonal_part(candidates: list[FloatArray], direction: FloatArray) -> FloatArray:
    """Return the part, of unit length, orthogonal to a direction of the first candidate that is not parallel to it."""
    for candidate in candidates:
        part = candidate - (candidate @ direction) * direction
        if np.linalg.norm(part) > MIN_ORTHOGONAL * np.linalg.norm(candidate):
            return np.asarray(part / np.linalg.norm(part))
    raise ValueError("a plane needs two features; the model has one.")


def _describe(direction: FloatArray, names: tuple[str, ...]) -> str:
    """Return the largest terms of a direction as text."""
    order = np.argsort(-np.abs(direction), kind="stable")[:MAX_NAMES]
    terms = [f"{direction[item]:+.2g} {names[item]}" for item in order if abs(direction[item]) >= MIN_COEFFICIENT]
    return ", ".join(terms) + (", ..." if len(direction) > MAX_NAMES else "")
