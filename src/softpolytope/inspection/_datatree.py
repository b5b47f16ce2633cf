"""The posterior as ArviZ takes it: an xarray DataTree, or InferenceData where ArviZ is older than 1.0."""

import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softpolytope._typing import FloatArray
from softpolytope.inspection._leave_one_out import labeling_logs, mixture_logs
from softpolytope.model import Design, Draws, FittedModel, LabelingPosterior, Posterior


def to_datatree(model: FittedModel, rows: Design | None = None, y: ArrayLike | None = None) -> Any:
    """Return the posterior of chains for ArviZ, and with training rows and labels their log-likelihood."""
    model.check_has_chains("to_datatree")
    if rows is None or y is None:
        return posterior_tree(model.posterior)
    return posterior_tree(model.posterior, rows, model.encode_labels(y, rows.shape[0]))


def posterior_tree(posterior: Posterior, X: Design | None = None, codes: NDArray[np.intp] | None = None) -> Any:
    """Return groups `posterior`, `sample_stats` and, given rows and labels, `log_likelihood` and `observed_data`.

    Experts have no identity from one draw to the next, so no variable depends on how they are numbered:
    log-likelihood, number of experts, total weight. Every labeling (and class) is a posterior of its own, with
    variables of its own. The log-likelihood of the rows, whose labels are numbers of classes, is one variable `y` with
    the chains of both labelings (`leave_one_out.mixture_logs`); the coordinate `labeling` tells which is which.
    """
    xarray = _xarray()
    variables: dict[str, Any] = {}
    statistics: dict[str, Any] = {}
    for number, regression in enumerate(posterior.regressions):
        for side, labeling in enumerate(regression.labelings):
            suffix = _suffix(posterior, number, side)
            shape = (labeling.n_chains, len(labeling.draws) // labeling.n_chains)
            dims = ("chain", "draw")
            variables[f"n_experts{suffix}"] = (dims, labeling.draws.n_active.reshape(shape))
            variables[f"total_weight{suffix}"] = (dims, _total_weights(labeling.draws).reshape(shape))
            # Not `log_likelihood`: ArviZ 0.x would take it for that of the rows where no rows were given.
            statistics[f"total_log_likelihood{suffix}"] = (dims, labeling.draws.log_likelihood.reshape(shape))
    coordinates = _coordinates(posterior.regressions[0].labelings[0])
    datasets = {
        "posterior": xarray.Dataset(variables, coordinates),
        "sample_stats": xarray.Dataset(statistics, coordinates),
    }
    if X is not None and codes is not None:
        rows = {"row": np.arange(len(codes))}
        datasets["log_likelihood"] = _row_logs(posterior, X, codes).assign_coords(rows)
        datasets["observed_data"] = xarray.Dataset({"y": (("row",), codes)}, rows)
    return _of_installed_arviz(xarray.DataTree.from_dict(datasets))


def _suffix(posterior: Posterior, number: int, side: int) -> str:
    own = "" if len(posterior.regressions) == 1 else f"_class{number}"
    return own if len(posterior.regressions[number].labelings) == 1 else f"{own}_labeling{side}"


def _coordinates(labeling: LabelingPosterior) -> dict[str, Any]:
    n_draws = len(labeling.draws) // labeling.n_chains
    return {"chain": np.arange(labeling.n_chains), "draw": np.arange(n_draws)}


def _total_weights(draws: Draws) -> FloatArray:
    return np.array([draws.expert_weights[a:b].sum() for a, b in zip(draws.starts, draws.starts[1:], strict=False)])


def _row_logs(posterior: Posterior, X: Any, codes: NDArray[np.intp]) -> Any:
    """Log-likelihood of every row by the draws of both labelings, whose chains have different numbers."""
    logs = mixture_logs(labeling_logs(posterior, X, codes), codes)
    labelings = posterior.regressions[0].labelings
    sides = np.repeat(np.arange(len(labelings)), [labeling.n_chains for labeling in labelings])
    coordinates = {"chain": np.arange(len(logs)), "labeling": ("chain", sides), "draw": np.arange(logs.shape[1])}
    return _xarray().Dataset({"y": (("chain", "draw", "row"), logs)}, coordinates)


def _of_installed_arviz(tree: Any) -> Any:
    """Return the tree itself or, where ArviZ older than 1.0 is installed, its groups as InferenceData."""
    try:
        is_old = int(version("arviz").split(".")[0]) < 1
    except PackageNotFoundError:
        return tree
    if not is_old:
        return tree
    with warnings.catch_warnings():
        # Importing ArviZ 0.23 announces 1.0, which is not about the model.
        warnings.simplefilter("ignore", FutureWarning)
        import arviz  # noqa: PLC0415  # an extra
    return arviz.InferenceData(**{name: group.to_dataset() for name, group in tree.children.items()})


def _xarray() -> Any:
    try:
        import xarray  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("to_datatree needs the package xarray: pip install softpolytope[arviz].") from error
    return xarray
