"""One fit, and the file it leaves."""

import hashlib
import json
import os
import platform
import shutil
import time
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits

import softpolytope
from baselines import BASELINES
from reproduction.plan import LARGE, Cell
from reproduction.softplus import SoftplusProtocol, SoftplusRegression
from reproduction.stopwatch import Stopwatch
from softpolytope import SumStackSoftplusClassifier
from softpolytope.datasets import load_benchmark

# Of the baselines; another number when their tuning changes, and their cells are made anew.
TUNING = 1
# Seconds for which a prediction is repeated, and the fastest time taken: what the machine does besides only adds.
PREDICTION_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Result:
    """What is kept of a fit."""

    set_name: str
    method: str
    trial: int
    error: float  # percent of the test rows
    mean_error: float | None  # the same by the posterior mean; only chains have one
    n_experts: float  # of both labelings; support vectors, relevance vectors, hyperplanes of others
    fit_seconds: float  # of the processor, with tuning: what else the machine does, and pauses, do not count
    predict_nanoseconds: float  # a row
    chosen: dict[str, Any]  # what cross-validation chose, or the log likelihoods of the best draws


def kept_result(cell: Cell, protocol: SoftplusProtocol, folder: Path) -> Result | None:
    """The result of an earlier run, if there is one and it was made under the same protocol."""
    path = cell.path(folder)
    if not path.is_file():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    is_same = document["configuration"] == _configuration(cell, protocol)
    return Result(**document["result"]) if is_same else None


def run_and_keep(cell: Cell, protocol: SoftplusProtocol, data_home: Path | None, folder: Path) -> None:
    """Fit, measure and write; the file appears when it is complete."""
    with threadpool_limits(1):
        result = _measured(cell, protocol, data_home, folder)
    document = {
        "result": asdict(result),
        "configuration": _configuration(cell, protocol),
        "seed": cell.trial,
        "versions": _versions(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    path = cell.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(document, indent=1, default=float) + "\n", encoding="utf-8")
    temporary.replace(path)
    shutil.rmtree(_checkpoint(cell, folder), ignore_errors=True)


def _checkpoint(cell: Cell, folder: Path) -> Path:
    """From where a fit of hours goes on after an interruption; kept until its result is."""
    return folder / "checkpoints" / cell.name


def _measured(cell: Cell, protocol: SoftplusProtocol, data_home: Path | None, folder: Path) -> Result:
    split = load_benchmark(cell.set_name, cell.partition, data_home)
    X, y = split.X_train, split.y_train
    mean_error = None
    has_checkpoint = cell.method.kind == "softplus" and cell.set_name in LARGE
    checkpoint = _checkpoint(cell, folder) if has_checkpoint else None
    with Stopwatch(checkpoint / "seconds.txt" if checkpoint else None) as watch:
        if cell.method.kind == "baseline":
            baseline = BASELINES[cell.method.key]
            model, chosen = baseline.tuned(X, y, cell.trial, cell.set_name)
            n_experts = float(baseline.n_experts(model))
        elif cell.method.kind == "softplus":
            model = SoftplusRegression(cell.method.max_experts, cell.method.n_layers, cell.trial, protocol)
            model.fit(X, y, checkpoint)
            n_experts = float(model.n_experts)
            chosen = {"log_likelihood": [draw.log_likelihood / len(y) for draw in model.best]}
        else:
            model = _library(cell.trial).fit(X, y)
            # Of the best restart; prediction averages all.
            n_experts = float(model.n_experts_)
            chosen = {"precision_rates": [np.unique(rates).tolist() for rates in model.precision_rates_]}
        fit_seconds = watch.seconds
    if cell.method.kind == "softplus":
        mean_error = _percent(model.predict_by_mean(split.X_test) != split.y_test)
    error = _percent(model.predict(split.X_test) != split.y_test)
    cost = _prediction_cost(model.predict, split.X_test)
    return Result(
        cell.set_name, cell.method.key, cell.trial, error, mean_error, n_experts, fit_seconds, cost, dict(chosen)
    )


def _percent(is_wrong: Any) -> float:
    return 100.0 * float(np.mean(is_wrong))


def _prediction_cost(predict: Any, X: Any) -> float:
    """Nanoseconds a row."""
    fastest = spent = np.inf
    spent = 0.0
    while spent < PREDICTION_SECONDS:
        start = time.perf_counter()
        predict(X)
        seconds = time.perf_counter() - start
        fastest, spent = min(fastest, seconds), spent + seconds
    return 1e9 * fastest / X.shape[0]


def _configuration(cell: Cell, protocol: SoftplusProtocol) -> dict[str, Any]:
    """All that decides a result but the versions of packages."""
    fixed = {"max_experts": cell.method.max_experts, "n_layers": cell.method.n_layers}
    if cell.method.kind == "softplus":
        return {**fixed, **asdict(protocol)}
    if cell.method.kind == "baseline":
        return {"tuning": TUNING}
    # As a file has them: another default makes the cells anew.
    parameters: dict[str, Any] = json.loads(json.dumps(_library(cell.trial).get_params(), default=repr))
    return parameters


def _library(seed: int) -> SumStackSoftplusClassifier:
    """What a user gets who asks for nothing."""
    return SumStackSoftplusClassifier(random_state=seed)


def _versions() -> dict[str, str]:
    packages = {"softpolytope": softpolytope, "numpy": np, "scipy": scipy, "scikit-learn": sklearn, "joblib": joblib}
    versions = {name: module.__version__ for name, module in packages.items()}
    others = {name: version(name) for name in ("fastrvm", "numba")}
    return {"python": platform.python_version(), **versions, **others, "softpolytope files": _fingerprint()}


@cache
def _fingerprint() -> str:
    """Of the package's files: a version has many builds while it is worked on."""
    folder = Path(softpolytope.__file__).parent
    sha = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".so", ".pyd")):
        sha.update(path.read_bytes())
    return sha.hexdigest()[:12]
