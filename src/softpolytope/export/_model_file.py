"""Model files: everything they hold of a fitted classifier as one record, written to and read from an archive.

Every part of a file is checked before it is used, so that a damaged or hostile file raises a `ModelFileError` and can
do nothing else. What a classifier is made of a record is the business of the rooms above.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.data import FeatureSummary
from softpolytope.exceptions import ModelFileError
from softpolytope.export._archive import read_archive, write_archive
from softpolytope.export._checks import Arrays, Header, check, get_finite, get_integer
from softpolytope.export._fingerprint import pack_rows, unpack_rows
from softpolytope.export._states import (
    FittedRegression,
    pack_law,
    pack_prior,
    pack_state,
    to_plain,
    unpack_prior,
    unpack_state,
)
from softpolytope.model import (
    Draws,
    LabelingPosterior,
    Pool,
    Prior,
    RegressionPosterior,
    TrainingRows,
)

MAX_CLASSES = 100_000
_DRAW_ARRAYS = {"coefficients": "float64", "expert_weights": "float64", "is_active": "bool", "starts": "int64",
                "log_likelihood": "float64"}  # fmt: skip
_SERIES = ("log_likelihood", "n_active", "mass")
_CLASS_KINDS = {"b": "bool", "i": "int64", "u": "uint64", "f": "float64", "U": "str", "O": "str"}
_CLASS_TYPES = {"bool": bool, "int64": int, "uint64": int, "float64": float, "str": str}


class HasClasses(Protocol):
    """A model with sorted classes."""

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The classes."""
        ...


Model = TypeVar("Model")


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """Everything that a model file holds of a fitted classifier."""

    class_name: str
    parameters: Mapping[str, object]  # of the constructor
    classes: NDArray[np.generic]
    feature_names: tuple[str, ...] | None
    inference: Literal["bootstrap", "gibbs", "map"]
    is_bootstrap: bool
    n_burn_in: int
    training_rows: TrainingRows | None  # fingerprint
    regressions: list[FittedRegression]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.regressions[0].features.mean)


def write_model(
    path: str | Path,
    header: Header,
    arrays: Arrays,
    model: HasClasses,
    unpack: Callable[[Header, Arrays], HasClasses],
) -> None:
    """Write a model file, after `unpack` has made a model with the same classes of what will be in it."""
    try:
        # By way of JSON, as the reader will have it.
        again = unpack(json.loads(json.dumps(header, allow_nan=False)), arrays)
        check(again.classes_.tolist() == model.classes_.tolist(), "a label would be another one there.")
    except (ModelFileError, ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"This model cannot be saved, because the file could not be read again: {error}") from error
    write_archive(path, header, arrays)


def read_model(path: str | Path, unpack: Callable[[Header, Arrays], Model]) -> Model:
    """Return what `unpack` makes of header and arrays of a model file; any error of it is a ModelFileError."""
    header, arrays = read_archive(path)
    try:
        return unpack(header, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError(f"{path} is damaged: {error!r}") from error


def pack_model(record: ModelRecord, *, state: bool = True, fingerprint: bool = True) -> tuple[Header, Arrays]:
    """Return header and arrays of a fitted classifier.

    `state` adds the state from which a fit can continue, `fingerprint` the hashes of the training rows. Parameters that
    are not plain data (a RandomState, a checkpoint) are left out.
    """
    # All regressions have the same rows.
    features = record.regressions[0].features
    arrays: Arrays = {
        "features": np.stack([features.mean, features.deviation, features.lower, features.upper]),
        "integer_features": features.is_integer,
    }
    regressions = [
        _pack_regression(fit, arrays, str(number), has_state=state) for number, fit in enumerate(record.regressions)
    ]
    header = {
        "class": record.class_name,
        "parameters": _pack_parameters(record.parameters),
        "classes": pack_classes(record.classes),
        "n_features": record.n_features,
        "feature_names": None if record.feature_names is None else list(record.feature_names),
        "inference": record.inference,
        "bootstrap": record.is_bootstrap,
        "first_kept": record.n_burn_in,
        "weight": float(features.weight),
        "training_rows": pack_rows(record.training_rows if fingerprint else None, arrays),
        "regressions": regressions,
    }
    return header, arrays


def unpack_model(header: Header, arrays: Arrays) -> ModelRecord:
    """Return what `pack_model` was given, all of it checked but the parameters."""
    classes, parameters = unpack_classes(header["classes"]), _unpack_parameters(header["parameters"])
    n_features, names = get_integer(header["n_features"], 1, "the number of features"), header["feature_names"]
    if names is not None:
        check(isinstance(names, list) and len(names) == n_features, "the feature names do not match.")
        check(all(isinstance(name, str) for name in names), "the feature names are not text.")
    inference, regressions = header["inference"], header["regressions"]
    check(inference in ("bootstrap", "gibbs", "map"), "the inference is unknown.")
    expected = 1 if len(classes) == 2 else len(classes)
    check(isinstance(regressions, list) and len(regressions) == expected, "regressions and classes do not match.")
    # Files of earlier versions have neither the weight of the rows nor a state, and only the parameter `bootstrap`.
    features = _unpack_features(arrays, n_features, header.get("weight", 1.0))
    fits = [_unpack_regression(arrays, str(number), plain, features) for number, plain in enumerate(regressions)]
    kinds = {fit.kind_of_state for fit in fits}
    expected_kinds = {"chains", None} if inference == "gibbs" else {"modes", "stream", None}
    check(len(kinds) == 1 and kinds <= expected_kinds, "the states of the regressions do not match.")
    bootstrap = header.get("bootstrap", inference == "map" and bool(parameters.get("bootstrap", False)))
    check(type(bootstrap) is bool, "whether the modes are bootstrapped is unknown.")
    return ModelRecord(
        class_name=header["class"],
        parameters=parameters,
        classes=classes,
        feature_names=None if names is None else tuple(names),
        inference=inference,
        is_bootstrap=bootstrap,
        n_burn_in=get_integer(header["first_kept"], 0, "the burn-in"),
        training_rows=unpack_rows(header.get("training_rows"), arrays),
        regressions=fits,
    )


# Regressions.


def _pack_regression(fit: FittedRegression, arrays: Arrays, prefix: str, *, has_state: bool) -> Header:
    labelings = fit.posterior.labelings
    no_probes = np.zeros((len(labelings[0].draws), 0))
    arrays[f"{prefix}.probes"] = no_probes if fit.probe_probabilities is None else fit.probe_probabilities
    if fit.precision_rates is not None:
        arrays[f"{prefix}.precision_rates"] = np.asarray(fit.precision_rates, dtype=np.float64)
    for side, labeling in enumerate(labelings):
        for kind, draws in (("draws", labeling.draws), ("best", labeling.best)):
            for name, dtype in _DRAW_ARRAYS.items():
                arrays[f"{prefix}.{side}.{kind}.{name}"] = np.asarray(getattr(draws, name), dtype=dtype)
        for name in _SERIES:
            arrays[f"{prefix}.{side}.{name}"] = np.asarray(getattr(labeling, name), dtype=np.float64)
    state = pack_state(fit, arrays, f"{prefix}.state") if has_state else None
    prior = pack_prior(fit.prior, arrays, prefix)
    pool = {"pool": fit.posterior.pool, "agreement": fit.posterior.agreement}
    return {"n_chains": [labeling.n_chains for labeling in labelings], "state": state, "prior": prior} | pool


def _unpack_regression(arrays: Arrays, prefix: str, plain: Header, features: FeatureSummary) -> FittedRegression:
    n_features, n_chains = len(features.mean), plain["n_chains"]
    check(isinstance(n_chains, list) and len(n_chains) in (1, 2), "a regression does not have one or two labelings.")
    for number in n_chains:
        get_integer(number, 1, "a number of chains")
    labelings = [_unpack_labeling(arrays, f"{prefix}.{side}", n, n_features) for side, n in enumerate(n_chains)]
    check(len({len(labeling.draws) for labeling in labelings}) == 1, "the labelings have different draws.")
    probes = get_finite(arrays, f"{prefix}.probes", "float64", 2)
    # Files of earlier versions have averages over both labelings, draw by draw.
    check(len(probes) / len(labelings[0].draws) in (1, len(labelings)), "the probes do not match the draws.")
    name = f"{prefix}.precision_rates"
    rates = _unpack_rates(arrays, name, len(labelings)) if name in arrays else None
    # Files of earlier versions do not say what the prior was.
    mode_rates = None if rates is None else rates.reshape(-1)
    prior = unpack_prior(plain.get("prior"), arrays, prefix, n_features + 1, mode_rates)
    pool, agreement = plain.get("pool", "linear"), plain.get("agreement")
    check(pool in get_args(Pool), "the pool of the draws is unknown.")
    is_share = agreement is None or (type(agreement) is float and 0.0 <= agreement <= 1.0)
    check(is_share, "the agreement is not a share.")
    posterior = RegressionPosterior(tuple(labelings), pool, agreement)
    fit = FittedRegression(posterior, features, None, None, rates, probes, prior=prior)
    return fit if plain.get("state") is None else unpack_state(fit, plain["state"], arrays, f"{prefix}.state")


def _unpack_rates(arrays: Arrays, name: str, n_labelings: int) -> FloatArray:
    """Return precision rates, (labelings, modes); files of earlier versions have those of one labeling."""
    is_shared = arrays[name].ndim == 1
    rates = get_finite(arrays, name, "float64", 1 if is_shared else 2)
    check(bool((rates > 0.0).all()), "a precision rate is not positive.")
    rates = np.tile(rates, (n_labelings, 1)) if is_shared else rates
    check(len(rates) == n_labelings, "the precision rates do not match the labelings.")
    return rates


def _unpack_labeling(arrays: Arrays, prefix: str, n_chains: int, n_features: int) -> LabelingPosterior:
    draws, best = (_unpack_draws(arrays, f"{prefix}.{kind}", n_features) for kind in ("draws", "best"))
    check(len(best) == 1 and len(draws) % n_chains == 0, "the draws do not match the chains.")
    check(best.coefficients.shape[1] == draws.coefficients.shape[1], "the draws have different layers.")
    series = [get_finite(arrays, f"{prefix}.{name}", "float64", 2) for name in _SERIES]
    check(len({item.shape for item in series}) == 1, "the traces do not match.")
    return LabelingPosterior(draws, best, n_chains, *series)


def _unpack_draws(arrays: Arrays, prefix: str, n_features: int) -> Draws:
    parts = {
        name: get_finite(arrays, f"{prefix}.{name}", dtype, 3 if name == "coefficients" else 1)
        for name, dtype in _DRAW_ARRAYS.items()
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


# Features, parameters and classes.


def _unpack_features(arrays: Arrays, n_features: int, weight: object) -> FeatureSummary:
    if type(weight) is not float or not 0.0 < weight < math.inf:
        raise ModelFileError("the weight of the rows is impossible.")
    parts = get_finite(arrays, "features", "float64", 2)
    check(parts.shape == (4, n_features), "the features do not match.")
    check(bool((parts[1] >= 0.0).all() and (parts[2] <= parts[3]).all()), "the features' ranges are impossible.")
    # Files of earlier versions do not say which features were integers.
    is_integer = np.zeros(n_features, dtype=bool)
    if "integer_features" in arrays:
        is_integer = get_finite(arrays, "integer_features", "bool", 1)
        check(len(is_integer) == n_features, "the features do not match.")
    mean, deviation, lower, upper = parts
    return FeatureSummary(weight, mean, deviation, lower, upper, is_integer)


def _pack_parameters(parameters: Mapping[str, object]) -> Header:
    plain: Header = {}
    for name, value in parameters.items():
        if isinstance(value, Prior):
            plain[name] = {"prior": pack_law(value)}
        elif isinstance(value, dict):
            plain[name] = {"pairs": [[to_plain(key), to_plain(item)] for key, item in value.items()]}
        elif isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating | str) or value is None:
            plain[name] = to_plain(value)
    plain.pop("checkpoint", None)
    return plain


def _unpack_parameters(plain: object) -> dict[str, object]:
    # A file must not say where a later fit writes.
    if not isinstance(plain, dict) or "checkpoint" in plain:
        raise ModelFileError("the parameters are not those of a classifier.")
    parameters: dict[str, object] = {}
    for name, value in plain.items():
        if isinstance(value, dict) and "prior" in value:
            parameters[name] = Prior(**value["prior"])
        elif isinstance(value, dict):
            parameters[name] = dict(map(tuple, value["pairs"]))
        else:
            check(value is None or isinstance(value, bool | int | float | str), "a parameter is not a plain value.")
            parameters[name] = value
    n_jobs = parameters.get("n_jobs")
    check(n_jobs is None or (type(n_jobs) is int and n_jobs != 0), "n_jobs is not a number of threads.")
    return parameters


def pack_classes(classes: NDArray[np.generic]) -> Header:
    """Return labels as a file holds them: their kind and their values."""
    kind = _CLASS_KINDS.get(classes.dtype.kind)
    if kind is None or (kind == "str" and not all(isinstance(value, str) for value in classes.tolist())):
        raise ValueError(f"classes of type {classes.dtype} cannot be saved; use numbers, booleans or text as labels.")
    return {"kind": kind, "values": classes.tolist()}


def unpack_classes(plain: Header) -> NDArray[np.generic]:
    """Return the labels that `pack_classes` was given, checked."""
    kind, values = plain["kind"], plain["values"]
    check(kind in _CLASS_TYPES and isinstance(values, list), "the classes are not readable.")
    check(2 <= len(values) <= MAX_CLASSES, f"a model has from 2 to {MAX_CLASSES} classes.")
    check(all(type(value) is _CLASS_TYPES[kind] for value in values), "the classes are not of one kind.")
    classes: NDArray[np.generic] = np.array(values, dtype=kind)
    check(kind != "float64" or bool(np.isfinite(classes).all()), "a class is not a finite number.")
    check(len(np.unique(classes)) == len(values), "two classes are the same.")
    return classes
