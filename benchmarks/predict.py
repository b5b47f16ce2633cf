"""Measure the cost of a prediction, as ratios within one run.

    python benchmarks/predict.py --data-home DIR    prints the table of docs/results/prediction.md; two minutes

The model is the representative of a sum-stack classifier of five layers fitted to image (1,300 x 18), the support
vector machine is tuned on the same rows. Times are the shortest of several, on one thread unless stated otherwise.
"""

import argparse
import resource
import time
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from softpolytope import SumStackSoftplusClassifier
from softpolytope.datasets import load_benchmark


def shortest(function, repeats=5):
    """Seconds of the fastest of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with image.npz; by default what SOFTPOLYTOPE_DATA names")
    options = parser.parse_args()
    X, y = load_benchmark("image", 0, options.data_home)[:2]
    warnings.simplefilter("ignore")
    model = SumStackSoftplusClassifier(n_layers=5, estimate="best", n_jobs=2, random_state=0).fit(X, y)
    grid = {"C": 2.0 ** np.arange(-1, 10, 2), "gamma": 2.0 ** np.arange(-7, 2, 2)}
    svm = GridSearchCV(SVC(), grid, cv=3, n_jobs=2).fit(X, y).best_estimator_
    rows = np.ascontiguousarray(np.tile(X, (100_000 // len(X) + 1, 1))[:100_000])
    sampled = SumStackSoftplusClassifier(
        inference="gibbs", start="map", n_layers=5, n_sweeps=200, n_jobs=2, random_state=0
    ).fit(X, y)
    n_experts = [len(weights) for weights in model.expert_weights_]
    print(f"experts in the representatives: {n_experts}, T = 5; support vectors: {len(svm.support_)}\n")
    print("| what | measured | asked |\n| --- | --- | --- |")
    with threadpool_limits(1):
        model.set_params(n_jobs=1)
        ours = shortest(lambda: model.predict(rows)) / len(rows)
        theirs = shortest(lambda: svm.predict(rows[:5000]), 3) / 5000
        print(f"| SVC.predict over predict, per row | {theirs / ours:.0f} | >= 50 |")
        planes = np.concatenate([c.reshape(-1, c.shape[2]) for c in model.coefficients_])[:, 1:].T.copy()
        product = shortest(lambda: rows @ planes) / len(rows)
        print(f"| predict over the bare matrix product, {planes.shape[1]} hyperplanes | {ours / product:.1f} | <= 3 |")
        one = rows[:1]
        lone = shortest(lambda: model.predict_proba(one), 300)
        checks = shortest(lambda: validate_data(model, one, reset=False, dtype=np.float64), 300)
        print(f"| one row, above scikit-learn's validation, microseconds | {1e6 * (lone - checks):.0f} | <= 100 |")
        modes = SumStackSoftplusClassifier(inference="map", n_layers=5, n_jobs=1, random_state=0).fit(X, y)
        all_members = SumStackSoftplusClassifier(n_layers=5, n_jobs=1, random_state=0).fit(X, y)
        mean, plain = (shortest(lambda m=m: m.predict_proba(rows)) / len(rows) for m in (all_members, modes))
        print(f"| default (20 members) over 10 plain modes, per row | {mean / plain:.2f} | <= 2.5 |")
        print(f"| SVC.predict over the default, per row | {theirs / mean:.1f} | |")
        sampled.set_params(n_jobs=1)
        n_draws = len(sampled.posterior_.regressions[0].labelings[0].draws)
        times = [shortest(lambda n=n: sampled.predict_proba(rows[:n]), 3) for n in (10_000, 20_000, 40_000)]
        print(f"| mean of {n_draws} draws, 1e4, 2e4, 4e4 rows, s | {' '.join(f'{t:.2f}' for t in times)} | linear |")
    model.set_params(n_jobs=2)
    many = np.ascontiguousarray(np.tile(rows, (10, 1)))
    print(f"| 1e6 rows, representatives, two threads, s | {shortest(lambda: model.predict(many), 3):.2f} | <= 1 |")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sampled.predict_proba(many[:200_000])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"| more memory for the mean over 2e5 rows, MB | {(after - before) / 1e3:.0f} | bounded |")


if __name__ == "__main__":
    main()
