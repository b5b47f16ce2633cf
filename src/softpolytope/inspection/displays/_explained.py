"""The plane on which a row's decision can be seen, however many features there are."""

from typing import Any

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.inspection.displays._plane import Plane

# A direction whose part across the first is smaller than this share of it adds no second dimension.
MIN_ANGLE = 0.05
MAX_NAMES = 3


def explanation_plane(classifier: Any, row: Any) -> Plane:
    """The plane through a row that shows why it is decided as it is.

    One axis leads from the row straight to the nearest point that is decided otherwise; the other along the criterion
    on which the weightiest vote hangs, as far as it is at right angles to the first, or that of the next vote if it is
    not. Both are measured in standard deviations.

    Parameters
    ----------
    classifier : a fitted classifier
        Of two features or more.
    row : array-like of shape (n_features,) or (1, n_features), or a data frame of one row
        The row to look at.

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
    >>> model = SumStackSoftplusClassifier(random_state=0, n_restarts=2).fit(X, y)
    >>> plane = explanation_plane(model, X[0])
    >>> bool(model.predict(plane.rows_at([[0.0, 0.0]]))[0] == model.predict(X[:1])[0])
    True
    """
    rows = row if hasattr(row, "columns") else np.atleast_2d(np.asarray(row, dtype=np.float64))
    found = classifier.counterfactual(rows)
    if len(found.rows) != 1:
        raise ValueError(f"explanation_plane takes one row; got {len(found.rows)}.")
    scale = found.features.scale
    normals = _normals_by_share(classifier, rows) * scale
    if found.is_found[0]:
        way = found.changes[0] / scale
        first_label = f"towards {found.counterfactual_class.tolist()[0]!r}"
    else:  # nothing to go towards: up the criterion that matters most
        way, first_label = normals[0], "along the first criterion"
    first = way / np.linalg.norm(way)
    second = _across(first, [*normals, *np.eye(len(scale))])
    names = found.features.names
    return Plane(
        found.rows[0],
        first * scale,
        second * scale,
        f"{first_label}, standard deviations ({_mixture(first, names)})",
        f"across, standard deviations\n{_mixture(second, names)}",
        scale,
    )


def _normals_by_share(classifier: Any, rows: Any) -> FloatArray:
    """Normals of the criteria on which votes hang, those of the largest shares first."""
    experts = classifier.explain(rows).experts
    polytopes = list(classifier.polytopes())
    order = np.argsort(-experts["share"], kind="stable")
    place = {(item.target, item.labeling): item for item in polytopes}
    return np.array(
        [
            place[experts["target"][index], int(experts["labeling"][index])].draw.coefficients[
                experts["expert"][index] - 1, experts["criterion"][index] - 1, 1:
            ]
            for index in order
        ]
    )


def _across(first: FloatArray, candidates: list[FloatArray]) -> FloatArray:
    """The part at right angles to the first direction, of unit length, of the first candidate that has one."""
    for candidate in candidates:
        part = candidate - (candidate @ first) * first
        if np.linalg.norm(part) > MIN_ANGLE * np.linalg.norm(candidate):
            return np.asarray(part / np.linalg.norm(part))
    raise ValueError("a plane needs two features; the model has one.")


def _mixture(direction: FloatArray, names: tuple[str, ...]) -> str:
    """The features that a direction is mostly made of."""
    order = np.argsort(-np.abs(direction), kind="stable")[:MAX_NAMES]
    parts = [f"{direction[column]:+.2g} {names[column]}" for column in order if abs(direction[column]) >= 0.05]
    return ", ".join(parts) + (", ..." if len(direction) > MAX_NAMES else "")
