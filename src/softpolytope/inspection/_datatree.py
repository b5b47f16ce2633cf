"""The posterior as ArviZ takes it: an xarray DataTree, or InferenceData where ArviZ is older than 1.0."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from softpolytope._typing import FloatArray, IndexArray
from softpolytope.inspection._leave_one_out import labeling_logs, mixture_logs
from softpolytope.inspection._prior_draws import prior_posterior
from softpolytope.model import Design, FittedModel, Posterior

if TYPE_CHECKING:
    from xarray import Dataset, DataTree

_DIMS = ("chain", "draw", "row")


def to_datatree(
    model: FittedModel, rng: Generator, rows: Design | None = None, y: ArrayLike | None = None
) -> Any:  # a DataTree, or the InferenceData of an old ArviZ
    """Return the draws for ArviZ, and with training rows and labels the groups that depend on them.

    Members of a bootstrap are one chain of each labeling, without the group `log_likelihood`: importance sampling by
    the likelihood of a row takes draws from the posterior, given the rows with the weights that they have.
    """
    if not model.has_posterior_spread:
        raise ValueError(
            'to_datatree requires members of a bootstrap or chains, but this model was fitted with inference="map". '
            'Refit with inference="bootstrap" (the default) or inference="gibbs".'
        )
    posterior = _with_one_chain(model.posterior) if model.is_bootstrap else model.posterior
    if rows is None or y is None:
        return posterior_tree(posterior)
    labelings = posterior.regressions[0].labelings
    codes = model.encode_labels(y, rows.shape[0])
    groups = {"posterior_predictive": _predictive(posterior, posterior, rows, rng)}
    # A file of an earlier version does not say what the prior was.
    if model.priors:
        prior = prior_posterior(model, [len(labeling.draws) for labeling in labelings], rng)
        groups["prior"] = _total_weights(posterior, prior)
        groups["prior_predictive"] = _predictive(posterior, prior, rows, rng)
    return posterior_tree(posterior, None if model.is_bootstrap else rows, codes, groups)


def _with_one_chain(posterior: Posterior) -> Posterior:
    """Return a posterior whose draws, each a chain of its own, are one chain of each labeling."""
    return Posterior(
        tuple(
            replace(regression, labelings=tuple(replace(labeling, n_chains=1) for labeling in regression.labelings))
            for regression in posterior.regressions
        )
    )


def posterior_tree(
    posterior: Posterior,
    X: Design | None = None,
    codes: IndexArray | None = None,
    groups: "Mapping[str, Dataset] | None" = None,
) -> Any:  # as above
    """Return groups `posterior`, `sample_stats` and, given labels, `observed_data`; given rows too, `log_likelihood`.

    `groups` are added to them.

    Experts have no identity across draws, so all variables are independent of their order: log-likelihood, number of
    experts and total weight. Each labeling of each class has its own posterior, with its own variables. The
    log-likelihood of the rows, with labels as indices of classes, is one variable `y` over the chains of both labelings
    (see `mixture_logs`), which the coordinate `labeling` distinguishes.
    """
    xarray = _import_xarray()
    experts: dict[str, Any] = {}
    statistics: dict[str, Any] = {}
    first = posterior.regressions[0].labelings[0]
    coordinates = {"chain": np.arange(first.n_chains), "draw": np.arange(len(first.draws) // first.n_chains)}
    dims = ("chain", "draw")
    for number, regression in enumerate(posterior.regressions):
        for side, labeling in enumerate(regression.labelings):
            suffix = _suffix(posterior, number, side)
            shape = (labeling.n_chains, -1)
            experts[f"n_experts{suffix}"] = (dims, labeling.draws.n_active.reshape(shape))
            # Not `log_likelihood`: without rows, ArviZ 0.x would take it for that of the rows.
            statistics[f"total_log_likelihood{suffix}"] = (dims, labeling.draws.log_likelihood.reshape(shape))
    datasets = {
        "posterior": xarray.Dataset(experts, coordinates).merge(_total_weights(posterior, posterior)),
        "sample_stats": xarray.Dataset(statistics, coordinates),
    }
    if X is not None and codes is not None:
        datasets["log_likelihood"] = _row_logs(posterior, X, codes)
    if codes is not None:
        datasets["observed_data"] = xarray.Dataset({"y": (("row",), codes)}, {"row": np.arange(len(codes))})
    return _convert_for_arviz(xarray.DataTree.from_dict(datasets | dict(groups or {})))


def _suffix(posterior: Posterior, number: int, side: int) -> str:
    """Return the end of the variables' names, which tells class and labeling apart where there are several."""
    of_class = "" if len(posterior.regressions) == 1 else f"_class{number}"
    return of_class if len(posterior.regressions[number].labelings) == 1 else f"{of_class}_labeling{side}"


def _total_weights(posterior: Posterior, drawn: Posterior) -> "Dataset":
    """Return the sums of the experts' weights by `drawn`, which has the draws of the posterior or as many others."""
    variables = {}
    for number, regression in enumerate(drawn.regressions):
        for side, labeling in enumerate(regression.labelings):
            draws, n_chains = labeling.draws, posterior.regressions[number].labelings[side].n_chains
            sums = [draws.expert_weights[a:b].sum() for a, b in zip(draws.starts, draws.starts[1:], strict=False)]
            name = f"total_weight{_suffix(posterior, number, side)}"
            variables[name] = (("chain", "draw"), np.array(sums).reshape(n_chains, -1))
    n_chains, n_draws = next(iter(variables.values()))[1].shape
    coordinates = {"chain": np.arange(n_chains), "draw": np.arange(n_draws)}
    dataset: Dataset = _import_xarray().Dataset(variables, coordinates)
    return dataset


def _predictive(posterior: Posterior, drawn: Posterior, X: Design, rng: Generator) -> "Dataset":
    """Draw a label of each row, as an index of classes, given each draw of `drawn`."""
    probabilities = drawn.class_probability_draws(X)
    uniforms = rng.random(probabilities.shape[:2])
    if probabilities.ndim == 2:
        codes = (uniforms < probabilities).astype(np.intp)
    else:
        ends = np.cumsum(probabilities, axis=2)[..., :-1]
        codes = np.asarray((uniforms[..., None] >= ends).sum(axis=2))
    return _row_dataset(posterior, codes.reshape(*_mixture_shape(posterior), -1))


def _row_logs(posterior: Posterior, X: Design, codes: IndexArray) -> "Dataset":
    """Return the log-likelihood of each row by the draws of both labelings, whose chains are numbered consecutively."""
    logs = mixture_logs(labeling_logs(posterior, X, codes), codes)
    return _row_dataset(posterior, logs)


def _mixture_shape(posterior: Posterior) -> tuple[int, int]:
    """Return the number of chains of all labelings, and of draws of a chain."""
    labelings = posterior.regressions[0].labelings
    return sum(item.n_chains for item in labelings), len(labelings[0].draws) // labelings[0].n_chains


def _row_dataset(posterior: Posterior, values: FloatArray | IndexArray) -> "Dataset":
    """Return a variable `y` of values (chains of both labelings, draws, rows)."""
    labelings = posterior.regressions[0].labelings
    sides = np.repeat(np.arange(len(labelings)), [labeling.n_chains for labeling in labelings])
    coordinates: dict[str, Any] = {name: np.arange(size) for name, size in zip(_DIMS, values.shape, strict=True)}
    dataset: Dataset = _import_xarray().Dataset({"y": (_DIMS, values)}, coordinates | {"labeling": ("chain", sides)})
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
