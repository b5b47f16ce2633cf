"""Fitted classifiers in other forms: files, ONNX, SQL, Python source, a tree for ArviZ."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from softpolytope import export, inspection
from softpolytope.data import validate_rows
from softpolytope.estimators._parameters import Settings, check_parameters, make_seed
from softpolytope.exceptions import ModelFileError
from softpolytope.export import InputType, ModelRecord
from softpolytope.model import Estimate, FittedModel, Posterior, check_estimate

if TYPE_CHECKING:
    from softpolytope.estimators._base import SoftplusBase

# Keeps the random numbers of `to_datatree` apart from those of `fit`, whose seeds are (random_state, class).
TREE_STREAM = 0x54524545


def save(classifier: "SoftplusBase", path: str | Path, *, state: bool = True, fingerprint: bool = True) -> None:
    """Write the fitted model to a file that `softpolytope.load_model` reads; it contains no pickle.

    Parameters
    ----------
    path : str or Path
        The file to write.
    state : bool
        Whether to keep the state from which `warm_start` and `partial_fit` continue: a loaded model then gives the same
        bits as one that was never saved; without it, both raise an error. The state about doubles the file; after
        `partial_fit` the file is three times as large, and chains of scan="paper" add some 50 bytes per row, chain and
        labeling. Chains are kept only by a fit with `warm_start=True`.
    fingerprint : bool
        Whether to keep hashes of the training rows, by which the report recognizes them: four bytes per row, and at
        most 64 KiB. They do not reveal the rows, but someone who guesses a complete row can check whether it was among
        them.
    """
    header, arrays = export.pack_model(classifier_record(classifier), state=state, fingerprint=fingerprint)
    known = {type(classifier).__name__: type(classifier)}

    def unpack(header: export.Header, arrays: export.Arrays) -> "SoftplusBase":
        return make_classifier(export.unpack_model(header, arrays), known)

    export.write_model(path, header, arrays, classifier, unpack)


def classifier_record(classifier: "SoftplusBase") -> ModelRecord:
    """Return everything that a model file holds of a fitted classifier."""
    check_is_fitted(classifier)
    check_estimate(classifier.estimate)
    names = getattr(classifier, "feature_names_in_", None)
    return ModelRecord(
        class_name=type(classifier).__name__,
        parameters=classifier.get_params(deep=False),
        classes=classifier.classes_,
        feature_names=None if names is None else tuple(map(str, names)),
        inference=classifier.inference_,
        is_bootstrap=classifier.bootstrap_,
        n_burn_in=classifier._n_burn_in,
        training_rows=classifier._training_rows,
        regressions=classifier._fits,
    )


def make_classifier(record: ModelRecord, known: Mapping[str, type["SoftplusBase"]]) -> "SoftplusBase":
    """Return the fitted classifier of a record; raise unless it is of one of the known classes."""
    if record.class_name not in known:
        raise ModelFileError(f"the model is a {record.class_name!r}, which this version of softpolytope does not know.")
    classifier = known[record.class_name]()
    if not set(record.parameters) <= set(classifier.get_params(deep=False)):
        raise ModelFileError("the parameters are not those of the classifier.")
    classifier.set_params(**record.parameters)
    parameters = classifier.get_params(deep=False)
    check_parameters(parameters)
    # A file of an earlier version may have the deprecated parameter, which is no concern of who reads it.
    Settings.from_parameters(parameters | {"bootstrap": False})
    classifier.classes_, classifier.n_features_in_ = record.classes, record.n_features
    if record.feature_names is not None:
        classifier.feature_names_in_ = np.array(record.feature_names, dtype=object)
    classifier.inference_, classifier.bootstrap_ = record.inference, record.is_bootstrap
    classifier._fits, classifier._training_rows = record.regressions, record.training_rows
    classifier._n_burn_in = record.n_burn_in
    classifier.posterior_ = Posterior(tuple(fit.posterior for fit in record.regressions))
    return classifier


def to_datatree(classifier: "SoftplusBase", X: ArrayLike | None = None, y: ArrayLike | None = None) -> Any:
    """Return the posterior for ArviZ; needs `pip install softpolytope[arviz]`.

    The result is an `xarray.DataTree`, or `arviz.InferenceData` if a version of ArviZ before 1.0 is installed. Both
    have `to_netcdf`.

    With the training rows and their labels, there are also the groups `log_likelihood`, `posterior_predictive`,
    `prior`, `prior_predictive` and `observed_data`, for `az.loo`, `az.loo_pit`, `az.compare` and plots of predictive
    checks. Predicted labels are indices of `classes_`; an integer `random_state` gives the same ones at every call.
    The prior is that of the fit (`prior_`), with as many draws as the posterior; a model from a file of an earlier
    version has none.

    The group `log_likelihood` has one variable `y`, from which `az.loo` computes the leave-one-out predictive of the
    model that predicts: the mean over both labelings and, with more than two classes, their odds divided by the sum.
    docs/leave_one_out.md explains how. All rows are assumed to have had weight one in the fit.

    Members of a bootstrap, the default, are the draws of one chain of each labeling. They have no group
    `log_likelihood`, and `az.loo` and `az.compare` raise an error: these leave a row out by importance sampling, which
    takes draws from the posterior given all rows, while each member has weighted the rows at random. Compare such
    models by cross-validation, or fit with `inference="gibbs"`. Plain modes (`inference="map"`) raise a ValueError.
    """
    if (X is None) != (y is None):
        raise ValueError("to_datatree takes rows and labels together, or neither of them.")
    rows = None if X is None else validate_rows(classifier, X)
    rng = np.random.default_rng((make_seed(classifier.random_state), TREE_STREAM))
    return inspection.to_datatree(classifier.model_, rng, rows, y)


def to_onnx(
    classifier: "SoftplusBase",
    path: str | Path | None = None,
    input_type: InputType = "float64",
    estimate: Estimate | None = None,
) -> Any:
    """Return the model as ONNX with standard operators only; needs `pip install softpolytope[onnx]`.

    Parameters
    ----------
    path : str or Path, optional
        A file to write.
    input_type : {"float64", "float32"}
        Type of the rows and the probabilities.
    estimate : {"mean", "best"}, optional
        Draws to export, by default those of the parameter `estimate` of the classifier: all of them, or a single one
        per labeling, which is much smaller.

    Returns
    -------
    onnx.ModelProto
        The graph, with input X and outputs label and probabilities. Its `doc_string` states the number of draws and,
        for "best", the share of held-out rows that they decide as the full model does.
    """
    document = export.to_onnx(_select_estimate(classifier, estimate), input_type)
    if path is not None:
        Path(path).write_bytes(document.SerializeToString())
    return document


def to_sql(
    classifier: "SoftplusBase",
    columns: Sequence[str] | None = None,
    target: object = None,
    table: str | None = None,
    estimate: Estimate | None = None,
) -> str:
    """Return the probability of a class as one SQL expression that SQLite and DuckDB evaluate.

    Parameters
    ----------
    columns : sequence of str, optional
        Names of the columns in the table, by default the feature names.
    target : class label, optional
        The class, by default the second of two.
    table : str, optional
        Name or alias of the table. With it, a column that the table does not have is an error in every database;
        without it, SQLite takes an unknown name for a text.
    estimate : {"mean", "best"}, optional
        Draws to export, by default those of the parameter `estimate` of the classifier. With "mean" the expression
        contains every draw; "best" gives a short one, with a single draw per labeling.

    Returns
    -------
    str
        The expression. It is NULL where a column is NULL. A comment states the number of draws and, for "best", the
        share of held-out rows that they decide as the full model does.
    """
    model = _select_estimate(classifier, estimate)
    if columns is None:
        columns = model.features.names if model.has_feature_names else ()
    return export.sql_probability(model, [str(name) for name in columns], target, table)


def to_python_source(classifier: "SoftplusBase", estimate: Estimate | None = None) -> str:
    """Return a Python module without dependencies, with `predict_proba(x)` and `predict(x)` for one row.

    Parameters
    ----------
    estimate : {"mean", "best"}, optional
        Draws to export, by default those of the parameter `estimate` of the classifier: all of them, or a single one
        per labeling. A comment states their number and, for "best", the share of held-out rows that they decide as the
        full model does.
    """
    return export.python_source(_select_estimate(classifier, estimate))


def _select_estimate(classifier: "SoftplusBase", estimate: Estimate | None) -> FittedModel:
    """Return the fitted model with an estimate, by default that of the classifier."""
    if estimate is None:
        return classifier.model_
    check_estimate(estimate)
    return replace(classifier.model_, estimate=estimate)
