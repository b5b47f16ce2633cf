"""SoftplusBase of tables: an encoder and a classifier, saved as one file."""

import copy
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from softpolytope._typing import FloatArray
from softpolytope.estimators import SoftplusBase, SumStackSoftplusClassifier
from softpolytope.export import write_model
from softpolytope.tabular._cells import join_names
from softpolytope.tabular._encoder import TableEncoder, UnknownCategories
from softpolytope.tabular._evaluation import (
    EncodedRows,
    HeldOutScores,
    Scores,
    fit_to_labels,
    read_test_rows,
    score_held_out,
    score_test_rows,
    use_subfolder,
)
from softpolytope.tabular._model_file import pack_parts, unpack_parts
from softpolytope.tabular._schema import MAX_CATEGORIES, ColumnSelection, Schema, infer_schema, read_rows
from softpolytope.tabular._table import Chunk, TableSource
from softpolytope.tabular._target import Target
from softpolytope.tabular.readers import open_table


class TableClassifier:
    """SoftplusBase of tables with numeric and categorical columns and missing values.

    Missing numbers are replaced by the median of the training rows. Categories are one-hot encoded; missing is a
    category of its own if training rows had missing values. A category that training rows did not have is zero in all
    encoded columns; a column without any known category raises a warning. Integers as categories are recognized
    whether written as 2 or 2.0, and booleans whether as True, true or 1. Columns are found by name; others are ignored.

    Labels of a data frame or a Parquet file keep their type: booleans, numbers or text. Those of a text file are
    integers if all of them are, none has a leading zero and no two are the same number; else text.

    Parameters
    ----------
    classifier : softpolytope classifier, optional
        By default `SumStackSoftplusClassifier(random_state=0)`.
    categorical : sequence of str
        Columns of categories that may look like numbers.
    max_categories : int
        Columns with more categories are rejected.

    Attributes
    ----------
    encoder_ : TableEncoder
        The raw columns and their encoding.
    target_ : Target
        Name and classes of the column to predict.
    classifier_ : softpolytope classifier
        Fitted to encoded rows.
    held_out_ : dict of str to dict
        "error" and "log_loss" on held-out rows, by model: "softpolytope", "logistic regression" and "majority vote".
        Empty if no rows were held out.

    Examples
    --------
    >>> from softpolytope.tabular import TableClassifier
    >>> buys = ["no", "no", "yes", "yes"] * 20
    >>> table = {"age": [20, 30, None, 50] * 20, "color": ["red", "blue"] * 40, "buys": buys}
    >>> model = TableClassifier().fit(table, "buys")
    >>> model.feature_names_
    ('age', 'color=blue', 'color=red')
    >>> model.predict({"age": [55.0, 20.0], "color": ["green", "red"]}).tolist()
    ['yes', 'no']
    """

    encoder_: TableEncoder
    target_: Target
    classifier_: SoftplusBase
    held_out_: Scores

    def __init__(
        self,
        classifier: SoftplusBase | None = None,
        *,
        categorical: Sequence[str] = (),
        max_categories: int = MAX_CATEGORIES,
    ) -> None:
        self.classifier = classifier
        self.categorical = categorical
        self.max_categories = max_categories

    def fit(
        self,
        table: TableSource,
        target: str,
        *,
        features: Sequence[str] = (),
        drop: Sequence[str] = (),
        test_size: float = 0.0,
        test: TableSource | None = None,
    ) -> Self:
        """Fit to a table.

        With `warm_start=True` in the classifier, a further fit continues the last one, in memory or from a file; the
        table must then be encoded as the same columns.

        Parameters
        ----------
        table : path, data frame, Arrow table, dict of columns, or a result of `open_table`
            Has the target among its columns.
        target : str
            Name of the column to predict.
        features : sequence of str
            Columns to predict it from, by default all others.
        drop : sequence of str
            Columns to leave out.
        test_size : float
            Share of the rows to hold out, stratified by class with the classifier's `random_state`. A first fit to
            the other rows is scored on them (see `held_out_`); the model is then fitted to all rows. With a
            `checkpoint`, the two fits use the subfolders "held-out" and "all".
        test : like `table`, optional
            Rows to compute `held_out_` on instead. The model is not fitted to them.

        Returns
        -------
        self
            The fitted model.

        Examples
        --------
        >>> from softpolytope.tabular import TableClassifier
        >>> table = {"age": [20, 30, None, 50] * 20, "buys": ["no", "no", "yes", "yes"] * 20}
        >>> sorted(TableClassifier().fit(table, "buys", test_size=0.25).held_out_)
        ['logistic regression', 'majority vote', 'softpolytope']
        """
        source = open_table(table)
        columns = (tuple(features), tuple(drop), tuple(self.categorical))
        schema = infer_schema(source, ColumnSelection(target, *columns, self.max_categories))
        return self.fit_schema(source, schema, test_size=test_size, test=test)

    def fit_schema(
        self,
        table: TableSource,
        schema: Schema,
        *,
        test_size: float = 0.0,
        test: TableSource | None = None,
        on_evaluation: Callable[[HeldOutScores], None] | None = None,
    ) -> Self:
        """Fit to a table whose schema is known.

        Parameters
        ----------
        table, test_size, test
            As in `fit`.
        schema : Schema
            Result of `infer_schema` for this table.
        on_evaluation : callable, optional
            Called with the held-out scores as soon as they are computed, before the fit to all rows.

        Returns
        -------
        self
            The fitted model.
        """
        if not 0.0 <= test_size < 1.0:
            raise ValueError(f"test_size must be at least 0 and below 1; got {test_size!r}.")
        if test is not None and test_size:
            raise ValueError("test_size and test exclude each other. Give one of them.")
        rows = EncodedRows(*read_rows(open_table(table), schema))
        held_out = score_held_out(self._template(), rows, schema, test_size) if test_size else None
        if held_out is not None and on_evaluation is not None:
            on_evaluation(held_out)
        encoder = rows.impute(schema.encoder)
        classifier = self._make_classifier(encoder)
        if test_size:
            use_subfolder(classifier, "all")
        test_rows = None if test is None else read_test_rows(open_table(test), encoder, schema.target)
        fit_to_labels(classifier, rows, schema.target.labels)
        if test_rows is not None:
            held_out = score_test_rows(classifier, rows, test_rows, schema.target.labels)
            if on_evaluation is not None:
                on_evaluation(held_out)
        self._set_fitted(encoder, schema.target, classifier, {} if held_out is None else held_out.scores)
        return self

    def _template(self) -> SoftplusBase:
        return SumStackSoftplusClassifier(random_state=0) if self.classifier is None else self.classifier

    def _make_classifier(self, encoder: TableEncoder) -> SoftplusBase:
        """Return a classifier to fit: a new one, or with warm_start a copy of the fitted one."""
        template = self._template()
        if not template.warm_start or not hasattr(self, "classifier_"):
            new: SoftplusBase = clone(template)
            return new
        known, found = self.encoder_.encoded_names, encoder.encoded_names
        if known != found:
            difference = sorted(set(known) ^ set(found)) or ["the same columns in another order"]
            raise ValueError(
                f"warm_start continues the last fit, whose table had {len(known)} encoded columns, but this one has "
                f"{len(found)}; they differ in {join_names(difference)}. Fit with warm_start=False."
            )
        # A copy, so that a fit that fails leaves the model as it was.
        earlier = copy.copy(self.classifier_)
        earlier.set_params(**template.get_params(deep=False))
        return earlier

    @classmethod
    def from_parts(
        cls, encoder: TableEncoder, target: Target, classifier: SoftplusBase, held_out: Scores | None = None
    ) -> Self:
        """Return a model of a fitted classifier and the encoder of its rows."""
        if encoder.n_encoded != classifier.n_features_in_:
            raise ValueError(
                f"the encoder has {encoder.n_encoded} encoded columns, but the classifier was fitted to "
                f"{classifier.n_features_in_}."
            )
        if target.labels.tolist() != classifier.classes_.tolist():
            raise ValueError("the classes of the target and of the classifier differ.")
        # Rows come without names, in the encoder's order.
        unnamed = copy.copy(classifier)
        unnamed.__dict__.pop("feature_names_in_", None)
        model = cls(unnamed)
        model._set_fitted(encoder, target, unnamed, held_out or {})
        return model

    @classmethod
    def from_classifier(cls, classifier: SoftplusBase) -> Self:
        """Return a model of a classifier of numbers: its columns are the feature names, or x0, x1, ..."""
        names = getattr(classifier, "feature_names_in_", None)
        if names is None:
            names = [f"x{number}" for number in range(classifier.n_features_in_)]
        target = Target("y", tuple(classifier.classes_.tolist()))
        return cls.from_parts(TableEncoder.from_names(list(map(str, names))), target, classifier)

    def _set_fitted(self, encoder: TableEncoder, target: Target, classifier: SoftplusBase, held_out: Scores) -> None:
        self.encoder_, self.target_, self.classifier_, self.held_out_ = encoder, target, classifier, held_out

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes in order."""
        return np.asarray(self.classifier_.classes_)

    @property
    def feature_names_(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return self.encoder_.encoded_names

    @property
    def n_features_in_(self) -> int:
        """Number of encoded columns."""
        return self.encoder_.n_encoded

    def named_classifier(self) -> SoftplusBase:
        """Return the classifier with the names of the encoded columns, which its texts then use."""
        named = copy.copy(self.classifier_)
        named.feature_names_in_ = np.array(self.feature_names_, dtype=object)
        return named

    def encode(self, table: TableSource | Chunk) -> FloatArray:
        """Return rows as the classifier takes them, (n_rows, n_encoded)."""
        return self._encode(table)

    def _encode(self, table: TableSource | Chunk) -> FloatArray:
        """Encode rows for a public method, at whose caller the warnings point."""
        if isinstance(table, Chunk):
            return self.encoder_.encode(table)
        parts = []
        unknown = UnknownCategories(self.encoder_)
        for chunk in open_table(table).chunks():
            parts.append(self.encoder_.encode(chunk))
            unknown.add(chunk, parts[-1])
        for message in unknown.warnings:
            warnings.warn(message, stacklevel=3)
        return np.concatenate(parts) if parts else np.empty((0, self.n_features_in_))

    def predict_proba(self, table: TableSource | Chunk) -> FloatArray:
        """Return the probabilities of the classes, (n_rows, n_classes)."""
        return np.asarray(self.classifier_.predict_proba(self._encode(table)))

    def predict(self, table: TableSource | Chunk) -> NDArray[Any]:
        """Return the most probable class of each row."""
        return np.asarray(self.classifier_.predict(self._encode(table)))

    def save(self, path: str | Path, *, state: bool = True, fingerprint: bool = True) -> None:
        """Write a file that `softpolytope.load_model` reads; it contains no pickle.

        Parameters
        ----------
        path : str or Path
            The file to write.
        state, fingerprint : bool
            Whether to store what a warm start needs, and hashes of the training rows, as in `save` of a classifier.
        """
        parts = (self.encoder_, self.target_, self.classifier_, self.held_out_)
        document, arrays = pack_parts(*parts, state=state, fingerprint=fingerprint)
        write_model(path, document, arrays, self, unpack_table_model)


def unpack_table_model(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TableClassifier:
    """Return the model of the parts of a file, all of them checked."""
    return TableClassifier.from_parts(*unpack_parts(header, arrays))
