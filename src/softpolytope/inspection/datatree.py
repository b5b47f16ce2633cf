"""The posterior as an xarray DataTree, which ArviZ opens."""

from typing import Any

import numpy as np

from softpolytope._typing import FloatArray
from softpolytope.model.multiclass import combined
from softpolytope.model.posterior import Draws, LabellingPosterior, Posterior


def to_datatree(posterior: Posterior, X: Any = None, labels: Any = None) -> Any:
    """Groups `posterior`, `sample_stats` and, where rows and labels are given, `log_likelihood` and `observed_data`.

    Experts have no identity from one draw to the next, so the variables are free of labels: log-likelihood, number of
    experts, total weight. The tree is of the first regression's labelings; with rows, `log_likelihood` holds that of
    every row, which leave-one-out cross-validation needs.
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
            groups.setdefault("stats", {})[f"lp{suffix}"] = (dims, labelling.draws.log_likelihood.reshape(shape))
    coordinates = _coordinates(posterior.regressions[0].labelings[0])
    datasets = {
        "posterior": xarray.Dataset(variables, coordinates),
        "sample_stats": xarray.Dataset(groups["stats"], coordinates),
    }
    if X is not None and labels is not None:
        chances = _row_chances(posterior, X)
        n_chains = posterior.regressions[0].labelings[0].n_chains
        observed = np.take_along_axis(chances, np.asarray(labels)[None, :, None], axis=2)[:, :, 0]
        logs = np.log(np.maximum(observed, np.finfo(float).tiny)).reshape(n_chains, -1, chances.shape[1])
        rows = {**coordinates, "row": np.arange(chances.shape[1])}
        datasets["log_likelihood"] = xarray.Dataset({"y": (("chain", "draw", "row"), logs)}, rows)
        datasets["observed_data"] = xarray.Dataset({"y": (("row",), np.asarray(labels))}, {"row": rows["row"]})
    return xarray.DataTree.from_dict(datasets)


def _suffix(posterior: Posterior, number: int, side: int) -> str:
    own = "" if len(posterior.regressions) == 1 else f"_class{number}"
    return own if len(posterior.regressions[number].labelings) == 1 else f"{own}_labelling{side}"


def _coordinates(labelling: LabellingPosterior) -> dict[str, Any]:
    n_draws = len(labelling.draws) // labelling.n_chains
    return {"chain": np.arange(labelling.n_chains), "draw": np.arange(n_draws)}


def _total_weights(draws: Draws) -> FloatArray:
    return np.array([draws.expert_weights[a:b].sum() for a, b in zip(draws.starts, draws.starts[1:], strict=False)])


def _row_chances(posterior: Posterior, X: Any) -> FloatArray:
    """Probabilities of the classes, (draws, rows, classes)."""
    positive = [regression.probability_draws(X) for regression in posterior.regressions]
    if len(positive) == 1:
        return np.stack([1.0 - positive[0], positive[0]], axis=-1)
    stacked = np.stack(positive)
    return np.moveaxis(combined(stacked, 1.0 - stacked), 0, -1)


def _xarray() -> Any:
    try:
        import xarray  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("to_datatree needs the package xarray: pip install softpolytope[arviz].") from error
    return xarray
