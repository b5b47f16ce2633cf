"""The fit of a cell: a baseline, a softplus regression under the paper's protocol, or the library."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reproduction.plan import LARGE, Cell
from reproduction.softplus import SoftplusProtocol, SoftplusRegression
from softpolytope import SumStackSoftplusClassifier
from softpolytope.paper import paper_settings
from softpolytope.paper.baselines import BASELINES

# Of each baseline; another number when its tuning changes, and its cells are made anew.
TUNING = {"lr": 2, "svm": 1, "rvm": 1, "amm": 1, "cpm": 1}
TUNING_ON_LARGE_SETS = {**TUNING, "rvm": 2}


class Fit(NamedTuple):
    """A model, and what is told of it."""

    model: Any
    n_experts: float
    chosen: dict[str, Any]


def fitted(cell: Cell, protocol: SoftplusProtocol, rows: tuple[Any, Any], checkpoint: Path | None) -> Fit:
    """Fit a cell's method to rows and their labels."""
    if cell.method.kind == "baseline":
        return _baseline(cell, *rows)
    if cell.method.kind == "softplus":
        return _softplus(cell, protocol, rows, checkpoint)
    return _library(cell, *rows)


def configuration(cell: Cell, protocol: SoftplusProtocol) -> dict[str, Any]:
    """What may change from run to run and decides a result: cells of another one are made anew."""
    if cell.method.kind == "baseline":
        tuning = TUNING_ON_LARGE_SETS if cell.set_name in LARGE else TUNING
        return {"tuning": tuning[cell.method.key]}
    if cell.method.kind == "softplus":
        return {"max_experts": cell.method.max_experts, "n_layers": cell.method.n_layers, **asdict(protocol)}
    # As a file has them: another default makes the cells anew.
    parameters: dict[str, Any] = json.loads(json.dumps(_default(cell.trial).get_params(), default=repr))
    return parameters


def details(cell: Cell, protocol: SoftplusProtocol) -> dict[str, Any]:
    """All settings in full, for the reader of a file: grids of a baseline, prior and moves of a chain."""
    if cell.method.kind == "baseline":
        module = BASELINES[cell.method.key]
        return {name: repr(value) for name, value in vars(module).items() if name.isupper()}
    if cell.method.kind == "softplus":
        return {"settings": repr(_settings(cell, protocol))}
    return {}


def _baseline(cell: Cell, X: Any, y: Any) -> Fit:
    model, n_experts, chosen = BASELINES[cell.method.key].tune(X, y, cell.trial, cell.set_name)
    return Fit(model, float(n_experts), dict(chosen))


def _softplus(cell: Cell, protocol: SoftplusProtocol, rows: tuple[Any, Any], checkpoint: Path | None) -> Fit:
    X, y = rows
    model = SoftplusRegression(cell.method.max_experts, cell.method.n_layers, cell.trial, protocol)
    model.fit(X, y, checkpoint)
    likelihoods = [draw.log_likelihood / len(y) for draw in model.best]
    return Fit(model, float(model.n_experts), {"log_likelihood": likelihoods})


def _settings(cell: Cell, protocol: SoftplusProtocol) -> Any:
    return paper_settings(
        cell.method.n_layers, cell.method.max_experts, protocol.n_sweeps, protocol.n_draws, protocol.pg_terms
    )


def _library(cell: Cell, X: Any, y: Any) -> Fit:
    model = _default(cell.trial).fit(X, y)
    rates = [np.unique(rates).tolist() for rates in model.precision_rates_]
    # Experts are those of the best restart; prediction averages all.
    return Fit(model, float(model.n_experts_), {"precision_rates": rates})


def _default(seed: int) -> SumStackSoftplusClassifier:
    """What a user gets who asks for nothing."""
    return SumStackSoftplusClassifier(random_state=seed)
