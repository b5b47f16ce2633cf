"""Chains in model files: the state of each chain and its trace."""

from dataclasses import dataclass

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.exceptions import ModelFileError
from softpolytope.export._checks import Arrays, Header, check, check_starts, get_finite, get_integer, get_log_weights
from softpolytope.gibbs import (
    ChainArrays,
    Draw,
    GibbsState,
    InvalidStateError,
    SavedChains,
    Trace,
    check_state,
    get_trace,
)

_STATE = ("coefficients", "precisions", "precision_rates", "log_weights")
_STEP = ("step.log_step", "step.log_average", "step.error", "step.n_updates", "step.n_squares")
_NUMBERS = ("state.mass", "state.concentration", *_STEP)
_SERIES = ("log_likelihood", "n_active", "mass", "concentration", "acceptance")
# Beyond it doubles do not hold all integers.
MAX_COUNT = 2.0**53
MAX_ROWS = 2**40


@dataclass(frozen=True, slots=True)
class ModelSize:
    """Numbers that the arrays of a state must agree with."""

    max_experts: int
    n_layers: int
    n_columns: int
    n_restarts: int
    n_labelings: int


def pack_chains(arrays: Arrays, prefix: str, chains: SavedChains) -> Header:
    """Add the arrays of the chains of a fit and return their header."""
    n_draws = []
    for number, chain in enumerate(chains.states):
        name = f"{prefix}.{number}"
        for part in _STATE:
            arrays[f"{name}.{part}"] = np.asarray(chain[f"state.{part}"], dtype=np.float64)
        arrays[f"{name}.numbers"] = np.array([float(chain[part]) for part in _NUMBERS])
        arrays[f"{name}.squares"] = chain["step.squares"]
        trace = get_trace(chain)
        arrays[f"{name}.series"] = np.array([getattr(trace, part) for part in _SERIES], dtype=np.float64)
        _pack_draws(arrays, f"{name}.draws", [*trace.draws, *([] if trace.best is None else [trace.best])], chain)
        n_draws.append(len(trace.draws))
        arrays.update({f"{name}.{part}": chain[part] for part in chain if part.startswith("counts.")})
    has_counts = "counts.blocks" in chains.states[0]
    return {"digest": chains.digest, "n_done": int(chains.n_done), "n_draws": n_draws, "has_counts": has_counts}


def unpack_chains(arrays: Arrays, prefix: str, plain: Header, size: ModelSize) -> SavedChains:
    """Return what `pack_chains` was given, checked."""
    digest, n_draws = plain["digest"], plain["n_draws"]
    check(type(digest) is str and len(digest) == 64, "the digest of the rows is not readable.")
    is_right = isinstance(n_draws, list) and len(n_draws) >= 1 and len(n_draws) % size.n_labelings == 0
    check(is_right, "the chains do not match the labelings.")
    check(type(plain["has_counts"]) is bool, "whether chains have counts is unknown.")
    states = [
        _unpack_chain(arrays, f"{prefix}.{number}", get_integer(n_kept, 0, "a number of draws"), size)
        for number, n_kept in enumerate(n_draws)
    ]
    if plain["has_counts"]:
        for number, chain in enumerate(states):
            n_experts = len(chain["state.log_weights"])
            chain.update(_unpack_counts(arrays, f"{prefix}.{number}.counts", size.n_layers + 1, n_experts))
    n_done = get_integer(plain["n_done"], 0, "the number of sweeps")
    check(n_done == min(len(chain["trace.mass"]) for chain in states), "the sweeps do not match the chains.")
    return SavedChains(states, digest, n_done)


def _unpack_chain(arrays: Arrays, name: str, n_kept: int, size: ModelSize) -> ChainArrays:
    """Return a chain as `compact_chain` does."""
    chain: ChainArrays = {f"state.{part}": arrays[f"{name}.{part}"] for part in _STATE}
    numbers = get_finite(arrays, f"{name}.numbers", "float64", 1)
    if f"{name}.squares" not in arrays:  # files of earlier versions, whose chains have no metric
        numbers, arrays = np.append(numbers, 0.0), {**arrays, f"{name}.squares": np.zeros(0)}
    check(len(numbers) == len(_NUMBERS), "the numbers of a chain are incomplete.")
    chain["step.squares"] = get_finite(arrays, f"{name}.squares", "float64", 1)
    chain.update({part: np.asarray(value) for part, value in zip(_NUMBERS, numbers.tolist(), strict=True)})
    _check_parameters(arrays, name, numbers, size)
    for part, number in zip(_NUMBERS[-2:], numbers[-2:].tolist(), strict=True):
        check(0.0 <= number <= MAX_COUNT and number == int(number), "the updates of a step are impossible.")
        chain[part] = np.asarray(int(number))
    series = get_finite(arrays, f"{name}.series", "float64", 2)
    check(len(series) == len(_SERIES), "the traces of a chain are incomplete.")
    trace = Trace(*(values.tolist() for values in series))
    trace.n_active = [int(value) for value in trace.n_active]
    draws = _unpack_draws(arrays, f"{name}.draws", trace.n_sweeps, size)
    check(n_kept <= len(draws) <= n_kept + 1, "the draws of a chain do not match.")
    trace.draws, trace.best = draws[:n_kept], draws[n_kept] if len(draws) > n_kept else None
    chain.update({f"trace.{key}": value for key, value in trace.to_arrays().items()})
    return chain


def _check_parameters(arrays: Arrays, name: str, numbers: FloatArray, size: ModelSize) -> None:
    """Raise unless the parameters are those of a state of the model."""
    coefficients, precisions = (get_finite(arrays, f"{name}.{part}", "float64", 3) for part in _STATE[:2])
    rates, weights = (
        get_finite(arrays, f"{name}.{_STATE[2]}", "float64", 2),
        get_log_weights(arrays, f"{name}.{_STATE[3]}"),
    )
    n_experts, squares = len(weights), arrays[f"{name}.squares"]
    is_whole = len(squares) == (size.n_layers * size.n_columns + 1 if numbers[-1] else 0)
    check(is_whole and bool((squares > 0.0).all()), "the metric of a chain does not match.")
    check(1 <= n_experts <= size.max_experts, "the experts of a chain do not match the model.")
    check(coefficients.shape == (n_experts, size.n_layers, size.n_columns), "the hyperplanes of a chain do not match.")
    check(precisions.shape == coefficients.shape, "the precisions do not match the hyperplanes.")
    check(rates.shape == coefficients.shape[:2], "the precision rates do not match the hyperplanes.")
    try:
        check_state(GibbsState(coefficients, precisions, rates, weights, float(numbers[0]), float(numbers[1])))
    except InvalidStateError as error:
        raise ModelFileError(f"the state of a chain is impossible: {error}.") from None


def _pack_draws(arrays: Arrays, name: str, draws: list[Draw], chain: ChainArrays) -> None:
    none = np.zeros((0, *chain["state.coefficients"].shape[1:]))
    arrays[f"{name}.coefficients"] = np.concatenate([none, *(draw.coefficients for draw in draws)])
    arrays[f"{name}.log_weights"] = np.concatenate([none[:, 0, 0], *(draw.log_weights for draw in draws)])
    arrays[f"{name}.counts"] = np.concatenate([none[:, 0, 0], *(draw.counts[-1] for draw in draws)])
    sizes = [len(draw.log_weights) for draw in draws]
    arrays[f"{name}.starts"] = np.array([0, *np.cumsum(sizes)], dtype=np.int64)
    arrays[f"{name}.sweeps"] = np.array([draw.sweep for draw in draws], dtype=np.int64)
    arrays[f"{name}.log_likelihood"] = np.array([draw.log_likelihood for draw in draws], dtype=np.float64)


def _unpack_draws(arrays: Arrays, name: str, n_sweeps: int, size: ModelSize) -> list[Draw]:
    coefficients = get_finite(arrays, f"{name}.coefficients", "float64", 3)
    weights = get_log_weights(arrays, f"{name}.log_weights")
    counts, likelihoods = (get_finite(arrays, f"{name}.{part}", "float64", 1) for part in ("counts", "log_likelihood"))
    starts, sweeps = (get_finite(arrays, f"{name}.{part}", "int64", 1) for part in ("starts", "sweeps"))
    shape = (len(weights), size.n_layers, size.n_columns)
    check(coefficients.shape == shape and len(counts) == len(weights), "the draws of a chain do not match.")
    check_starts(starts, len(weights), minimum=0)
    check(len(sweeps) == len(likelihoods) == len(starts) - 1, "the draws of a chain do not match.")
    check(bool(((sweeps >= 0) & (sweeps < n_sweeps)).all()), "a draw is of a sweep that was not made.")
    check(bool((counts >= 0.0).all()), "a count is negative.")
    return [
        Draw(sweep, value, coefficients[start:stop].copy(), weights[start:stop].copy(), counts[None, start:stop].copy())
        for sweep, value, start, stop in zip(
            sweeps.tolist(), likelihoods.tolist(), starts[:-1].tolist(), starts[1:].tolist(), strict=True
        )
    ]


def _unpack_counts(arrays: Arrays, name: str, n_levels: int, n_experts: int) -> ChainArrays:
    """Return the latent counts of the paper's scan that are not zero, and their places in (levels, rows, experts)."""
    places, starts = (get_finite(arrays, f"{name}.{part}", "int64", 1) for part in ("places", "blocks"))
    values = get_finite(arrays, f"{name}.values", "float64", 1)
    check(len(starts) >= 2 and 0 <= starts[-1] <= MAX_ROWS, "there are no counts of rows.")
    check_starts(starts, int(starts[-1]), minimum=0)
    n_of_level = int(starts[-1]) * n_experts
    are_places = (places >= 0) & (places < n_levels * n_of_level)
    check(len(places) == len(values) and bool(are_places.all()), "the counts do not match their places.")
    check(bool((places[1:] > places[:-1]).all()), "the places of counts are not in order.")
    is_whole = (values >= 1.0) & (values <= MAX_COUNT) & (values == np.floor(values))
    check(bool(is_whole.all()), "a latent count is not an integer.")
    # Corollary 15: a count is at most the one below it.
    is_above = places >= n_of_level
    below = np.searchsorted(places, places[is_above] - n_of_level)
    is_found = places[below] == places[is_above] - n_of_level
    check(bool((is_found & (values[below] >= values[is_above])).all()), "latent counts grow with the level.")
    return {"counts.places": places, "counts.values": values, "counts.blocks": starts}
