"""Measure time, memory and error of `fit`, and of `partial_fit` in batches, for a million rows.

    python benchmarks/large.py             prints the table of docs/results/defaults.md; about five minutes
    python benchmarks/large.py --rows 1e5  fewer rows

Two interleaved half rings in two columns, eighteen columns of noise. Each part runs in its own process with two
threads, so that the peak of memory is its own.
"""

import argparse
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss

from softpolytope import SumStackSoftplusClassifier

N_COLUMNS = 20
BATCH = 10_000


def rows_of(n_rows, seed):
    """Rows and labels."""
    X, y = make_moons(n_rows, noise=0.3, random_state=seed)
    return np.hstack([X, np.random.default_rng(seed).standard_normal((n_rows, N_COLUMNS - 2))]), y


def run(part, n_rows):
    """Seconds, peak memory before and after, error, log-loss."""
    X, y = rows_of(n_rows, 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = SumStackSoftplusClassifier(random_state=0, n_jobs=2)
    start = time.perf_counter()
    if part == "fit":
        model.fit(X, y)
    else:
        for first in range(0, n_rows, BATCH):
            model.partial_fit(X[first : first + BATCH], y[first : first + BATCH], classes=[0, 1])
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    X_test, y_test = rows_of(100_000, 1)
    error = 100.0 * (1.0 - model.score(X_test, y_test))
    return seconds, before / 1e6, after / 1e6, error, log_loss(y_test, model.predict_proba(X_test)), model.n_experts_


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=float, default=1e6)
    n_rows = int(parser.parse_args().rows)
    print(
        f"| {n_rows:.0e} x {N_COLUMNS} | seconds | peak, GB | of which the rows, GB | error, % | log-loss | experts |"
    )
    print("| --- |" + " --- |" * 6)
    for part in ("fit", "partial_fit"):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            seconds, before, after, error, loss, n_experts = pool.submit(run, part, n_rows).result()
        print(
            f"| {part} | {seconds:.0f} | {after:.2f} | {before:.2f} | {error:.2f} | {loss:.4f} | {n_experts} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
