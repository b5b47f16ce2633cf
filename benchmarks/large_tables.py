"""Measure CPU time and log-loss of fits by minibatches, beside LightGBM and the search by L-BFGS.

    python benchmarks/large_tables.py --data-home DIR             test parts, one thread; about five minutes
    python benchmarks/large_tables.py --data-home DIR --development
                                                   training parts alone, a fifth of them held out: for choices
    python benchmarks/large_tables.py --data-home DIR --default   beside `SumStackSoftplusClassifier(inference="map")`
    python benchmarks/large_tables.py --sets 8e4 --threads 2      wall-clock time of two threads
    python benchmarks/large_tables.py --coverage                  89 % intervals at 1e5 rows, four laws

A fit merges, standardizes and trains: everything but the checks of the estimator. The denominator of the ratio is
LightGBM's default with one thread, in the same process.
"""

import argparse
import os
import resource
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from softpolytope import SumStackSoftplusClassifier
from softpolytope.datasets import load_benchmark
from softpolytope.optimize import DEFAULT_PRIOR, ModeSettings

SETS = ("a9a", "ijcnn1", "cod_rna", "8e4", "1e6")
LAWS = ("stacks", "smooth", "line", "many columns")
SETTINGS = ModeSettings(20, 3, DEFAULT_PRIOR)  # experts and layers of the classifiers' defaults
DEVELOPMENT_SEED = 5
TEST_ROWS = 20_000


@dataclass
class Clock:
    """Seconds of the processor and of the wall."""

    cpu: float = 0.0
    wall: float = 0.0


@contextmanager
def clock():
    """Measure the time of a block."""
    found, cpu, wall = Clock(), time.process_time(), time.perf_counter()
    yield found
    found.cpu, found.wall = time.process_time() - cpu, time.perf_counter() - wall


def make_rows(n_rows, seed):
    """Return rows in clusters of twenty columns, ten of them informative, and test rows of the same clusters."""
    X, y = make_classification(
        n_rows + TEST_ROWS, 20, n_informative=10, n_clusters_per_class=4, random_state=seed, shuffle=True
    )
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def load(name, data_home, *, is_development):
    """Return training rows, their labels, and those to evaluate."""
    if name in ("8e4", "1e6"):
        return make_rows(int(float(name)), 11 if is_development else 0)
    split = load_benchmark(name, 0, data_home)
    if not is_development:
        return split.X_train, split.y_train, split.X_test, split.y_test
    X, y = split.X_train, split.y_train
    order = np.random.default_rng(DEVELOPMENT_SEED).permutation(len(y))
    cut = 4 * len(order) // 5
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def fit_default(X, y, seed, options):
    """Fit the default classifier, its checks of the input included."""
    model = SumStackSoftplusClassifier(n_members=options.members, n_jobs=options.threads, random_state=seed)
    return model.fit(X, y)


def true_probabilities(law, X):
    """Return P(y = 1) of one of the `LAWS`; "stacks" is in the family of the models."""
    if law == "line":
        return expit(X @ np.r_[1.0, -0.5, 0.5, np.zeros(X.shape[1] - 3)] - 0.5)
    if law == "stacks":
        rng, rate = np.random.default_rng(7), 0.0
        for _ in range(3):
            activation = 1.0
            for _ in range(2):
                predictor = X @ (1.2 * rng.standard_normal(X.shape[1])) + 0.5 * rng.standard_normal()
                activation = np.logaddexp(0.0, np.log(activation) + predictor)
            rate = rate + 0.6 * activation
        return -np.expm1(-rate)
    logit = 1.5 * np.sin(1.5 * X[:, 0]) + X[:, 1] * X[:, 2] - 0.5 * X[:, 3] ** 2 + 0.3
    return expit(logit if law == "smooth" else logit + np.tanh(X[:, 4] + X[:, 5]))


def measure_coverage(law, seed, options):
    """Return one row of the table of intervals."""
    rng = np.random.default_rng(seed)
    n_columns = 20 if law == "many columns" else 5
    X, X_test = rng.standard_normal((100_000, n_columns)), rng.standard_normal((1000, n_columns))
    y, expected = rng.random(len(X)) < true_probabilities(law, X), true_probabilities(law, X_test)
    with clock() as ours:
        model = fit_default(X, y, seed, options)
    lower, upper = model.predict_interval(X_test).T
    error = np.sqrt(np.mean((model.predict_proba(X_test)[:, 1] - expected) ** 2))
    covered = 100.0 * np.mean((lower <= expected) & (expected <= upper))
    return [law, str(seed), f"{covered:.0f}", f"{np.mean(upper - lower):.4f}", f"{error:.4f}", f"{ours.cpu:.1f}"]


def fit_lightgbm(X, y):
    """Fit LightGBM's default."""
    from lightgbm import LGBMClassifier  # noqa: PLC0415 -- not a dependency of the tests

    return LGBMClassifier(n_jobs=1, verbose=-1).fit(X, y)


def run(name, seed, options):
    """Return one row of the table."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = load(name, options.data_home, is_development=options.development)
    fit_lightgbm(X[:2000], y[:2000])  # loads the library
    with clock() as theirs:
        lightgbm = fit_lightgbm(X, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with clock() as ours:
        model = fit_default(X, y, seed, options)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    loss = log_loss(y_test, model.predict_proba(X_test)[:, 1])
    cells = [
        name,
        str(seed),
        f"{theirs.cpu:.2f}",
        f"{ours.cpu:.2f}",
        f"{ours.cpu / theirs.cpu:.1f}",
        f"{ours.wall:.2f}",
        f"{log_loss(y_test, lightgbm.predict_proba(X_test)[:, 1]):.4f}",
        f"{loss:.4f}",
        f"{model.precision_rates_[0][0, 0]:g}",
        f"{model.posterior_.regressions[0].agreement:.3f}",
        f"{peak / 1e3:.0f}",
    ]
    if options.default:
        with clock() as default:
            model = SumStackSoftplusClassifier(inference="map", random_state=seed, n_jobs=1).fit(X, y)
        cells += [f"{default.cpu:.1f}", f"{log_loss(y_test, model.predict_proba(X_test)[:, 1]):.4f}"]
    return cells


def main():
    """Run all sets and seeds, each in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data-home", default=os.environ.get("SOFTPOLYTOPE_DATA"))
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--development", action="store_true")
    parser.add_argument("--coverage", action="store_true", help="measure intervals, and nothing else")
    parser.add_argument("--default", action="store_true", help="fit the search by L-BFGS, too")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # of the libraries that the processes load
    if options.coverage:
        names = ["law", "seed", "covered, %", "width", "error of the mean", "CPU s"]
        print_table(names, measure_coverage, LAWS, options)
        return
    names = ["set", "seed", "LightGBM, CPU s", "CPU s", "ratio", "wall s", "LightGBM, log-loss"]
    names += ["log-loss", "rate", "agreement", "peak above the rows, MB"]
    names += ["L-BFGS, CPU s", "L-BFGS, log-loss"] if options.default else []
    print_table(names, run, options.sets, options)


def print_table(names, measure, items, options):
    """Print a table with a row for each item and seed, each measured in a process of its own."""
    print("| " + " | ".join(names) + " |")
    print("| --- |" + " --- |" * (len(names) - 1))
    for item in items:
        for seed in options.seeds:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                print("| " + " | ".join(pool.submit(measure, item, seed, options).result()) + " |", flush=True)


if __name__ == "__main__":
    main()
