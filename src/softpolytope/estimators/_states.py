"""The state of a fit in model files: what `warm_start` and `partial_fit` need to go on as if nothing had been saved."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from softpolytope.estimators._chain_state import pack_chains, unpack_chains
from softpolytope.estimators._file_checks import Arrays, check, integer
from softpolytope.estimators._fitting import FittedRegression
from softpolytope.estimators._mode_state import ModelSize, pack_modes, pack_stream, unpack_modes, unpack_stream
from softpolytope.estimators._streaming import online_modes
from softpolytope.model import Prior

_INTEGERS = ("max_experts", "n_layers", "n_restarts")
_FLAGS = ("fit_weight", "symmetric")


def packed_state(fit: FittedRegression, arrays: Arrays, prefix: str) -> dict[str, Any] | None:
    """Add the arrays of a regression's state, and return what the header has of it; None if there is no state."""
    header: dict[str, Any]
    if fit.modes is not None and fit.units is not None:
        header = {"kind": "modes", **pack_modes(arrays, prefix, fit.modes, fit.units)}
    elif fit.stream is not None:
        pack_stream(arrays, prefix, fit.stream)
        header = {"kind": "stream"}
    elif fit.chains is not None and fit.chains.states is not None:
        header = {"kind": "chains", **pack_chains(arrays, prefix, fit.chains.states, fit.chains)}
    else:
        return None
    return header | {"model": _plain_model(fit.model)}


def with_state(fit: FittedRegression, plain: Any, arrays: Arrays, prefix: str, inference: str) -> FittedRegression:
    """Return a regression with the state that `packed_state` was given, all of it checked."""
    model = _checked_model(plain["model"])
    n_columns, n_labelings = len(fit.features.mean) + 1, 2 if model["symmetric"] else 1
    size = ModelSize(model["max_experts"], model["n_layers"], n_columns, model["n_restarts"], n_labelings)
    check(len(fit.posterior.labelings) == size.n_labelings, "the state does not match the labelings.")
    kind = plain["kind"]
    check((kind in ("modes", "stream")) == (inference == "map"), "the state does not match the inference.")
    if kind == "chains":
        return replace(fit, chains=unpack_chains(arrays, prefix, plain, size), model=model)
    rates = np.zeros(0) if fit.precision_rates is None else fit.precision_rates
    check(len(rates) == size.n_restarts, "the precision rates do not match the restarts.")
    if kind == "stream":
        return replace(fit, stream=unpack_stream(arrays, prefix, size, fit.features, rates), model=model)
    check(kind == "modes", "the state is of an unknown kind.")
    modes, units = unpack_modes(arrays, prefix, plain, size, fit.posterior, rates)
    return replace(fit, modes=modes, units=units, stream=online_modes(modes, units, fit.features), model=model)


def _plain_model(model: dict[str, object]) -> dict[str, Any]:
    """What a fit that goes on must share with this one, as plain data."""
    prior = model["prior"]
    fields = asdict(prior) if isinstance(prior, Prior) else {}
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in fields.items()}
    return {name: model[name] for name in _INTEGERS} | {name: bool(model[name]) for name in _FLAGS} | {"prior": plain}


def _checked_model(plain: Any) -> dict[str, Any]:
    check(isinstance(plain, dict) and set(plain) == {*_INTEGERS, *_FLAGS, "prior"}, "the model is incomplete.")
    for name in _INTEGERS:
        integer(plain[name], 1, name)
    check(all(type(plain[name]) is bool for name in _FLAGS), "a choice of the model is neither true nor false.")
    return {**plain, "prior": Prior(**plain["prior"])}
