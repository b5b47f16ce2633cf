"""Measure time and peak memory of `softpolytope fit` and `predict` on a large CSV file.

    python benchmarks/cli_large.py             a million rows; prints the table of docs/command_line.md, ten minutes
    python benchmarks/cli_large.py --rows 1e5  fewer rows

Each command runs in its own process. The data are two interleaved half rings in two columns, and seventeen columns of
noise, one of them of categories; a few cells are missing.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons

N_NOISE = 17
BLOCK = 100_000


def write_table(path, n_rows):
    """Write the file in blocks, so that this process stays small."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write(",".join([*(f"x{number}" for number in range(2 + N_NOISE)), "color", "label"]) + "\n")
        for first in range(0, n_rows, BLOCK):
            size = min(BLOCK, n_rows - first)
            X, y = make_moons(size, noise=0.3, random_state=first)
            rows = np.hstack([X, rng.standard_normal((size, N_NOISE))])
            colors = rng.choice(["red", "green", "blue", ""], size)
            for row, color, label in zip(rows.tolist(), colors, y, strict=True):
                cells = [f"{value:.6f}" for value in row]
                cells[5] = "" if row[5] > 2.0 else cells[5]
                file.write(",".join([*cells, color, "yes" if label else "no"]) + "\n")


def measured(arguments):
    """Return wall-clock and processor seconds, peak memory in GB and exit code of a command."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "softpolytope.cli", *arguments]
    child = os.posix_spawn(sys.executable, command, os.environ)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    return *seconds, usage.ru_maxrss / 1e6, os.waitstatus_to_exitcode(status)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=float, default=1e6)
    n_rows = int(parser.parse_args().rows)
    with tempfile.TemporaryDirectory() as folder:
        table, model, out = (Path(folder) / name for name in ("train.csv", "model.softpolytope", "out.csv"))
        write_table(table, n_rows)
        print(f"| {n_rows:.0e} rows, 20 columns, {table.stat().st_size / 1e6:.0f} MB | seconds | of work | peak, GB |")
        print("| --- | --- | --- | --- |", flush=True)
        fit = ["fit", str(table), "--target", "label", "-o", str(model), "--jobs", "2", "--quiet"]
        for name, arguments in {
            "fit --test-size 0": [*fit, "--test-size", "0", "--json"],
            "fit": fit,
            "predict --proba": ["predict", str(model), str(table), "--proba", "-o", str(out)],
        }.items():
            seconds, work, memory, code = measured(arguments)
            if code:
                raise SystemExit(f"{name} failed with exit code {code}")
            print(f"| {name} | {seconds:.0f} | {work:.0f} | {memory:.2f} |", flush=True)


if __name__ == "__main__":
    main()
