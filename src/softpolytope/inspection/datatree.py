"""The posterior as an xarray DataTree, which ArviZ opens."""

from typing import Any

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.model.posterior import Draws, LabellingPosterior, Posterior

TINY = np.finfo(np.float64).tiny


def to_datatree(posterior: Posterior, X: Any = None, labels: Any = None) -> Any:
    """Groups `posterior`, `sample_stats` and, where rows and labels are given, `log_likelihood` and `observed_data`.

    Experts have no identity from one draw to the next, so no variable depends on how they are numbered:
    log-likelihood, number of experts, total weight. Every labelling (and class) is a posterior of its own, with
    variables of its own; so is the log-likelihood of the rows, which leave-one-out cross-validation needs of one
    posterior at a time.
    """
    xarray = _xarray()
    groups: dict[str, Any] = {}
    variables: dict[str, Any] = {}
    for number, regression in enumerate(posterior.regressions):
        for side, labelling in enumerate(regression.labelings):
            suffix = _suffix(posterior, number, side)
            shape = (labelling.n_chains, len(labelling.draws) // labelling.n_chains)
            dims = ("chain", "draw")
            variables[f"n_experts{suffix}"] = (dims, labelling.draws.n_active.reshape(shape))
            variables[f"total_weight{suffix}"] = (dims, _total_weights(labelling.draws).reshape(shape))
            groups.setdefault("stats", {})[f"log_likelihood{suffix}"] = (
                dims,
                labelling.draws.log_likelihood.reshape(shape),
            )
    coordinates = _coordinates(posterior.regressions[0].labelings[0])
    datasets = {
        "posterior": xarray.Dataset(variables, coordinates),
        "sample_stats": xarray.Dataset(groups["stats"], coordinates),
    }
    if X is not None and labels is not None:
        labels = np.asarray(labels)
        rows = {**coordinates, "row": np.arange(len(labels))}
        datasets["log_likelihood"] = xarray.Dataset(_row_logs(posterior, X, labels), rows)
        datasets["observed_data"] = xarray.Dataset({"y": (("row",), labels)}, {"row": rows["row"]})
    return xarray.DataTree.from_dict(datasets)


def _suffix(posterior: Posterior, number: int, side: int) -> str:
    own = "" if len(posterior.regressions) == 1 else f"_class{number}"
    return own if len(posterior.regressions[number].labelings) == 1 else f"{own}_labelling{side}"


def _coordinates(labelling: LabellingPosterior) -> dict[str, Any]:
    n_draws = len(labelling.draws) // labelling.n_chains
    return {"chain": np.arange(labelling.n_chains), "draw": np.arange(n_draws)}


def _total_weights(draws: Draws) -> FloatArray:
    return np.array([draws.expert_weights[a:b].sum() for a, b in zip(draws.starts, draws.starts[1:], strict=False)])


def _row_logs(posterior: Posterior, X: Any, labels: Any) -> dict[str, Any]:
    """Log-likelihood of every row under every posterior; labels are numbers of classes."""
    found = {}
    for number, regression in enumerate(posterior.regressions):
        is_positive = labels == (1 if len(posterior.regressions) == 1 else number)
        for side, labelling in enumerate(regression.labelings):
            rates = labelling.draws.rate_function()(X)
            # The second labelling is of the opposite labels.
            logs = np.where(is_positive != bool(side), np.log(np.maximum(-np.expm1(-rates), TINY)), -rates)
            shape = (labelling.n_chains, -1, len(labels))
            found[f"y{_suffix(posterior, number, side)}"] = (("chain", "draw", "row"), logs.reshape(shape))
    return found


def _xarray() -> Any:
    try:
        import xarray  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("to_datatree needs the package xarray: pip install softpolytope[arviz].") from error
    return xarray
