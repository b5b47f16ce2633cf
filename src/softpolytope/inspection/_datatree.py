"""The posterior as ArviZ takes it: an xarray DataTree, or InferenceData where ArviZ is older than 1.0."""

import warnings
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.inspection._leave_one_out import labeling_logs, mixture_logs
from softpolytope.model import Design, Draws, FittedModel, Posterior

if TYPE_CHECKING:
    from xarray import Dataset, DataTree


def to_datatree(
    model: FittedModel, rows: Design | None = None, y: ArrayLike | None = None
) -> Any:  # a DataTree, or the InferenceData of an old ArviZ
    """Return the posterior of chains for ArviZ, and with training rows and labels their log-likelihood."""
    model.check_has_chains("to_datatree")
    if rows is None or y is None:
        return posterior_tree(model.posterior)
    return posterior_tree(model.posterior, rows, model.encode_labels(y, rows.shape[0]))


def posterior_tree(posterior: Posterior, X: Design | None = None, codes: IndexArray | None = None) -> Any:  # as above
    """Return groups `posterior`, `sample_stats` and, given rows and labels, `log_likelihood` and `observed_data`.

    Experts have no identity across draws, so all variables are independent of their order: log-likelihood, number of
    experts and total weight. Each labeling of each class has its own posterior, with its own variables. The
    log-likelihood of the rows, with labels as indices of classes, is one variable `y` over the chains of both labelings
    (see `mixture_logs`), which the coordinate `labeling` distinguishes.
    """
    xarray = _import_xarray()
    variables: dict[str, Any] = {}
    statistics: dict[str, Any] = {}
    first = posterior.regressions[0].labelings[0]
    coordinates = {"chain": np.arange(first.n_chains), "draw": np.arange(len(first.draws) // first.n_chains)}
    dims = ("chain", "draw")
    for number, regression in enumerate(posterior.regressions):
        for side, labeling in enumerate(regression.labelings):
            suffix = _suffix(posterior, number, side)
            shape = (labeling.n_chains, -1)
            variables[f"n_experts{suffix}"] = (dims, labeling.draws.n_active.reshape(shape))
            variables[f"total_weight{suffix}"] = (dims, _total_weights(labeling.draws).reshape(shape))
            # Not `log_likelihood`: without rows, ArviZ 0.x would take it for that of the rows.
            statistics[f"total_log_likelihood{suffix}"] = (dims, labeling.draws.log_likelihood.reshape(shape))
    datasets = {
        "posterior": xarray.Dataset(variables, coordinates),
        "sample_stats": xarray.Dataset(statistics, coordinates),
    }
    if X is not None and codes is not None:
        rows = {"row": np.arange(len(codes))}
        datasets["log_likelihood"] = _row_logs(posterior, X, codes).assign_coords(rows)
        datasets["observed_data"] = xarray.Dataset({"y": (("row",), codes)}, rows)
    return _convert_for_arviz(xarray.DataTree.from_dict(datasets))


def _suffix(posterior: Posterior, number: int, side: int) -> str:
    """Return the end of the variables' names, which tells class and labeling apart where there are several."""
    of_class = "" if len(posterior.regressions) == 1 else f"_class{number}"
    return of_class if len(posterior.regressions[number].labelings) == 1 else f"{of_class}_labeling{side}"


def _total_weights(draws: Draws) -> FloatArray:
    """Return the sum of the experts' weights, (draws,)."""
    return np.array([draws.expert_weights[a:b].sum() for a, b in zip(draws.starts, draws.starts[1:], strict=False)])


def _row_logs(posterior: Posterior, X: Design, codes: IndexArray) -> "Dataset":
    """Return the log-likelihood of each row by the draws of both labelings, whose chains are numbered consecutively."""
    logs = mixture_logs(labeling_logs(posterior, X, codes), codes)
    labelings = posterior.regressions[0].labelings
    sides = np.repeat(np.arange(len(labelings)), [labeling.n_chains for labeling in labelings])
    coordinates = {"chain": np.arange(len(logs)), "labeling": ("chain", sides), "draw": np.arange(logs.shape[1])}
    dataset: Dataset = _import_xarray().Dataset({"y": (("chain", "draw", "row"), logs)}, coordinates)
    return dataset


def _convert_for_arviz(tree: "DataTree") -> Any:  # as above
    """Return the tree itself or, if ArviZ older than 1.0 is installed, its groups as InferenceData."""
    try:
        is_old = int(version("arviz").split(".")[0]) < 1
    except PackageNotFoundError:
        return tree
    if not is_old:
        return tree
    with warnings.catch_warnings():
        # Importing ArviZ 0.23 announces 1.0, which does not concern the model.
        warnings.simplefilter("ignore", FutureWarning)
        import arviz  # noqa: PLC0415  # an extra
    groups: dict[str, Any] = {name: group.to_dataset() for name, group in tree.children.items()}
    return arviz.InferenceData(**groups)


def _import_xarray() -> ModuleType:
    try:
        import xarray  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("to_datatree needs the package xarray: pip install softpolytope[arviz].") from error
    return xarray
