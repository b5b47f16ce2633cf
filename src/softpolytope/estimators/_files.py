"""Fitted classifiers to and from model files."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope.data import FeatureSummary
from softpolytope.estimators._file_checks import Arrays, check, typed
from softpolytope.estimators._fitting import FittedRegression
from softpolytope.estimators._parameters import checked_settings
from softpolytope.estimators._row_file import packed_rows, rows_from
from softpolytope.estimators._states import packed_state, with_state
from softpolytope.exceptions import ModelFileError
from softpolytope.export import read_archive, write_archive
from softpolytope.model import Draws, LabelingPosterior, Posterior, Prior, RegressionPosterior, check_estimate

_DRAW_ARRAYS = {"coefficients": "float64", "expert_weights": "float64", "is_active": "bool", "starts": "int64",
                "log_likelihood": "float64"}  # fmt: skip
_SERIES = ("log_likelihood", "n_active", "mass")
_CLASS_KINDS = {"b": "bool", "i": "int64", "u": "uint64", "f": "float64", "U": "str", "O": "str"}
_CLASS_TYPES = {"bool": bool, "int64": int, "uint64": int, "float64": float, "str": str}
MAX_CLASSES = 100_000
# What else a file may hold, by the name in its header: rooms above this one say how theirs are read.
_OTHER_MODELS: dict[str, Callable[[dict[str, Any], Arrays], Any]] = {}


def register_model(name: str, unpack: Callable[[dict[str, Any], Arrays], Any]) -> None:
    """Let `load_classifier` read files of another kind of model."""
    _OTHER_MODELS[name] = unpack


def save_classifier(classifier: Any, path: str | Path, *, state: bool = True, fingerprint: bool = True) -> None:
    """Write a fitted classifier; parameters that are not plain data (a RandomState, a checkpoint) are left out."""
    header, arrays = packed_classifier(classifier, state=state, fingerprint=fingerprint)
    unpack = partial(classifier_from, known={header["class"]: type(classifier)})
    write_model(path, header, arrays, classifier.classes_, unpack)


def write_model(
    path: str | Path,
    header: dict[str, Any],
    arrays: Arrays,
    classes: NDArray[Any],
    unpack: Callable[[dict[str, Any], Arrays], Any],
) -> None:
    """Write a model file, after `unpack` has read what will be in it and found these classes."""
    try:
        # By way of JSON, as the reader will have it.
        again = unpack(json.loads(json.dumps(header, allow_nan=False)), arrays)
        check(again.classes_.tolist() == classes.tolist(), "a label would be another one there.")
    except (ModelFileError, ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"this model cannot be saved, because no one could read the file: {error}") from error
    write_archive(path, header, arrays)


def packed_classifier(
    classifier: Any, *, state: bool = True, fingerprint: bool = True
) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a fitted classifier.

    `state` adds what it takes to go on with the fit, and `fingerprint` hashes of the training rows.
    """
    check_estimate(classifier.estimate)
    arrays: Arrays = {}
    regressions = []
    # All regressions have the same rows.
    features = classifier._fits[0].features
    arrays["features"] = np.stack([features.mean, features.deviation, features.lower, features.upper])
    arrays["integer_features"] = features.is_integer
    for number, fit in enumerate(classifier._fits):
        arrays[f"{number}.probes"] = fit.probe_probabilities
        if fit.precision_rates is not None:
            arrays[f"{number}.precision_rates"] = np.asarray(fit.precision_rates, dtype=np.float64)
        for side, labeling in enumerate(fit.posterior.labelings):
            _pack_labeling(arrays, f"{number}.{side}", labeling)
        kept = packed_state(fit, arrays, f"{number}.state") if state else None
        n_chains = [labeling.n_chains for labeling in fit.posterior.labelings]
        regressions.append({"n_chains": n_chains, "state": kept})
    names = getattr(classifier, "feature_names_in_", None)
    header = {
        "class": type(classifier).__name__,
        "parameters": _plain_parameters(classifier.get_params(deep=False)),
        "classes": plain_classes(classifier.classes_),
        "n_features": int(classifier.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "inference": classifier.inference_,
        "bootstrap": bool(classifier.bootstrap_),
        "first_kept": int(classifier._first_kept),
        "weight": float(features.weight),
        "training_rows": packed_rows(getattr(classifier, "_training_rows", None) if fingerprint else None, arrays),
        "regressions": regressions,
    }
    return header, arrays


def load_classifier(path: str | Path, known: Mapping[str, type]) -> Any:
    """Read a classifier of one of the known classes, or a registered model."""
    header, arrays = read_archive(path)
    try:
        unpack = _OTHER_MODELS.get(header["class"])
        return classifier_from(header, arrays, known) if unpack is None else unpack(header, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError(f"{path} is damaged: {error!r}") from error


def classifier_from(header: dict[str, Any], arrays: Arrays, known: Mapping[str, type]) -> Any:
    """A classifier of what `packed_classifier` gave, all of it checked."""
    if header["class"] not in known:
        raise ModelFileError(f"the model is a {header['class']!r}, which this softpolytope does not know.")
    classifier = known[header["class"]]()
    classifier.set_params(**_checked_parameters(header["parameters"], classifier.get_params(deep=False)))
    checked_settings(classifier)
    classifier.classes_ = classes_from(header["classes"])
    n_features = header["n_features"]
    check(type(n_features) is int and n_features >= 1, "the number of features is impossible.")
    classifier.n_features_in_ = n_features
    names = header["feature_names"]
    if names is not None:
        check(isinstance(names, list) and len(names) == n_features, "the feature names do not match.")
        check(all(isinstance(name, str) for name in names), "the feature names are not text.")
        classifier.feature_names_in_ = np.array(names, dtype=object)
    regressions = header["regressions"]
    n_classes = len(classifier.classes_)
    expected = 1 if n_classes == 2 else n_classes
    check(isinstance(regressions, list) and len(regressions) == expected, "regressions and classes do not match.")
    inference = header["inference"]
    check(inference in ("gibbs", "map"), "the inference is unknown.")
    # Files of earlier versions have neither the weight of the rows nor a state.
    features = _unpack_features(arrays, n_features, header.get("weight", 1.0))
    classifier._fits = [
        _unpack_regression(arrays, str(number), item, features, inference) for number, item in enumerate(regressions)
    ]
    check(len({fit.kind_of_state for fit in classifier._fits}) == 1, "the states of the regressions do not match.")
    classifier.posterior_ = Posterior(tuple(fit.posterior for fit in classifier._fits))
    classifier.inference_ = inference
    # Files of before have the parameter only.
    bootstrap = header.get("bootstrap", inference == "map" and bool(classifier.bootstrap))
    check(type(bootstrap) is bool, "whether the modes are bootstrapped is not known.")
    classifier.bootstrap_ = bootstrap
    classifier._training_rows = rows_from(header.get("training_rows"), arrays)
    first = header["first_kept"]
    check(type(first) is int and first >= 0, "the burn-in is impossible.")
    classifier._first_kept = first
    return classifier


def _pack_labeling(arrays: Arrays, prefix: str, labeling: LabelingPosterior) -> None:
    for kind in ("draws", "best"):
        draws = getattr(labeling, kind)
        for name, dtype in _DRAW_ARRAYS.items():
            arrays[f"{prefix}.{kind}.{name}"] = np.asarray(getattr(draws, name), dtype=dtype)
    for name in _SERIES:
        arrays[f"{prefix}.{name}"] = np.asarray(getattr(labeling, name), dtype=np.float64)


def _unpack_features(arrays: Arrays, n_features: int, weight: Any) -> FeatureSummary:
    check(type(weight) is float and 0.0 < weight < math.inf, "the weight of the rows is impossible.")
    parts = typed(arrays, "features", "float64", 2)
    check(parts.shape == (4, n_features), "the features do not match.")
    check(bool((parts[1] >= 0.0).all() and (parts[2] <= parts[3]).all()), "the features' ranges are impossible.")
    # Files of before do not say which features were integers.
    is_integer = np.zeros(n_features, dtype=bool)
    if "integer_features" in arrays:
        is_integer = typed(arrays, "integer_features", "bool", 1)
        check(len(is_integer) == n_features, "the features do not match.")
    mean, deviation, lower, upper = parts
    return FeatureSummary(weight, mean, deviation, lower, upper, is_integer)


def _unpack_regression(
    arrays: Arrays, prefix: str, plain: Any, features: FeatureSummary, inference: str
) -> FittedRegression:
    n_features, n_chains = len(features.mean), plain["n_chains"]
    check(isinstance(n_chains, list) and len(n_chains) in (1, 2), "a regression has one or two labelings.")
    check(all(type(n) is int and n >= 1 for n in n_chains), "a labeling has at least one chain.")
    labelings = [_unpack_labeling(arrays, f"{prefix}.{side}", n, n_features) for side, n in enumerate(n_chains)]
    check(len({len(labeling.draws) for labeling in labelings}) == 1, "the labelings have different draws.")
    probes = typed(arrays, f"{prefix}.probes", "float64", 2)
    check(len(probes) == len(labelings[0].draws), "the probes do not match the draws.")
    name = f"{prefix}.precision_rates"
    rates = typed(arrays, name, "float64", 1) if name in arrays else None
    check(rates is None or bool((rates > 0.0).all()), "a precision rate is not positive.")
    posterior = RegressionPosterior(tuple(labelings))
    fit = FittedRegression(posterior, None, None, None, None, {}, True, probes, features, rates)  # noqa: FBT003
    state = plain.get("state")
    return fit if state is None else with_state(fit, state, arrays, f"{prefix}.state", inference)


def _unpack_labeling(arrays: Arrays, prefix: str, n_chains: int, n_features: int) -> LabelingPosterior:
    draws, best = (_unpack_draws(arrays, f"{prefix}.{kind}", n_features) for kind in ("draws", "best"))
    check(len(best) == 1 and len(draws) % n_chains == 0, "the draws do not match the chains.")
    check(best.coefficients.shape[1] == draws.coefficients.shape[1], "the draws have different layers.")
    series = [typed(arrays, f"{prefix}.{name}", "float64", 2) for name in _SERIES]
    check(len({item.shape for item in series}) == 1, "the traces do not match.")
    return LabelingPosterior(draws, best, n_chains, *series)


def _unpack_draws(arrays: Arrays, prefix: str, n_features: int) -> Draws:
    dimensions = {"coefficients": 3}
    parts = {
        name: typed(arrays, f"{prefix}.{name}", dtype, dimensions.get(name, 1)) for name, dtype in _DRAW_ARRAYS.items()
    }
    coefficients, starts, n_draws = parts["coefficients"], parts["starts"], len(parts["log_likelihood"])
    n_experts = len(coefficients)
    check(coefficients.shape[1] >= 1 and coefficients.shape[2] == n_features + 1, "the hyperplanes do not match.")
    check(len(parts["expert_weights"]) == len(parts["is_active"]) == n_experts, "weights and experts do not match.")
    check(bool((parts["expert_weights"] >= 0.0).all()), "a weight is negative.")
    check(n_draws >= 1 and len(starts) == n_draws + 1, "the draws do not match.")
    is_ordered = starts[0] == 0 and starts[-1] == n_experts and (starts[1:] >= starts[:-1]).all()
    check(bool(is_ordered), "the draws do not match.")
    parts["starts"] = starts.astype(np.intp)
    return Draws(**parts)


def _plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, Prior):
            plain[name] = {"prior": {field: _plain(item) for field, item in asdict(value).items()}}
        elif isinstance(value, dict):
            plain[name] = {"pairs": [[_plain(key), _plain(item)] for key, item in value.items()]}
        elif isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating | str) or value is None:
            plain[name] = _plain(value)
    plain.pop("checkpoint", None)
    return plain


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _checked_parameters(plain: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    # A file must not say where a later fit writes.
    allowed = set(defaults) - {"checkpoint"}
    check(isinstance(plain, dict) and set(plain) <= allowed, "the parameters are not those of the classifier.")
    parameters: dict[str, Any] = {}
    for name, value in plain.items():
        if isinstance(value, dict) and "prior" in value:
            parameters[name] = Prior(**value["prior"])
        elif isinstance(value, dict):
            parameters[name] = dict(map(tuple, value["pairs"]))
        else:
            check(value is None or isinstance(value, bool | int | float | str), "a parameter is no plain value.")
            parameters[name] = value
    n_jobs = parameters.get("n_jobs")
    check(n_jobs is None or (type(n_jobs) is int and n_jobs != 0), "n_jobs is no number of threads.")
    return parameters


def plain_classes(classes: NDArray[Any]) -> dict[str, Any]:
    """Labels as a file holds them: their kind and their values."""
    kind = _CLASS_KINDS.get(classes.dtype.kind)
    if kind is None or (kind == "str" and not all(isinstance(value, str) for value in classes.tolist())):
        raise ValueError(f"classes of type {classes.dtype} cannot be saved; use numbers, booleans or text as labels.")
    return {"kind": kind, "values": classes.tolist()}


def classes_from(plain: Any) -> NDArray[Any]:
    """Labels of what `plain_classes` gave, checked."""
    kind, values = plain["kind"], plain["values"]
    check(kind in _CLASS_TYPES and isinstance(values, list), "the classes are not readable.")
    check(2 <= len(values) <= MAX_CLASSES, "a model has at least two classes.")
    check(all(type(value) is _CLASS_TYPES[kind] for value in values), "the classes are not of one kind.")
    classes = np.array(values, dtype=kind)
    check(kind != "float64" or bool(np.isfinite(classes).all()), "a class is not a finite number.")
    check(len(np.unique(classes)) == len(values), "two classes are the same.")
    return classes
