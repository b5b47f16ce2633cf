"""SoftplusBase of tables: an encoder and a classifier, as one scikit-learn classifier and one file."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from softpolytope.estimators import CallbackSupportMixin, RandomState, SoftplusBase, SumStackSoftplusClassifier
from softpolytope.export import write_model
from softpolytope.tabular import _fit, _predict
from softpolytope.tabular._encoder import TableEncoder
from softpolytope.tabular._evaluation import (
    Scores,
)
from softpolytope.tabular._model_file import pack_parts, unpack_parts
from softpolytope.tabular._schema import MAX_CATEGORIES
from softpolytope.tabular._target import Target


class TableClassifier(
    CallbackSupportMixin,  # type: ignore[misc]  # scikit-learn is untyped
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn is untyped
    BaseEstimator,  # type: ignore[misc]  # scikit-learn is untyped
):
    """A scikit-learn classifier of tables with numeric and categorical columns and missing values.

    Missing numbers are replaced by the median of the training rows. Categories are one-hot encoded; missing is a
    category of its own if training rows had missing values. A category that training rows did not have is zero in all
    encoded columns; a column without any known category raises a warning. Integers as categories are recognized
    whether written as 2 or 2.0, and booleans whether as True, true or 1. Columns are found by name, and others are
    ignored; those of an array are found by position.

    Labels in a column of a data frame or a Parquet file keep their type: booleans, numbers or text. Those of a text
    file are integers if all of them are, none has a leading zero and no two are the same number; else text.

    Parameters
    ----------
    classifier : softpolytope classifier, optional
        By default `SumStackSoftplusClassifier()`. Its parameters are those of this classifier with the prefix
        `classifier__`, as in `set_params(classifier__n_layers=2)`.
    categorical : sequence of str
        Columns of categories that may look like numbers.
    max_categories : int
        Columns with more categories are rejected.
    random_state : int, RandomState or None
        Random state for a classifier that has none of its own.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    n_features_in_, feature_names_in_
        Number of raw columns, and their names if they have any.
    feature_names_ : tuple of str
        Names of the encoded columns.
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
    >>> from softpolytope import TableClassifier
    >>> X = {"age": [20, 30, None, 50] * 20, "color": ["red", "blue"] * 40}  # or a data frame, or an array
    >>> model = TableClassifier(random_state=0).fit(X, ["no", "no", "yes", "yes"] * 20)
    >>> model.feature_names_
    ('age', 'color=blue', 'color=red')
    >>> model.predict({"age": [55.0, 20.0], "color": ["green", "red"]}).tolist()
    ['yes', 'no']
    """

    encoder_: TableEncoder
    target_: Target
    classifier_: SoftplusBase
    held_out_: Scores
    _is_named: bool

    def __init__(
        self,
        classifier: SoftplusBase | None = None,
        *,
        categorical: Sequence[str] = (),
        max_categories: int = MAX_CATEGORIES,
        random_state: RandomState = None,
    ) -> None:
        self.classifier = classifier
        self.categorical = categorical
        self.max_categories = max_categories
        self.random_state = random_state

    fit = _fit.fit
    fit_schema = _fit.fit_schema

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
        model._is_named = True
        return model

    @classmethod
    def from_classifier(cls, classifier: SoftplusBase) -> Self:
        """Return a model of a classifier of numbers: its columns are the feature names, or x0, x1, ..."""
        names = getattr(classifier, "feature_names_in_", None)
        if names is None:
            names = [f"x{number}" for number in range(classifier.n_features_in_)]
        target = Target("y", tuple(classifier.classes_.tolist()))
        model = cls.from_parts(TableEncoder.from_names(list(map(str, names))), target, classifier)
        model._is_named = hasattr(classifier, "feature_names_in_")
        return model

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
        """Number of raw columns."""
        return len(self.encoder_.columns)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the raw columns, if they have any."""
        if not self._is_named:
            raise AttributeError("the columns that this model was fitted to have no names.")
        return np.array(self.encoder_.names, dtype=object)

    # Other methods are plain functions of another module.
    encode = _predict.encode
    predict = _predict.predict
    predict_proba = _predict.predict_proba
    predict_log_proba = _predict.predict_log_proba
    decision_function = _predict.decision_function
    predict_proba_draws = _predict.predict_proba_draws
    predict_interval = _predict.predict_interval
    polytopes = _predict.polytopes
    explain = _predict.explain
    counterfactual = _predict.counterfactual

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002  # scikit-learn's signature
        """Return the parameters; with `deep`, those of the classifier too, of the default one if none is given."""
        found: dict[str, Any] = super().get_params(deep)
        if deep and self.classifier is None:
            found |= {f"classifier__{name}": value for name, value in SumStackSoftplusClassifier().get_params().items()}
        return found

    def set_params(self, **params: object) -> Self:
        """Set parameters, those of the classifier with the prefix `classifier__`."""
        is_nested = any(name.startswith("classifier__") for name in params)
        if is_nested and params.get("classifier", self.classifier) is None:
            params["classifier"] = SumStackSoftplusClassifier()
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        # To scikit-learn, string=True also means that objects of any type are taken for categories.
        return tags

    def named_classifier(self) -> SoftplusBase:
        """Return the classifier with the names of the encoded columns, which its texts then use."""
        named = copy.copy(self.classifier_)
        named.feature_names_in_ = np.array(self.feature_names_, dtype=object)
        return named

    def save(self, path: str | Path, *, state: bool = True, fingerprint: bool = True) -> None:
        """Write a file that `softpolytope.load_model` reads; it contains no pickle.

        Parameters
        ----------
        path : str or Path
            The file to write.
        state, fingerprint : bool
            Whether to store what a warm start needs, and hashes of the training rows, as in `save` of a classifier.
        """
        check_is_fitted(self)
        parts = (self.encoder_, self.target_, self.classifier_, self.held_out_)
        document, arrays = pack_parts(*parts, state=state, fingerprint=fingerprint)
        if not self._is_named:
            document["has_names"] = False
        write_model(path, document, arrays, self, unpack_table_model)


def unpack_table_model(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TableClassifier:
    """Return the model of the parts of a file, all of them checked."""
    model = TableClassifier.from_parts(*unpack_parts(header, arrays))
    model._is_named = header.get("has_names", True) is True
    return model
