"""One fit, measured, and the file it leaves."""

import hashlib
import json
import math
import os
import platform
import shutil
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits

import softpolytope
from reproduction.fits import configuration, details, fitted
from reproduction.plan import LARGE, Cell, planned
from reproduction.softplus import SoftplusProtocol
from reproduction.stopwatch import Stopwatch
from softpolytope.datasets import load_benchmark
from softpolytope.datasets.benchmark import benchmark_path
from softpolytope.parallel.checkpoint import CheckpointError

# Seconds of the processor for which a prediction is repeated, and the fastest time taken: what the machine does besides
# only adds.
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

    def __post_init__(self) -> None:
        """Raise for what cannot be the result of a fit: files may have been damaged, or written by hand."""
        for name in ("error", "mean_error", "n_experts", "fit_seconds", "predict_nanoseconds"):
            value = getattr(self, name)
            if value is None and name == "mean_error":
                continue
            if not isinstance(value, int | float) or not 0.0 <= value < math.inf:
                raise ValueError(f"{name} is {value!r}, and must be a number from zero on")
        if not isinstance(self.trial, int) or not isinstance(self.chosen, dict):
            raise ValueError("trial must be a whole number, and chosen a table")


@dataclass(frozen=True, slots=True)
class Kept:
    """What the file of a fit says."""

    document: dict[str, Any]  # all of it
    cell: Cell
    result: Result
    configuration: dict[str, Any]
    build: str  # of the package that made it

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """Raises one of `DAMAGES` for what is no such document."""
        build = document["versions"]["softpolytope files"]
        result = Result(**document["result"])
        cell = planned(result.set_name, result.method, result.trial)
        return cls(document, cell, result, document["configuration"], build)


# The last is of JSON that is nested too deeply.
DAMAGES = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def kept(cell: Cell, protocol: SoftplusProtocol, folder: Path, data: str | None = None) -> Kept | None:
    """The result of an earlier run, if there is one and it was made under the same protocol (and with that data)."""
    path = cell.path(folder)
    if not path.is_file():
        return None
    try:
        found = Kept.of(json.loads(path.read_text(encoding="utf-8")))
        if found.cell != cell:
            raise ValueError(f"it is of {found.cell.name}")
        is_of_data = data is None or found.document["data"] == data
    except DAMAGES as error:
        print(f"{path} is damaged ({error!r}) and taken for missing.", file=sys.stderr)
        return None
    return found if is_of_data and found.configuration == configuration(cell, protocol) else None


def run_and_keep(cell: Cell, protocol: SoftplusProtocol, data_home: Path | None, folder: Path) -> None:
    """Fit, measure and write; the file appears when it is complete. Of a failure it is the traceback that is kept."""
    failure = failure_file(cell, folder)
    try:
        with threadpool_limits(1):
            result = _measured(cell, protocol, data_home, folder)
        document = {
            "result": asdict(result),
            "configuration": configuration(cell, protocol),
            "details": details(cell, protocol),
            "seed": cell.trial,
            "data": data_hash(cell.set_name, data_home),
            "versions": _versions(),
            "machine": platform.platform() + ", " + _processor(),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        write_whole(cell.path(folder), json.dumps(document, indent=1, default=float) + "\n")
    except Exception:  # other cells can go on
        write_whole(failure, traceback.format_exc())
        return
    failure.unlink(missing_ok=True)
    shutil.rmtree(_checkpoint(cell, folder), ignore_errors=True)


def failure_file(cell: Cell, folder: Path) -> Path:
    """Where the traceback of a failed fit is."""
    return cell.path(folder).with_suffix(".failed.txt")


def write_whole(path: Path, text: str) -> None:
    """All of it or nothing, and on the disk: what a fit went on from is deleted next."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _checkpoint(cell: Cell, folder: Path) -> Path:
    """From where a fit of hours goes on after an interruption; kept until its result is."""
    return folder / "checkpoints" / cell.name


def _measured(cell: Cell, protocol: SoftplusProtocol, data_home: Path | None, folder: Path) -> Result:
    split = load_benchmark(cell.set_name, cell.partition, data_home)
    has_checkpoint = cell.method.kind == "softplus" and cell.set_name in LARGE
    checkpoint = _checkpoint(cell, folder) if has_checkpoint else None
    with Stopwatch(checkpoint / "seconds.txt" if checkpoint else None) as watch:
        rows = split.X_train, split.y_train
        try:
            fit = fitted(cell, protocol, rows, checkpoint)
        except CheckpointError as error:
            # A file that cannot be read now may be read another time.
            if checkpoint is None or isinstance(error.__cause__, OSError):
                raise
            _put_away(checkpoint, error)
            watch.restart()
            fit = fitted(cell, protocol, rows, checkpoint)
        fit_seconds = watch.seconds
    mean_error = None
    if cell.method.kind == "softplus":
        mean_error = _percent(fit.model.predict_by_mean(split.X_test) != split.y_test)
    error = _percent(fit.model.predict(split.X_test) != split.y_test)
    cost = _prediction_cost(fit.model.predict, split.X_test)
    return Result(
        cell.set_name, cell.method.key, cell.trial, error, mean_error, fit.n_experts, fit_seconds, cost, fit.chosen
    )


def _put_away(checkpoint: Path, error: CheckpointError) -> None:
    """Leave chains that are of other settings or damaged; the fit begins anew."""
    print(f"{error} The fit begins anew; what was there is kept as *.unusable.", file=sys.stderr)
    for chain in checkpoint.glob("*.npz"):
        chain.replace(chain.with_suffix(".unusable"))


def _percent(is_wrong: Any) -> float:
    return 100.0 * float(np.mean(is_wrong))


def _prediction_cost(predict: Any, X: Any) -> float:
    """Nanoseconds a row."""
    fastest, spent = np.inf, 0.0
    while spent < PREDICTION_SECONDS:
        # Of the processor: a call of many seconds, as of an SVM, is made once, and must not wait for its turn.
        start = time.process_time()
        predict(X)
        seconds = time.process_time() - start
        fastest, spent = min(fastest, seconds), spent + seconds
    return 1e9 * fastest / X.shape[0]


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


@cache
def data_hash(set_name: str, data_home: Path | None) -> str:
    """Of the file of a set."""
    with benchmark_path(set_name, data_home).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _processor() -> str:
    """Its name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "a processor of unknown name"
