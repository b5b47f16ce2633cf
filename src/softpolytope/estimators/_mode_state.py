"""Modes in model files: where a search ended, or where the modes of batches of rows are."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.data import ColumnTransform, FeatureSummary
from softpolytope.estimators._file_checks import Arrays, check, check_starts, log_weights, typed
from softpolytope.estimators._streaming import Stream
from softpolytope.model import RegressionPosterior
from softpolytope.optimize import AdamState, FoundMode, Mode, ModesResult

# More than anyone will ever take.
MAX_STEPS = 2**53


@dataclass(frozen=True, slots=True)
class ModelSize:
    """Numbers that the arrays of a state must agree with."""

    max_experts: int
    n_layers: int
    n_columns: int
    n_restarts: int
    n_labelings: int


# The end of a search.


def pack_modes(arrays: Arrays, prefix: str, result: ModesResult, units: ColumnTransform) -> dict[str, Any]:
    """Add arrays of what `find_modes` found; the header has the rest."""
    arrays[f"{prefix}.units"] = np.stack([units.center, units.scale])
    for side, found in enumerate(result.modes):
        _pack(arrays, f"{prefix}.{side}", [item.unpruned for item in found])
        arrays[f"{prefix}.{side}.is_idle"] = np.concatenate([_is_idle(item) for item in found])
    return {"losses": [[float(rate), float(loss)] for rate, loss in result.held_out_loss.items()]}


def unpack_modes(
    arrays: Arrays, prefix: str, plain: Any, size: ModelSize, posterior: RegressionPosterior, rates: FloatArray
) -> tuple[ModesResult, ColumnTransform]:
    """Return what `pack_modes` was given, checked."""
    units = typed(arrays, f"{prefix}.units", "float64", 2)
    check(units.shape == (2, size.n_columns) and bool((units[1] > 0.0).all()), "the units do not match.")
    pairs = plain["losses"]
    is_right = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
    check(is_right and all(type(number) is float for pair in pairs for number in pair), "the losses are not readable.")
    modes = [
        _found(arrays, f"{prefix}.{side}", size, labeling.log_likelihood)
        for side, labeling in enumerate(posterior.labelings)
    ]
    return ModesResult(modes, rates, dict(map(tuple, pairs)), is_complete=True), ColumnTransform(units[0], units[1])


def _found(arrays: Arrays, prefix: str, size: ModelSize, log_likelihood: FloatArray) -> list[FoundMode]:
    wholes = _unpacked(arrays, prefix, size)
    is_idle = typed(arrays, f"{prefix}.is_idle", "bool", 1)
    check(len(is_idle) == sum(len(mode.log_weights) for mode in wholes), "idle experts do not match the others.")
    check(log_likelihood.shape == (len(wholes), 1), "the modes do not match their likelihoods.")
    ends = np.cumsum([len(mode.log_weights) for mode in wholes])[:-1]
    return [
        FoundMode(whole.without(idle), float(value[0]), whole)
        for whole, idle, value in zip(wholes, np.split(is_idle, ends), log_likelihood, strict=True)
    ]


def _is_idle(found: FoundMode) -> NDArray[np.bool_]:
    """Whether each expert of the whole mode was left out; those that stayed are in the same order."""
    is_idle = np.ones(len(found.unpruned.log_weights), dtype=bool)
    place = 0
    for number, (coefficients, weight) in enumerate(
        zip(found.unpruned.coefficients, found.unpruned.log_weights, strict=True)
    ):
        if place == len(found.mode.log_weights):
            break
        if weight == found.mode.log_weights[place] and np.array_equal(coefficients, found.mode.coefficients[place]):
            is_idle[number] = False
            place += 1
    return is_idle


# Batches.


def pack_stream(arrays: Arrays, prefix: str, stream: Stream) -> None:
    """Add arrays of modes that follow batches of rows, and of the moments of their gradients."""
    for side, followers in enumerate(stream.followers):
        name = f"{prefix}.{side}"
        _pack(arrays, name, [follower.mode for follower in followers])
        for part in ("mean", "square"):
            _pack(arrays, f"{name}.{part}", [_moment(follower, part) for follower in followers])
        arrays[f"{name}.n_steps"] = np.array([follower.n_steps for follower in followers], dtype=np.int64)


def unpack_stream(arrays: Arrays, prefix: str, size: ModelSize, features: FeatureSummary, rates: FloatArray) -> Stream:
    """Return what `pack_stream` was given, checked."""
    sides = [_followers(arrays, f"{prefix}.{side}", size) for side in range(size.n_labelings)]
    return Stream(sides, rates, features)


def _followers(arrays: Arrays, prefix: str, size: ModelSize) -> list[AdamState]:
    modes, means, squares = (_unpacked(arrays, prefix + part, size) for part in ("", ".mean", ".square"))
    n_steps = typed(arrays, f"{prefix}.n_steps", "int64", 1)
    is_possible = (n_steps >= 0) & (n_steps <= MAX_STEPS)
    check(len(n_steps) == len(modes) and bool(is_possible.all()), "the steps do not match the modes.")
    followers = []
    for mode, mean, square, number in zip(modes, means, squares, n_steps.tolist(), strict=True):
        moments = mean.position(), square.position()
        are_right = all(len(moment) == len(mode.position()) and bool(np.isfinite(moment).all()) for moment in moments)
        check(are_right and bool((moments[1] >= 0.0).all()), "the moments of the gradients do not match the modes.")
        followers.append(AdamState(mode, number, *moments))
    return followers


def _moment(follower: AdamState, name: str) -> Mode:
    """A moment in the shape of the mode; before the first step there is none, which is as good as zero."""
    values: FloatArray = getattr(follower, name)
    return follower.mode.moved(values if len(values) else np.zeros(len(follower.mode.position())))


# Modes, whatever they are for.


def _pack(arrays: Arrays, prefix: str, modes: list[Mode]) -> None:
    arrays[f"{prefix}.coefficients"] = np.concatenate([mode.coefficients for mode in modes])
    arrays[f"{prefix}.log_weights"] = np.concatenate([mode.log_weights for mode in modes])
    sizes = [len(mode.log_weights) for mode in modes]
    arrays[f"{prefix}.starts"] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _unpacked(arrays: Arrays, prefix: str, size: ModelSize) -> list[Mode]:
    coefficients = typed(arrays, f"{prefix}.coefficients", "float64", 3)
    weights = log_weights(arrays, f"{prefix}.log_weights")
    check(
        coefficients.shape == (len(weights), size.n_layers, size.n_columns), "the hyperplanes of a mode do not match."
    )
    starts = typed(arrays, f"{prefix}.starts", "int64", 1)
    check_starts(starts, len(weights), least=1)
    is_right = len(starts) == size.n_restarts + 1 and bool((np.diff(starts) <= size.max_experts).all())
    check(is_right, "the modes do not match the restarts.")
    return [
        Mode(coefficients[start:stop].copy(), weights[start:stop].copy()) for start, stop in pairwise(starts.tolist())
    ]
