"""Count the functions and files of the package that a fit or a prediction runs through: how far a reader must walk.

    python benchmarks/walks.py
    python benchmarks/walks.py --list "fit, default"

Python functions of the package are counted once each, in the order in which they are first entered; compiled kernels
are not counted. "Switches" are changes of file in that order: how often a reader turns to another file. The walks are
those of small fits, so that they depend on the code and not on the data.
"""

import argparse
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import softpolytope
from softpolytope import SumStackSoftplusClassifier
from softpolytope.cli import main as command

PACKAGE = str(Path(softpolytope.__file__).parent)


def walk(action: Callable[[], Any]) -> list[CodeType]:
    """Run an action and return the package's functions in the order of their first call, in all threads."""
    seen: dict[CodeType, None] = {}

    def hook(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            seen.setdefault(frame.f_code)

    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    # The body of a module or class is not a function, and a comprehension or lambda belongs to the one around it.
    return [code for code in seen if code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<")]


def counts(functions: list[CodeType]) -> tuple[int, int, int, int]:
    """Return numbers of functions, files, rooms and switches between files."""
    files = [str(Path(code.co_filename).relative_to(PACKAGE)) for code in functions]
    switches = sum(before != after for before, after in pairwise(files))
    rooms = {name.split("/", maxsplit=1)[0] for name in files}
    return len(functions), len(set(files)), len(rooms), switches


def rows() -> tuple[np.ndarray, np.ndarray]:
    """A disc in a square."""
    X = np.random.default_rng(0).uniform(-2.0, 2.0, (150, 2))
    return X, ((X**2).sum(axis=1) < 2.0).astype(int)


def fit(**settings: Any) -> Callable[[], Any]:
    """A fit of 150 rows."""
    X, y = rows()
    return lambda: SumStackSoftplusClassifier(max_experts=4, random_state=0, **settings).fit(X, y)


def command_fit(folder: Path) -> Callable[[], Any]:
    """A fit of a CSV file by the command."""
    X, y = rows()
    lines = ["a,b,y", *(f"{a},{b},{'in' if label else 'out'}" for (a, b), label in zip(X, y, strict=True))]
    (folder / "train.csv").write_text("\n".join(lines) + "\n")
    options = ["fit", str(folder / "train.csv"), "--target", "y", "-o", str(folder / "model"), "--quiet"]
    return lambda: command(options)


def dask_fit(**settings: Any) -> Callable[[], Any]:
    """A fit of a Dask array on workers that are threads of this process."""
    import dask.array as da  # noqa: PLC0415  # an extra
    from distributed import Client  # noqa: PLC0415

    X, y = rows()

    def action() -> None:
        arrays = da.from_array(X, chunks=(50, 2)), da.from_array(y, chunks=50)
        with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
            model = SumStackSoftplusClassifier(max_experts=4, random_state=0, symmetric=False, **settings)
            model.fit(*arrays, client=client)

    return action


def main() -> None:
    """Print a table of walks, or the functions of one walk."""
    parser = argparse.ArgumentParser(description="Count the functions and files that a fit runs through.")
    parser.add_argument("--list", metavar="WALK", help="print the functions of one walk in order")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chains = {"inference": "gibbs", "n_sweeps": 20, "n_chains": 1}
    model = SumStackSoftplusClassifier(max_experts=4, random_state=0).fit(*rows())
    walks = {
        "fit, default": fit(),
        "fit, map": fit(inference="map"),
        "fit, gibbs": fit(**chains),
        "fit, gibbs, random start": fit(**chains, start="random"),
        "predict_proba": lambda: model.predict_proba(rows()[0]),
        "fit, Dask, gibbs, random start": dask_fit(**chains, start="random"),
    }
    if options.list is not None:
        for code in walk(walks[options.list]):
            print(f"{Path(code.co_filename).relative_to(PACKAGE)}:{code.co_firstlineno} {code.co_qualname}")
        return
    print(f"{'walk':34} functions files rooms switches")
    with tempfile.TemporaryDirectory() as folder:
        for name, action in (walks | {"softpolytope fit train.csv": command_fit(Path(folder))}).items():
            functions, files, rooms, switches = counts(walk(action))
            print(f"{name:34} {functions:9d} {files:5d} {rooms:5d} {switches:8d}")


if __name__ == "__main__":
    main()
