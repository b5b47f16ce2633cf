"""Fits of the tables: a baseline, a softplus regression under the paper's protocol, or the library's default."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from softpolytope import SumStackSoftplusClassifier
from softpolytope._typing import CountArray
from softpolytope.paper._protocol import TableProtocol
from softpolytope.paper._typing import Rows
from softpolytope.paper.tables._plan import N_TRAINING_ROWS, PlannedFit
from softpolytope.paper.tables._softplus import SoftplusRegression

if TYPE_CHECKING:
    from softpolytope.paper.baselines import Baseline

# Versions of the baselines' tuning: with another number, stored fits are run again.
TUNING = {"lr": 2, "svm": 1, "rvm": 1, "amm": 1, "cpm": 1}
TUNING_ON_LARGE_SETS = {**TUNING, "rvm": 2}
# Of one row, expert and layer in one sweep of one labeling.
SECONDS_PER_ROW = 0.25e-6
# Of one layer in one sweep, whatever the rows.
SECONDS_PER_SWEEP = 0.3e-3
# Experts of a chain, averaged over its sweeps, as a share of those at the start; on small sets most are soon deleted.
EXPERT_SHARE, EXPERT_SHARE_ON_LARGE_SETS = 0.35, 0.95
# Seconds of tuning and fitting for each training row, and the rows beyond which they do not grow.
SECONDS_OF_OTHERS = {
    "lr": (1e-3, 100_000),
    "svm": (0.01, 100_000),
    "rvm": (0.05, 1300),
    "amm": (1e-3, 100_000),
    "cpm": (0.02, 100_000),
    "default": (3e-3, 100_000),
}


class FittedMethod(NamedTuple):
    """Predictions of a fitted method, and what is stored of the fit."""

    predict: Callable[[Rows], CountArray]
    predict_by_mean: Callable[[Rows], CountArray] | None  # by the posterior mean, which only chains have
    n_experts: float
    chosen: dict[str, Any]  # parameters that cross-validation chose, or likelihoods of the best draws


def fit_method(
    fit: PlannedFit, protocol: TableProtocol, X: Rows, y: CountArray, checkpoint: Path | None
) -> FittedMethod:
    """Fit the method to rows and their labels."""
    if fit.method.kind == "baseline":
        estimator, n_experts, chosen = _baseline(fit).tune(X, y, fit.trial, fit.set_name)
        return FittedMethod(estimator.predict, None, n_experts, dict(chosen))
    if fit.method.kind == "softplus":
        model = SoftplusRegression(fit.method.max_experts, fit.method.n_layers, fit.trial, protocol)
        model.fit(X, y, checkpoint)
        likelihoods = [draw.log_likelihood / len(y) for draw in model.best]
        return FittedMethod(model.predict, model.predict_by_mean, model.n_experts, {"log_likelihood": likelihoods})
    return _fit_default(fit, X, y)


def configuration(fit: PlannedFit, protocol: TableProtocol) -> dict[str, Any]:
    """Return the settings that decide a result and may change: a stored fit with others is run again."""
    if fit.method.kind == "baseline":
        tuning = TUNING_ON_LARGE_SETS if fit.is_large else TUNING
        return {"tuning": tuning[fit.method.key]}
    if fit.method.kind == "softplus":
        return {"max_experts": fit.method.max_experts, "n_layers": fit.method.n_layers, **asdict(protocol)}
    # As they are in a file of JSON.
    parameters: dict[str, Any] = json.loads(json.dumps(_default(fit).get_params(), default=repr))
    return parameters


def details(fit: PlannedFit, protocol: TableProtocol) -> dict[str, str]:
    """Return all settings for the reader of a file: grids of a baseline, prior and moves of a chain."""
    if fit.method.kind == "baseline":
        return {name: repr(value) for name, value in vars(_baseline(fit)).items() if name.isupper()}
    if fit.method.kind == "softplus":
        return {"settings": repr(protocol.settings(fit.method.max_experts, fit.method.n_layers))}
    return {}


def expected_seconds(fit: PlannedFit, protocol: TableProtocol) -> float:
    """Return the seconds a fit takes on one core, good enough for an order and an estimate of the time left."""
    n_rows, method = N_TRAINING_ROWS[fit.set_name], fit.method
    if method.kind != "softplus":
        seconds, max_rows = SECONDS_OF_OTHERS[method.key]
        return seconds * min(n_rows, max_rows)
    share = EXPERT_SHARE_ON_LARGE_SETS if fit.is_large else EXPERT_SHARE
    n_experts = max(1.0, share * method.max_experts)
    sweep = method.n_layers * (SECONDS_PER_SWEEP + SECONDS_PER_ROW * n_rows * n_experts)
    return 2.0 * protocol.n_sweeps * sweep


def _baseline(fit: PlannedFit) -> "Baseline":
    from softpolytope.paper.baselines import BASELINES  # noqa: PLC0415  # needs an extra

    return BASELINES[fit.method.key]


def _fit_default(fit: PlannedFit, X: Rows, y: CountArray) -> FittedMethod:
    model = _default(fit).fit(X, y)
    rates = [np.unique(rates).tolist() for rates in model.precision_rates_]
    # Experts are those of the best restart; prediction averages all of them.
    return FittedMethod(model.predict, None, model.n_experts_, {"precision_rates": rates})


def _default(fit: PlannedFit) -> SumStackSoftplusClassifier:
    return SumStackSoftplusClassifier(random_state=fit.trial)
