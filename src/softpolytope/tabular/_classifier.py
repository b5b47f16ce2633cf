"""A classifier of raw rows: what encodes them and what classifies them, saved as one file."""

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from softpolytope._typing import FloatArray
from softpolytope.estimators import (
    CLASSIFIERS,
    SoftplusBase,
    SumStackSoftplusClassifier,
    classifier_record,
    make_classifier,
)
from softpolytope.exceptions import ModelFileError, TableError
from softpolytope.export import pack_classes, pack_model, read_model, unpack_classes, unpack_model, write_model
from softpolytope.tabular._encoder import TableEncoder
from softpolytope.tabular._plan import MAX_CATEGORIES, ColumnSelection, infer_schema, read_rows
from softpolytope.tabular._readers import open_table
from softpolytope.tabular._table import Chunk, listed
from softpolytope.tabular._target import Target, fit_to_labels
from softpolytope.tabular._unknown import UnknownCategories

KIND = "TableClassifier"
# Error and log-loss on held-out rows, by the name of the model.
Scores = dict[str, dict[str, float]]


class TableClassifier:
    """A classifier of tables: columns of numbers or categories, some values missing.

    Numbers that are missing become the median of the training rows. Every category is a column of zeros and ones;
    missing is a category of its own if training rows had missing values. A category that training rows did not have is
    zero in all of these columns; a column that has no other is a warning. Whole numbers as categories are recognized
    whether they are written as 2 or 2.0, and truth values whether as True, true or 1. Columns are found by name; those
    the model does not know are ignored.

    Labels of a data frame or a Parquet file stay what they are: truth values, numbers or text. Those of a text file are
    whole numbers if all of them are, none has a leading zero and no two are the same number; else text.

    Parameters
    ----------
    classifier : softpolytope classifier, optional
        By default a SumStackSoftplusClassifier.
    categorical : sequence of str
        Columns of categories though they may look like numbers.
    max_categories : int
        Columns of more categories are refused.

    Attributes
    ----------
    encoder_ : TableEncoder
        The columns.
    target_ : Target
        Name and classes of the column to predict.
    classifier_ : softpolytope classifier
        Fitted to encoded rows.
    held_out_ : dict
        Error and log-loss on held-out rows by model, if there were any.

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
    classifier_: Any
    held_out_: Scores

    def __init__(
        self, classifier: Any = None, *, categorical: Sequence[str] = (), max_categories: int = MAX_CATEGORIES
    ) -> None:
        self.classifier = classifier
        self.categorical = categorical
        self.max_categories = max_categories

    def fit(self, table: Any, target: str, *, features: Sequence[str] = (), drop: Sequence[str] = ()) -> Self:
        """Fit to a table.

        With `warm_start=True` in the classifier, another fit goes on from the last one, in memory or from a file; the
        table must then be encoded as the same columns.

        Parameters
        ----------
        table : path, data frame, Arrow table, dict of columns, or what `open_table` gave
            With the target among its columns.
        target : str
            Name of the column to predict.
        features : sequence of str
            Columns to predict it from, by default all others.
        drop : sequence of str
            Columns to leave out.

        Returns
        -------
        self
            The fitted model.
        """
        source = _opened(table)
        choice = ColumnSelection(target, tuple(features), tuple(drop), tuple(self.categorical), self.max_categories)
        plan = infer_schema(source, choice)
        rows, codes = read_rows(source, plan)
        encoder = plan.encoder.fitted(rows)
        encoder.fill(rows)
        fitted = fit_to_labels(self._begun(encoder), rows, plan.target.labels, codes)
        self._take(encoder, plan.target, fitted, {})
        return self

    def _begun(self, encoder: TableEncoder) -> Any:
        """Return a classifier to fit: a new one, or with warm_start a copy of the fitted one, which then goes on."""
        template = SumStackSoftplusClassifier(random_state=0) if self.classifier is None else self.classifier
        if not getattr(template, "warm_start", False) or not hasattr(self, "classifier_"):
            return clone(template)
        known, found = self.encoder_.encoded_names, encoder.encoded_names
        if known != found:
            others = sorted(set(known) ^ set(found)) or ["the same in another order"]
            raise ValueError(
                f"warm_start goes on from the last fit, whose table had {len(known)} encoded columns, and this one has "
                f"{len(found)}; they differ in {listed(others)}. Fit with warm_start=False."
            )
        # A copy, so that a fit that fails leaves the model as it was.
        return copy.copy(self.classifier_).set_params(**template.get_params(deep=False))

    @classmethod
    def from_parts(cls, encoder: TableEncoder, target: Target, classifier: Any, held_out: Scores | None = None) -> Self:
        """Of a fitted classifier and what encodes its rows."""
        if encoder.n_encoded != classifier.n_features_in_:
            raise ValueError(
                f"the columns are encoded as {encoder.n_encoded}, and the classifier has {classifier.n_features_in_}."
            )
        if target.labels.tolist() != classifier.classes_.tolist():
            raise ValueError("the classes of the target and of the classifier differ.")
        # Rows come without names, in the encoder's order.
        plain = copy.copy(classifier)
        plain.__dict__.pop("feature_names_in_", None)
        model = cls(plain)
        model._take(encoder, target, plain, held_out or {})
        return model

    @classmethod
    def of_classifier(cls, classifier: Any) -> Self:
        """Of a classifier that was fitted to plain numbers: columns by its feature names, or x0, x1, ..."""
        names = getattr(classifier, "feature_names_in_", None)
        known = (
            [f"x{number}" for number in range(classifier.n_features_in_)] if names is None else list(map(str, names))
        )
        target = Target("y", tuple(classifier.classes_.tolist()))
        return cls.from_parts(TableEncoder.of_numbers(known), target, classifier)

    def _take(self, encoder: TableEncoder, target: Target, classifier: Any, held_out: Scores) -> None:
        self.encoder_, self.target_, self.classifier_, self.held_out_ = encoder, target, classifier, held_out

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes in order."""
        return np.asarray(self.classifier_.classes_)

    @property
    def feature_names_(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return self.encoder_.encoded_names

    @property
    def n_features_in_(self) -> int:
        """Number of encoded columns."""
        return self.encoder_.n_encoded

    def named_classifier(self) -> Any:
        """The classifier with the names of the encoded columns, which its words then use."""
        named = copy.copy(self.classifier_)
        named.feature_names_in_ = np.array(self.feature_names_, dtype=object)
        return named

    def encode(self, table: Any) -> FloatArray:
        """Rows as the classifier takes them, (n_rows, n_encoded)."""
        return self._encoded(table)

    def _encoded(self, table: Any) -> FloatArray:
        """Encode rows; what calls this is called by the user, whom warnings are for."""
        if isinstance(table, Chunk):
            return self.encoder_.encode(table)
        parts = []
        unknown = UnknownCategories(self.encoder_)
        for chunk in _opened(table).chunks():
            parts.append(self.encoder_.encode(chunk))
            unknown.add(chunk, parts[-1])
        for message in unknown.warnings:
            warnings.warn(message, stacklevel=3)
        return np.concatenate(parts) if parts else np.empty((0, self.n_features_in_))

    def predict_proba(self, table: Any) -> FloatArray:
        """Probabilities of the classes, (n_rows, n_classes)."""
        return np.asarray(self.classifier_.predict_proba(self._encoded(table)))

    def predict(self, table: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        return np.asarray(self.classifier_.predict(self._encoded(table)))

    def save(self, path: str | Path, *, state: bool = True, fingerprint: bool = True) -> None:
        """Write a file that `softpolytope.load_model` reads; no pickle inside.

        Parameters
        ----------
        path : str or Path
            The file to write.
        state, fingerprint : bool
            Whether to keep what it takes to go on with the fit, and hashes of the training rows, as in `save` of a
            classifier.
        """
        header, arrays = pack_model(classifier_record(self.classifier_), state=state, fingerprint=fingerprint)
        document = {
            "class": KIND,
            "columns": self.encoder_.to_plain(),
            "target": self.target_.name,
            "classes": pack_classes(self.target_.labels),
            "held_out": self.held_out_,
            "classifier": header,
        }
        write_model(path, document, arrays, self, _unpacked)


def _opened(table: Any) -> Any:
    return table if hasattr(table, "chunks") and hasattr(table, "name") else open_table(table)


def _unpacked(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TableClassifier:
    """A model of the parts of a file, each of them checked."""
    classifier = make_classifier(unpack_model(header["classifier"], arrays), CLASSIFIERS)
    name = header["target"]
    if type(name) is not str:
        raise ModelFileError("the target has no name.")
    # Files of earlier versions have the labels of the classifier only.
    labels = unpack_classes(header["classes"]) if "classes" in header else classifier.classes_
    target = Target(name, tuple(labels.tolist()))
    encoder = TableEncoder.from_plain(header["columns"])
    return TableClassifier.from_parts(encoder, target, classifier, _checked_scores(header["held_out"]))


def _checked_scores(plain: Any) -> Scores:
    if not isinstance(plain, Mapping) or len(plain) > 100:
        raise ModelFileError("the scores are not readable.")
    for name, scores in plain.items():
        is_right = isinstance(scores, Mapping) and set(scores) == {"error", "log_loss"} and len(name) < 200
        if not is_right or not all(type(value) is float and math.isfinite(value) for value in scores.values()):
            raise ModelFileError("the scores are not readable.")
    return {name: dict(scores) for name, scores in plain.items()}


def load_model(path: str | Path) -> Any:
    """Read a classifier, or a `TableClassifier`, written by its `save`.

    Reading runs no code from the file; what is damaged, made by a newer version or no model at all raises a
    `ModelFileError` that says so.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from softpolytope import SoftplusClassifier, load_model
    >>> X, y = [[0.0], [1.0], [2.0]] * 5, [0, 0, 1] * 5
    >>> model = SoftplusClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.softpolytope")
    ...     again = load_model(Path(folder) / "model.softpolytope")
    >>> bool((again.predict_proba([[1.5]]) == model.predict_proba([[1.5]])).all())
    True
    """

    def unpack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SoftplusBase | TableClassifier:
        if header["class"] == KIND:
            return _unpacked(header, arrays)
        return make_classifier(unpack_model(header, arrays), CLASSIFIERS)

    return read_model(path, unpack)


__all__ = ["TableClassifier", "TableError", "load_model"]
