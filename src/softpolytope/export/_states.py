"""Fitted regressions, and in model files the state from which `warm_start` and `partial_fit` continue."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from softpolytope._typing import BoolArray, FloatArray
from softpolytope.data import ColumnTransform, FeatureSummary
from softpolytope.exceptions import ModelFileError
from softpolytope.export._chain_states import ModelSize, pack_chains, unpack_chains
from softpolytope.export._checks import Arrays, Header, check, check_starts, get_finite, get_integer, get_log_weights
from softpolytope.gibbs import SavedChains
from softpolytope.model import FittedPrior, Prior, RegressionPosterior
from softpolytope.optimize import AdamState, FoundMode, Mode, ModesResult, OnlineModes, SavedModes

# More than anyone will ever take.
MAX_STEPS = 2**53
_INTEGERS = ("max_experts", "n_layers", "n_restarts")
_FLAGS = ("fit_weight", "symmetric")


@dataclass(frozen=True, slots=True)
class FittedRegression:
    """Posterior of one class against the rest, and the state from which another fit can continue."""

    posterior: RegressionPosterior
    features: FeatureSummary
    state: SavedModes | OnlineModes | SavedChains | None  # None if the fit, or the file it was read from, kept none
    carried: Mapping[str, object] | None  # parameters that a fit which continues must share; None if a file has none
    precision_rates: FloatArray | None = None  # (labelings, modes)
    probe_probabilities: FloatArray | None = None  # (draws, probes)  P(y = 1) at a few training rows, for diagnostics
    is_complete: bool = True  # False if the fit was stopped before its end
    prior: FittedPrior | None = None  # None if a file has none

    @property
    def kind_of_state(self) -> Literal["modes", "stream", "chains"] | None:
        """The state by its name in model files."""
        if isinstance(self.state, SavedModes):
            return "modes"
        if isinstance(self.state, OnlineModes):
            return "stream"
        return None if self.state is None else "chains"


def pack_state(fit: FittedRegression, arrays: Arrays, prefix: str) -> Header | None:
    """Add the arrays of a regression's state and return its header; None if there is no state."""
    if fit.carried is None or fit.state is None:
        return None
    header: Header = {"kind": fit.kind_of_state}
    if isinstance(fit.state, SavedModes):
        header |= _pack_modes(arrays, prefix, fit.state)
    elif isinstance(fit.state, OnlineModes):
        _pack_online(arrays, prefix, fit.state)
    else:
        header |= pack_chains(arrays, prefix, fit.state)
    return header | {"model": _pack_carried(fit.carried)}


def unpack_state(fit: FittedRegression, plain: Header, arrays: Arrays, prefix: str) -> FittedRegression:
    """Return a regression with the state that `pack_state` was given, all of it checked."""
    carried = _unpack_carried(plain["model"])
    n_columns, n_labelings = len(fit.features.mean) + 1, 2 if carried["symmetric"] else 1
    size = ModelSize(carried["max_experts"], carried["n_layers"], n_columns, carried["n_restarts"], n_labelings)
    check(len(fit.posterior.labelings) == n_labelings, "the state does not match the labelings.")
    if plain["kind"] == "chains":
        return replace(fit, state=unpack_chains(arrays, prefix, plain, size), carried=carried)
    rates = np.zeros((n_labelings, 0)) if fit.precision_rates is None else fit.precision_rates
    check(rates.shape[1] == size.n_restarts, "the precision rates do not match the restarts.")
    if plain["kind"] == "stream":
        sides = [_unpack_adam(arrays, f"{prefix}.{side}", size) for side in range(n_labelings)]
        return replace(fit, state=OnlineModes(sides, rates, fit.features), carried=carried)
    check(plain["kind"] == "modes", "the state is of an unknown kind.")
    return replace(fit, state=_unpack_modes(arrays, prefix, plain, size, fit.posterior, rates), carried=carried)


def _pack_carried(carried: Mapping[str, object]) -> Header:
    prior = carried["prior"]
    plain = pack_law(prior) if isinstance(prior, Prior) else {}
    return (
        {name: carried[name] for name in _INTEGERS} | {name: bool(carried[name]) for name in _FLAGS} | {"prior": plain}
    )


def _unpack_carried(plain: object) -> Header:
    if not isinstance(plain, dict) or set(plain) != {*_INTEGERS, *_FLAGS, "prior"}:
        raise ModelFileError("the model is incomplete.")
    for name in _INTEGERS:
        get_integer(plain[name], 1, name)
    check(all(type(plain[name]) is bool for name in _FLAGS), "a choice of the model is neither true nor false.")
    return {**plain, "prior": Prior(**plain["prior"])}


# The prior.


def pack_prior(fitted: FittedPrior | None, arrays: Arrays, prefix: str) -> Header | None:
    """Add the columns of a regression's prior and return its header; None if it is not known."""
    if fitted is None:
        return None
    arrays[f"{prefix}.prior_columns"] = np.stack([fitted.center, fitted.scale])
    fields = {"max_experts": int(fitted.max_experts), "fit_weight": bool(fitted.fit_weight)}
    return {"law": pack_law(fitted.prior)} | fields


def unpack_prior(
    plain: Header | None, arrays: Arrays, prefix: str, n_columns: int, mode_rates: FloatArray | None
) -> FittedPrior | None:
    """Return what `pack_prior` was given, checked; None if a file has none."""
    if plain is None:
        return None
    columns = get_finite(arrays, f"{prefix}.prior_columns", "float64", 2)
    check(columns.shape == (2, n_columns) and bool((columns[1] > 0.0).all()), "the columns of the prior do not match.")
    max_experts, fit_weight = get_integer(plain["max_experts"], 1, "max_experts"), plain["fit_weight"]
    if type(fit_weight) is not bool:
        raise ModelFileError("whether the weights have a prior is unknown.")
    return FittedPrior(Prior(**plain["law"]), max_experts, fit_weight, columns[0], columns[1], mode_rates)


def pack_law(prior: Prior) -> Header:
    """Return the hyperparameters as plain data."""
    return {name: to_plain(value) for name, value in asdict(prior).items()}


def to_plain(value: object) -> object:
    """Return a scalar of NumPy as one of Python, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


# Modes of a search.


def _pack_modes(arrays: Arrays, prefix: str, saved: SavedModes) -> Header:
    arrays[f"{prefix}.units"] = np.stack([saved.transform.center, saved.transform.scale])
    for side, found in enumerate(saved.result.modes):
        _pack(arrays, f"{prefix}.{side}", [item.unpruned for item in found])
        arrays[f"{prefix}.{side}.is_idle"] = np.concatenate([_find_pruned(item) for item in found])
    return {"losses": [[float(rate), float(loss)] for rate, loss in saved.result.held_out_loss.items()]}


def _unpack_modes(
    arrays: Arrays,
    prefix: str,
    plain: Header,
    size: ModelSize,
    posterior: RegressionPosterior,
    rates: FloatArray,
) -> SavedModes:
    units = get_finite(arrays, f"{prefix}.units", "float64", 2)
    check(units.shape == (2, size.n_columns) and bool((units[1] > 0.0).all()), "the units do not match.")
    pairs = plain["losses"]
    is_right = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
    check(is_right and all(type(number) is float for pair in pairs for number in pair), "the losses are not readable.")
    modes = [
        _unpack_found(arrays, f"{prefix}.{side}", size, labeling.log_likelihood)
        for side, labeling in enumerate(posterior.labelings)
    ]
    result = ModesResult(modes, rates, dict(map(tuple, pairs)), is_complete=True)
    return SavedModes(result, ColumnTransform(units[0], units[1]))


def _unpack_found(arrays: Arrays, prefix: str, size: ModelSize, log_likelihood: FloatArray) -> list[FoundMode]:
    unpruned = _unpack(arrays, prefix, size)
    is_pruned = get_finite(arrays, f"{prefix}.is_idle", "bool", 1)
    check(len(is_pruned) == sum(len(mode.log_weights) for mode in unpruned), "the experts of a mode do not match.")
    check(log_likelihood.shape == (len(unpruned), 1), "the modes do not match their likelihoods.")
    ends = np.cumsum([len(mode.log_weights) for mode in unpruned])[:-1]
    return [
        FoundMode(mode.without(own), float(value[0]), mode)
        for mode, own, value in zip(unpruned, np.split(is_pruned, ends), log_likelihood, strict=True)
    ]


def _find_pruned(found: FoundMode) -> BoolArray:
    """Return whether each expert of the unpruned mode was removed; the others are in the same order."""
    is_pruned = np.ones(len(found.unpruned.log_weights), dtype=bool)
    n_kept = 0
    for number, (coefficients, weight) in enumerate(
        zip(found.unpruned.coefficients, found.unpruned.log_weights, strict=True)
    ):
        if n_kept == len(found.mode.log_weights):
            break
        if weight == found.mode.log_weights[n_kept] and np.array_equal(coefficients, found.mode.coefficients[n_kept]):
            is_pruned[number] = False
            n_kept += 1
    return is_pruned


# Modes that learn online.


def _pack_online(arrays: Arrays, prefix: str, online: OnlineModes) -> None:
    for side, states in enumerate(online.states):
        name = f"{prefix}.{side}"
        _pack(arrays, name, [state.mode for state in states])
        for part in ("mean", "square"):
            _pack(arrays, f"{name}.{part}", [_get_moment(state, part) for state in states])
        arrays[f"{name}.n_steps"] = np.array([state.n_steps for state in states], dtype=np.int64)


def _unpack_adam(arrays: Arrays, prefix: str, size: ModelSize) -> list[AdamState]:
    modes, means, squares = (_unpack(arrays, prefix + part, size) for part in ("", ".mean", ".square"))
    n_steps = get_finite(arrays, f"{prefix}.n_steps", "int64", 1)
    is_possible = (n_steps >= 0) & (n_steps <= MAX_STEPS)
    check(len(n_steps) == len(modes) and bool(is_possible.all()), "the steps do not match the modes.")
    states = []
    for mode, mean, square, number in zip(modes, means, squares, n_steps.tolist(), strict=True):
        moments = mean.position(), square.position()
        are_right = all(len(moment) == len(mode.position()) and bool(np.isfinite(moment).all()) for moment in moments)
        check(are_right and bool((moments[1] >= 0.0).all()), "the moments of the gradients do not match the modes.")
        states.append(AdamState(mode, number, *moments))
    return states


def _get_moment(state: AdamState, name: str) -> Mode:
    """Return a moment in the shape of the mode; before the first step it is zero."""
    values: FloatArray = getattr(state, name)
    return state.mode.moved(values if len(values) else np.zeros(len(state.mode.position())))


# Modes of either kind.


def _pack(arrays: Arrays, prefix: str, modes: list[Mode]) -> None:
    arrays[f"{prefix}.coefficients"] = np.concatenate([mode.coefficients for mode in modes])
    arrays[f"{prefix}.log_weights"] = np.concatenate([mode.log_weights for mode in modes])
    sizes = [len(mode.log_weights) for mode in modes]
    arrays[f"{prefix}.starts"] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _unpack(arrays: Arrays, prefix: str, size: ModelSize) -> list[Mode]:
    coefficients = get_finite(arrays, f"{prefix}.coefficients", "float64", 3)
    weights = get_log_weights(arrays, f"{prefix}.log_weights")
    shape = (len(weights), size.n_layers, size.n_columns)
    check(coefficients.shape == shape, "the hyperplanes of a mode do not match.")
    starts = get_finite(arrays, f"{prefix}.starts", "int64", 1)
    check_starts(starts, len(weights), minimum=1)
    is_right = len(starts) == size.n_restarts + 1 and bool((np.diff(starts) <= size.max_experts).all())
    check(is_right, "the modes do not match the restarts.")
    return [
        Mode(coefficients[start:stop].copy(), weights[start:stop].copy()) for start, stop in pairwise(starts.tolist())
    ]
