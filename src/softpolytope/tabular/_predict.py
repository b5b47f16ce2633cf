"""Predictions and explanations of fitted tables' models: methods that encode rows and ask the classifier."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from softpolytope._typing import FloatArray
from softpolytope.geometry import Explanation, Polytopes
from softpolytope.tabular._encoder import UnknownCategories
from softpolytope.tabular._explain import NearestChange, explain_rows, named_polytopes, nearest_change
from softpolytope.tabular._inputs import open_known_rows
from softpolytope.tabular._table import Chunk, Table, TableSource

if TYPE_CHECKING:
    from softpolytope.tabular._classifier import TableClassifier

# Rows that a method takes: raw ones in any form.
Rows = TableSource | Chunk | ArrayLike


def encode(model: "TableClassifier", X: Rows) -> FloatArray:
    """Return rows as the classifier takes them, (n_rows, n_encoded)."""
    return _encode(model, X)


def _open(model: "TableClassifier", X: TableSource | ArrayLike) -> Table:
    check_is_fitted(model)
    return open_known_rows(X, model.encoder_.names, is_named=model._is_named)


def _encode(model: "TableClassifier", X: Rows) -> FloatArray:
    """Encode rows for a public method, at whose caller the warnings point."""
    if isinstance(X, Chunk):
        return model.encoder_.encode(X)
    parts = []
    table = _open(model, X)
    unknown = UnknownCategories(model.encoder_)
    for chunk in table.chunks():
        parts.append(model.encoder_.encode(chunk))
        unknown.add(chunk, parts[-1])
    for message in unknown.warnings:
        warnings.warn(message, stacklevel=3)
    return np.concatenate(parts) if parts else np.empty((0, model.encoder_.n_encoded))


def predict_proba(model: "TableClassifier", X: Rows) -> FloatArray:
    """Return the probabilities of the classes, (n_rows, n_classes)."""
    rows = _encode(model, X)
    return np.asarray(model.classifier_.predict_proba(rows))


def predict_log_proba(model: "TableClassifier", X: Rows) -> FloatArray:
    """Return the logarithms of the probabilities of the classes, (n_rows, n_classes)."""
    rows = _encode(model, X)
    return np.asarray(model.classifier_.predict_log_proba(rows))


def decision_function(model: "TableClassifier", X: Rows) -> FloatArray:
    """Return the log odds of the second class, (n_rows,).

    With more than two classes, return log probabilities, (n_rows, n_classes).
    """
    rows = _encode(model, X)
    return np.asarray(model.classifier_.decision_function(rows))


def predict(model: "TableClassifier", X: Rows) -> NDArray[Any]:
    """Return the most probable class of each row."""
    rows = _encode(model, X)
    return np.asarray(model.classifier_.predict(rows))


def predict_proba_draws(model: "TableClassifier", X: Rows) -> FloatArray:
    """Return the probability of the second class by every kept draw, or every mode, (n_draws, n_rows).

    With more than two classes, return the probabilities of all of them, (n_draws, n_rows, n_classes).
    """
    rows = _encode(model, X)
    return np.asarray(model.classifier_.predict_proba_draws(rows))


def predict_interval(model: "TableClassifier", X: Rows, level: float = 0.89) -> FloatArray:
    """Return the central posterior interval of the probability of the second class, (n_rows, 2).

    Requires a classifier whose draws or modes show the spread of the posterior, as its own `predict_interval` does.
    """
    rows = _encode(model, X)
    return np.asarray(model.classifier_.predict_interval(rows, level))


def polytopes(model: "TableClassifier", threshold: float = 0.5) -> Polytopes:
    """Return the half-spaces of every expert in terms of the raw columns; print it to read it.

    A category is a statement in square brackets, such as [city is Oslo], which is one where it holds and else zero.
    """
    check_is_fitted(model)
    return named_polytopes(model, threshold)


def explain(model: "TableClassifier", X: Rows, threshold: float = 0.5, level: float = 0.89) -> Explanation:
    """Explain the prediction for each row: which experts voted yes, with what share, and what each vote depends on.

    See `explain` of the classifiers; features have the names of the encoded columns.
    """
    rows = _encode(model, X)
    return explain_rows(model, rows, threshold, level)


def counterfactual(model: "TableClassifier", X: Rows, fixed: Sequence[str] = ()) -> list[NearestChange]:
    """Find the smallest change of each row after which the model predicts another class.

    Numbers stay within the range of the training rows, and integers if they were integers there; at most one category
    becomes another.

    Parameters
    ----------
    X : data frame, array, path or dict of columns
        Rows to change.
    fixed : sequence of str
        Raw columns that must not change.

    Returns
    -------
    list of NearestChange
        One for each row; print it to read it.

    Examples
    --------
    >>> from softpolytope import TableClassifier
    >>> table = {"age": [20, 30, None, 50] * 20, "color": ["red", "blue"] * 40}
    >>> model = TableClassifier(random_state=0).fit(table, ["no", "no", "yes", "yes"] * 20)
    >>> model.counterfactual({"age": [45], "color": ["blue"]})[0].counterfactual_class
    'no'
    """
    chunks = [X] if isinstance(X, Chunk) else _open(model, X).chunks()
    return [nearest_change(model, chunk.select([row]), fixed) for chunk in chunks for row in range(chunk.n_rows)]
