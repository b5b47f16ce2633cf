"""Measure the time to read the half-spaces of wide models.

    python benchmarks/wide_polytopes.py

Prints one line per number of features: seconds of `str(model.polytopes())` and of `write_report` for a fitted model
of 300 rows, and seconds and linear programs per expert for experts with random hyperplanes, whose number does not
change with the width.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np

from softpolytope import SumStackSoftplusClassifier
from softpolytope.geometry import _faces as faces
from softpolytope.geometry._faces import Box, bounding_faces
from softpolytope.report import write_report

WIDTHS = (50, 100, 200, 300, 500, 1000)
N_ROWS, N_EXPERTS, N_LAYERS = 300, 10, 3


def random_expert(rng: np.random.Generator, n_features: int) -> np.ndarray:
    """Return hyperplanes (layers, 1 + features) whose predictors have a spread near one, whatever the width."""
    normals = rng.standard_normal((N_LAYERS, n_features)) / np.sqrt(n_features)
    return np.column_stack([rng.standard_normal(N_LAYERS), normals])


def random_experts(n_features: int) -> tuple[float, float]:
    """Return seconds and linear programs per expert."""
    rng = np.random.default_rng(n_features)
    box = Box(np.full(n_features, -3.0), np.full(n_features, 3.0))
    with mock.patch.object(faces, "linprog", wraps=faces.linprog) as counted:
        start = time.perf_counter()
        for _ in range(N_EXPERTS):
            bounding_faces(random_expert(rng, n_features), 0.0, box)
        return (time.perf_counter() - start) / N_EXPERTS, counted.call_count / N_EXPERTS


def fitted_model(n_features: int) -> tuple[float, float, int]:
    """Return seconds of the text and of the report, and the number of experts."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2 * N_ROWS, n_features))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.standard_normal(2 * N_ROWS) > 0.7).astype(int)
    model = SumStackSoftplusClassifier(random_state=0).fit(X[:N_ROWS], y[:N_ROWS])
    start = time.perf_counter()
    str(model.polytopes())
    middle = time.perf_counter()
    with TemporaryDirectory() as folder:
        write_report(model, X[N_ROWS:], y[N_ROWS:], Path(folder) / "report.html")
    return middle - start, time.perf_counter() - middle, sum(map(len, model.expert_weights_))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    print("features  str(polytopes()), s  report, s  experts  random expert, s  linear programs")
    for n_features in parser.parse_args().widths:
        text, report, n_experts = fitted_model(n_features)
        seconds, n_programs = random_experts(n_features)
        print(f"{n_features:8d}{text:22.2f}{report:11.2f}{n_experts:9d}{seconds:18.3f}{n_programs:17.1f}", flush=True)


if __name__ == "__main__":
    main()
