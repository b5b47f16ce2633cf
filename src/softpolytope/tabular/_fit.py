"""Fits of tables' models: read and encode the rows, score on held-out ones, and fit the classifier."""

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike
from sklearn.base import clone

from softpolytope.estimators import SoftplusBase, SumStackSoftplusClassifier
from softpolytope.tabular._cells import join_names
from softpolytope.tabular._encoder import TableEncoder
from softpolytope.tabular._evaluation import (
    EncodedRows,
    HeldOutScores,
    fit_to_labels,
    read_test_rows,
    score_held_out,
    score_test_rows,
    use_subfolder,
)
from softpolytope.tabular._inputs import Labels, open_rows, validate_weights
from softpolytope.tabular._schema import ColumnSelection, Schema, infer_schema, read_rows
from softpolytope.tabular._table import TableSource
from softpolytope.tabular.readers import open_table

if TYPE_CHECKING:
    from softpolytope.tabular._classifier import TableClassifier


def fit(  # noqa: PLR0913  # scikit-learn reads the metadata that it routes from here
    model: "TableClassifier",
    X: TableSource | ArrayLike,
    y: ArrayLike | str | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    target: str | None = None,
    features: Sequence[str] = (),
    drop: Sequence[str] = (),
    test_size: float = 0.0,
    test: TableSource | None = None,
) -> "TableClassifier":
    """Fit to a table.

    With `warm_start=True` in the classifier, a further fit continues the last one, in memory or from a file; the
    table must then be encoded as the same columns.

    Parameters
    ----------
    X : data frame, Arrow table, dict of columns, array, path, or a result of `open_table`
        Rows of numbers, text and missing values.
    y : array-like of shape (n_rows,), or str
        Labels of two or more classes, or the name of the column of X that holds them.
    sample_weight : array-like of shape (n_rows,), optional
        Weight 2 is the same as the row given twice.
    target : str, optional
        Name of the column of labels, instead of y.
    features : sequence of str
        Columns to predict from, by default all others.
    drop : sequence of str
        Columns to leave out.
    test_size : float
        Share of the rows to hold out, stratified by class with the classifier's `random_state`. A first fit to
        the other rows is scored on them (see `held_out_`); the model is then fitted to all rows. With a
        `checkpoint`, the two fits use the subfolders "held-out" and "all".
    test : like X, with the column of labels, optional
        Rows to compute `held_out_` on instead. The model is not fitted to them.

    Returns
    -------
    TableClassifier
        The fitted model.

    Examples
    --------
    >>> from softpolytope import TableClassifier
    >>> table = {"age": [20, 30, None, 50] * 20, "buys": ["no", "no", "yes", "yes"] * 20}
    >>> sorted(TableClassifier().fit(table, "buys", test_size=0.25).held_out_)
    ['logistic regression', 'majority vote', 'softpolytope']
    """
    if target is not None and y is not None:
        raise ValueError("y and target exclude each other. Pass the labels, or the name of their column.")
    name = target if y is None else y if isinstance(y, str) else None
    labels = None if name is not None else Labels.from_array(y)
    table, is_named = open_rows(X)
    columns = (tuple(features), tuple(drop), tuple(model.categorical))
    selection = ColumnSelection(name, *columns, model.max_categories)
    schema = infer_schema(table, selection, None if labels is None else labels.target)
    codes = None if labels is None else labels.codes
    if codes is not None and len(codes) != schema.n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {schema.n_rows} rows, and y has "
            f"{len(codes)} labels."
        )
    X_encoded, codes = read_rows(table, schema, codes)
    rows = EncodedRows(X_encoded, codes, weights=validate_weights(sample_weight, schema.n_rows))
    _fit_rows(model, rows, schema, test_size, test, None)
    model._is_named = is_named
    return model


def fit_schema(
    model: "TableClassifier",
    table: TableSource,
    schema: Schema,
    *,
    test_size: float = 0.0,
    test: TableSource | None = None,
    on_evaluation: Callable[[HeldOutScores], None] | None = None,
) -> "TableClassifier":
    """Fit to a table whose schema is known.

    Parameters
    ----------
    table, test_size, test
        As in `fit`, with the column of labels in the table.
    schema : Schema
        Result of `infer_schema` for this table.
    on_evaluation : callable, optional
        Called with the held-out scores as soon as they are computed, before the fit to all rows.

    Returns
    -------
    TableClassifier
        The fitted model.
    """
    rows = EncodedRows(*read_rows(open_table(table), schema))
    _fit_rows(model, rows, schema, test_size, test, on_evaluation)
    model._is_named = True
    return model


def _fit_rows(
    model: "TableClassifier",
    rows: EncodedRows,
    schema: Schema,
    test_size: float,
    test: TableSource | None,
    on_evaluation: Callable[[HeldOutScores], None] | None,
) -> None:
    """Fit to encoded rows with missing values, and score on held-out rows."""
    if not 0.0 <= test_size < 1.0:
        raise ValueError(f"test_size must be at least 0 and below 1; got {test_size!r}.")
    if test is not None and test_size:
        raise ValueError("test_size and test exclude each other. Give one of them.")
    held_out = score_held_out(_template(model), rows, schema, test_size) if test_size else None
    if held_out is not None and on_evaluation is not None:
        on_evaluation(held_out)
    encoder = rows.impute(schema.encoder)
    classifier = _make_classifier(model, encoder)
    if test_size:
        use_subfolder(classifier, "all")
    test_rows = None if test is None else read_test_rows(open_table(test), encoder, schema.target)
    fit_to_labels(classifier, rows, schema.target.labels)
    if test_rows is not None:
        held_out = score_test_rows(classifier, rows, test_rows, schema.target.labels)
        if on_evaluation is not None:
            on_evaluation(held_out)
    model._set_fitted(encoder, schema.target, classifier, {} if held_out is None else held_out.scores)


def _template(model: "TableClassifier") -> SoftplusBase:
    template: SoftplusBase = SumStackSoftplusClassifier() if model.classifier is None else clone(model.classifier)
    if template.random_state is None:
        template.set_params(random_state=model.random_state)
    # Progress is that of the classifier.
    for name in ("_skl_callbacks", "_parent_callback_ctx"):
        if hasattr(model, name):
            setattr(template, name, getattr(model, name))
    return template


def _make_classifier(model: "TableClassifier", encoder: TableEncoder) -> SoftplusBase:
    """Return a classifier to fit: a new one, or with warm_start a copy of the fitted one."""
    template = _template(model)
    if not template.warm_start or not hasattr(model, "classifier_"):
        return template
    known, found = model.encoder_.encoded_names, encoder.encoded_names
    if known != found:
        difference = sorted(set(known) ^ set(found)) or ["the same columns in another order"]
        raise ValueError(
            f"warm_start continues the last fit, whose table had {len(known)} encoded columns, but this one has "
            f"{len(found)}; they differ in {join_names(difference)}. Fit with warm_start=False."
        )
    # A copy, so that a fit that fails leaves the model as it was.
    earlier = copy.copy(model.classifier_)
    earlier.set_params(**template.get_params(deep=False))
    return earlier
