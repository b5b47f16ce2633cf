"""One fit with its times, and the file it leaves."""

import hashlib
import math
import platform
import re
import shutil
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import softpolytope
from softpolytope._typing import CountArray
from softpolytope.datasets import Split, load_benchmark
from softpolytope.exceptions import CheckpointError
from softpolytope.paper._protocol import TableProtocol
from softpolytope.paper._typing import Rows
from softpolytope.paper.tables._fits import FittedMethod, configuration, details, fit_method
from softpolytope.paper.tables._plan import PlannedFit
from softpolytope.paper.tables._results import Result, data_hash, store_fit, write_text
from softpolytope.paper.tables._stopwatch import Stopwatch

# Processor seconds for which a prediction is repeated; the fastest counts, because other programs only add time.
PREDICTION_SECONDS = 0.2
RECORDED_PACKAGES = ("softpolytope", "numpy", "scipy", "scikit-learn", "joblib", "fastrvm", "numba")


def fit_and_store(fit: PlannedFit, protocol: TableProtocol, data_home: Path | None, folder: Path) -> str | None:
    """Fit, measure and write the file of a fit; return a remark if it failed or could not use its checkpoint.

    The traceback of a failure is stored instead of raised, so that the other fits continue.
    """
    failure = failure_path(fit, folder)
    try:
        with threadpool_limits(1):
            result, remark = _measure(fit, protocol, data_home, folder)
        document = {
            "result": asdict(result),
            "configuration": configuration(fit, protocol),
            "details": details(fit, protocol),
            "seed": fit.trial,
            "data": data_hash(fit.set_name, data_home),
            "versions": _versions(),
            "machine": platform.platform() + ", " + _processor(),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        store_fit(fit, document, folder)
    except Exception:
        write_text(failure, traceback.format_exc())
        return f"failed; the traceback is in {failure}"
    failure.unlink(missing_ok=True)
    shutil.rmtree(_checkpoint_folder(fit, folder), ignore_errors=True)
    return remark


def failure_path(fit: PlannedFit, folder: Path) -> Path:
    """Return the file for the traceback of a failed fit."""
    return fit.path(folder).with_suffix(".failed.txt")


def _checkpoint_folder(fit: PlannedFit, folder: Path) -> Path:
    """Return the folder from which a fit of hours continues after an interruption; it is kept until the result is."""
    return folder / "checkpoints" / fit.name


def _measure(
    fit: PlannedFit, protocol: TableProtocol, data_home: Path | None, folder: Path
) -> tuple[Result, str | None]:
    """Return the result of a fit, and a remark if it could not use its checkpoint."""
    split = load_benchmark(fit.set_name, fit.partition, data_home)
    has_checkpoint = fit.method.kind == "softplus" and fit.is_large
    checkpoint = _checkpoint_folder(fit, folder) if has_checkpoint else None
    fitted, seconds, remark = _fit_timed(fit, protocol, split, checkpoint)

    def percent_wrong(predict: Callable[[Rows], CountArray]) -> float:
        return 100.0 * float(np.mean(predict(split.X_test) != split.y_test))

    result = Result(
        fit.set_name,
        fit.method.key,
        fit.trial,
        error=percent_wrong(fitted.predict),
        mean_error=percent_wrong(fitted.predict_by_mean) if fitted.predict_by_mean else None,
        n_experts=float(fitted.n_experts),
        fit_seconds=seconds,
        predict_nanoseconds=_prediction_cost(fitted.predict, split.X_test),
        chosen=fitted.chosen,
    )
    return result, remark


def _fit_timed(
    fit: PlannedFit, protocol: TableProtocol, split: Split, checkpoint: Path | None
) -> tuple[FittedMethod, float, str | None]:
    """Return a fit from the checkpoint, or from scratch if that cannot be used, with its seconds and a remark."""
    remark = None
    with Stopwatch(checkpoint / "seconds.txt" if checkpoint else None) as watch:
        try:
            fitted = fit_method(fit, protocol, split.X_train, split.y_train, checkpoint)
        except CheckpointError as error:
            # A file that cannot be read now may be readable another time.
            if checkpoint is None or isinstance(error.__cause__, OSError):
                raise
            for chain in checkpoint.glob("*.npz"):
                chain.replace(chain.with_suffix(".unusable"))
            remark = f"{error} It was renamed to *.unusable, and the fit started from scratch."
            watch.restart()
            fitted = fit_method(fit, protocol, split.X_train, split.y_train, checkpoint)
        return fitted, watch.seconds, remark


def _prediction_cost(predict: Callable[[Rows], CountArray], X: Rows) -> float:
    """Return the nanoseconds that a prediction takes for each row."""
    fastest, spent = math.inf, 0.0
    while spent < PREDICTION_SECONDS:
        # Processor time: a call of many seconds, as of an SVM, is made once, and must not include waiting.
        start = time.process_time()
        predict(X)
        seconds = time.process_time() - start
        fastest, spent = min(fastest, seconds), spent + seconds
    return 1e9 * fastest / int(X.shape[0])


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in RECORDED_PACKAGES}
    return {"python": platform.python_version(), **packages, "softpolytope files": _fingerprint()}


@cache
def _fingerprint() -> str:
    """Return a hash of the package's files, because a version has many builds during development."""
    folder = Path(softpolytope.__file__).parent
    sha = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".so", ".pyd")):
        sha.update(path.read_bytes())
    return sha.hexdigest()[:12]


@cache
def _processor() -> str:
    """Return the name of the processor, as far as the system has it."""
    try:
        names = re.findall(r"^model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        names = []
    return names[0] if names else platform.processor() or "unknown processor"
