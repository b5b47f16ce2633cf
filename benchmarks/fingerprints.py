"""Hash the predictions, draws and exports of many small fits, to show that a change of code changes no value.

    python benchmarks/fingerprints.py --out before.json
    python benchmarks/fingerprints.py --out after.json --compare before.json

Every fit is small and uses public names only. Hashes are compared on one machine: the last bits of modes depend on the
processor's BLAS. With --compare the command lists what differs and exits with 1 if anything does.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from softpolytope import (
    Prior,
    SoftplusClassifier,
    StackSoftplusClassifier,
    SumSoftplusClassifier,
    SumStackSoftplusClassifier,
    TableClassifier,
    load_model,
)

CLASSIFIERS = (SoftplusClassifier, SumSoftplusClassifier, StackSoftplusClassifier, SumStackSoftplusClassifier)
GIBBS = {"inference": "gibbs", "n_sweeps": 40, "random_state": 5}
MODES = {"inference": "map", "n_restarts": 2, "random_state": 5}
Hashes = dict[str, str]


def rows(n_rows: int = 160, n_features: int = 3, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose class depends on their distance from the origin, with some noise."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(n_rows, n_features))
    radius = (X[:, :2] ** 2).sum(axis=1) + 0.3 * rng.normal(size=n_rows)
    cuts = np.quantile(radius, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(cuts, radius)


def digest(*parts: Any) -> str:
    """Return a short hash of arrays, bytes and texts."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, str | bytes):
            total.update(part.encode() if isinstance(part, str) else part)
        else:
            array = np.ascontiguousarray(part)
            total.update(str((array.shape, array.dtype.str)).encode() + array.tobytes())
    return total.hexdigest()[:16]


def fitted_hashes(model: Any, X: Any) -> Hashes:
    """Hash a fitted classifier: probabilities, draws, attributes, and the probabilities after a save and load."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        again = load_model(Path(folder) / "model")
    found = {
        "predict_proba": digest(model.predict_proba(X)),
        "predict_log_proba": digest(model.predict_log_proba(X)),
        "predict": digest(model.predict(X)),
        "loaded": digest(again.predict_proba(X)),
    }
    if hasattr(model, "predict_proba_draws"):
        found["draws"] = digest(model.predict_proba_draws(X))
        found["n_experts"] = digest(np.asarray(model.n_experts_, dtype=float))
    return found


def export_hashes(model: Any, X: Any) -> Hashes:
    """Hash what the exports compute, and the SQL as text."""
    names = [f"c{number}" for number in range(model.n_features_in_)]
    scope: dict[str, Any] = {}
    exec(model.to_python_source(), scope)  # noqa: S102  # our own export
    values = np.array([list(map(float, np.ravel(scope["predict_proba"](row)))) for row in X[:20].tolist()])
    graph = model.to_onnx().graph
    return {
        "python": digest(values),
        "sql": digest(model.to_sql(names, target=model.classes_.tolist()[-1])),
        "onnx": digest(*(node.op_type for node in graph.node), *(item.raw_data for item in graph.initializer)),
    }


def simple(make: Callable[[], Any], X: Any, y: Any, **fit: Any) -> Hashes:
    """Fit and hash."""
    return fitted_hashes(make().fit(X, y, **fit), X)


def with_exports(make: Callable[[], Any], X: Any, y: Any) -> Hashes:
    """Fit, hash and export."""
    model = make().fit(X, y)
    return fitted_hashes(model, X) | export_hashes(model, X)


def batches(make: Callable[[], Any], X: Any, y: Any) -> Hashes:
    """Learn batch by batch."""
    model = make()
    for start in range(0, len(y), 40):
        model.partial_fit(X[start : start + 40], y[start : start + 40], classes=np.unique(y))
    return fitted_hashes(model, X)


def warm(make: Callable[[], Any], X: Any, y: Any, **later: Any) -> Hashes:
    """Fit twice with warm_start."""
    model = make().set_params(warm_start=True).fit(X, y)
    return fitted_hashes(model.set_params(**later).fit(X, y), X)


def _fit_with_checkpoint(folder: str) -> None:
    X, y = rows()
    SumStackSoftplusClassifier(**GIBBS | {"n_sweeps": 400, "max_experts": 4}, checkpoint=_plan(folder)).fit(X, y)


def _plan(folder: str) -> Any:
    from softpolytope.parallel import _checkpoint as checkpoint  # noqa: PLC0415  # the public face of this name moves

    return checkpoint.CheckpointPlan(Path(folder), every_sweeps=20)


def resumed(X: Any, y: Any) -> Hashes:
    """Kill a fit after its first checkpoint, resume it, and hash the result."""
    with tempfile.TemporaryDirectory() as folder:
        child = multiprocessing.get_context("spawn").Process(target=_fit_with_checkpoint, args=(folder,))
        child.start()
        while child.is_alive() and not list(Path(folder).rglob("*chain*.npz")):
            time.sleep(0.01)
        if child.is_alive():
            os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        settings = GIBBS | {"n_sweeps": 400, "max_experts": 4}
        return fitted_hashes(SumStackSoftplusClassifier(**settings, checkpoint=_plan(folder)).fit(X, y), X)


def from_file(make: Callable[[], Any], X: Any, y: Any) -> Hashes:
    """Fit to a .npy file, read in parts."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "rows.npy", X)
        return fitted_hashes(make().fit(Path(folder) / "rows.npy", y, max_memory="2GB"), X)


def from_dask(make: Callable[[], Any], X: Any, y: Any, *, cluster: bool) -> Hashes:
    """Fit to Dask arrays, in this process or on two workers."""
    import dask.array as da  # noqa: PLC0415  # an extra

    chunks = (da.from_array(X, chunks=(50, X.shape[1])), da.from_array(y, chunks=50))
    if not cluster:
        return fitted_hashes(make().fit(*chunks, max_memory="2GB"), X)
    from distributed import Client  # noqa: PLC0415

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        return fitted_hashes(make().fit(*chunks, client=client), X)


def table(**settings: Any) -> dict[str, list[Any]]:
    """Columns of numbers, categories and gaps, with a target."""
    X, y = rows()
    numbers = [None if position % 17 == 3 else value for position, value in enumerate(X[:, 0].tolist())]
    color = np.array(["red", "green", "blue"])[(X[:, 1] * 3).astype(int) % 3].tolist()
    return {
        "size": numbers,
        "color": color,
        "width": X[:, 2].tolist(),
        "y": np.where(y, "yes", "no").tolist(),
    } | settings


def table_model() -> Hashes:
    """Fit a table."""
    model = TableClassifier(SumStackSoftplusClassifier(**MODES)).fit(table(), "y")
    return {"predict_proba": digest(model.predict_proba(table())), "classes": digest(repr(model.classes_.tolist()))}


def command_line() -> Hashes:
    """Fit, predict and export with the command."""
    run = partial(subprocess.run, check=True, capture_output=True)
    columns = table()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        lines = [",".join(columns)]
        lines += [
            ",".join("" if cell is None else str(cell) for cell in row) for row in zip(*columns.values(), strict=True)
        ]
        (place / "rows.csv").write_text("\n".join(lines) + "\n")
        command = [sys.executable, "-m", "softpolytope"]
        model = str(place / "model.softpolytope")
        run([*command, "fit", str(place / "rows.csv"), "--target", "y", "-o", model, "--seed", "3"])
        answer = run([*command, "predict", model, str(place / "rows.csv"), "--proba"])
        return {"predict": digest(answer.stdout), "loaded": digest(load_model(model).predict_proba(columns))}


def cases() -> Iterator[tuple[str, Callable[[], Hashes]]]:
    """Yield names of fits and functions that make and hash them."""
    X, y = rows()
    for kind in CLASSIFIERS:
        yield f"map {kind.__name__}", partial(with_exports, partial(kind, **MODES), X, y)
        yield f"gibbs {kind.__name__}", partial(with_exports, partial(kind, **GIBBS), X, y)
    best = SumStackSoftplusClassifier
    small = partial(best, **GIBBS, max_experts=4, n_layers=2)
    modes = partial(best, **MODES)
    learned = Prior(precision_rate="learned")
    thin = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    weights = np.random.default_rng(2).uniform(0.2, 3.0, len(y))
    X3, y3 = rows(n_classes=3)
    named = np.array(["a", "b", "c"])[y3]
    yield "defaults", partial(simple, partial(best, random_state=0), X, y)
    yield "few rows, auto", partial(simple, partial(best, random_state=0), X[:30], y[:30])
    yield "logistic regression", partial(simple, partial(SoftplusClassifier, **GIBBS, fit_weight=False), X, y)
    for kind in (StackSoftplusClassifier, best):
        yield f"paper scan {kind.__name__}", partial(simple, partial(kind, **GIBBS, scan="paper"), X, y)
    yield "random start", partial(simple, partial(small, start="random"), X, y)
    yield "learned rate", partial(simple, partial(small, prior=learned, start="random"), X, y)
    yield "not symmetric, best draw", partial(simple, partial(small, symmetric=False, estimate="best"), X, y)
    yield "two threads", partial(simple, partial(small, n_jobs=2), X, y)
    yield "not standardized", partial(simple, partial(modes, standardize=False), X, y)
    yield "sparse map", partial(simple, modes, thin, y)
    yield "sparse gibbs", partial(simple, small, thin, y)
    yield "weights map", partial(simple, modes, X, y, sample_weight=weights)
    yield "weights gibbs", partial(simple, partial(small, class_weight="balanced"), X, y, sample_weight=weights)
    yield "bootstrap", partial(simple, partial(modes, inference="bootstrap", n_members=4), X, y)
    yield "three classes map", partial(with_exports, modes, X3, named)
    yield "three classes gibbs", partial(with_exports, small, X3, named)
    yield "partial_fit", partial(batches, modes, X, y)
    yield "warm_start map", partial(warm, modes, X, y)
    yield "warm_start gibbs", partial(warm, small, X, y, n_sweeps=60)
    yield "warm_start paper scan", partial(warm, partial(small, scan="paper"), X, y, n_sweeps=60)
    yield "killed and resumed", partial(resumed, X, y)
    for name, make in (("map", modes), ("gibbs", small), ("paper", partial(small, scan="paper", start="random"))):
        yield f".npy file {name}", partial(from_file, make, X, y)
        yield f"Dask array {name}", partial(from_dask, make, X, y, cluster=False)
    yield "Dask cluster map", partial(from_dask, modes, X, y, cluster=True)
    yield "Dask cluster gibbs", partial(from_dask, partial(small, start="random", n_sweeps=10), X, y, cluster=True)
    yield "table", table_model
    yield "command line", command_line


def report(found: dict[str, Hashes], before: dict[str, Hashes]) -> int:
    """Print what differs and return how many values do."""
    n_different = 0
    for name in sorted(set(found) | set(before)):
        old, new = before.get(name, {}), found.get(name, {})
        different = [key for key in sorted(set(old) | set(new)) if old.get(key) != new.get(key)]
        n_different += len(different)
        if different:
            print(f"{name}: {', '.join(different)} differ")
    n_values = sum(map(len, found.values()))
    print(f"{n_values} values of {len(found)} fits, {n_different} different")
    return n_different


def main() -> int:
    """Hash all fits, write the hashes and compare them with earlier ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True, help="file for the hashes, JSON")
    parser.add_argument("--compare", type=Path, help="hashes of an earlier run")
    parser.add_argument("--only", default="", help="fits whose names contain this text")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {name: make() for name, make in cases() if arguments.only in name}
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")
    before = json.loads(arguments.compare.read_text()) if arguments.compare else found
    return int(report(found, {name: value for name, value in before.items() if arguments.only in name}) > 0)


if __name__ == "__main__":
    sys.exit(main())
